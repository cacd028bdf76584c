"""A quota that is removed stays removed when the server is restarted, though PBS itself stores no ``-=`` that leaves a
limit without entries.
"""

from __future__ import annotations

import time

from tests.hooks.deploy_on_testbed import LATE_S, deploy_and_drive, make_deployment, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import on_server, pbsteer
from tests.pbs.idle_machine_deadline import crowding
from tests.pbs.quotas.test_quota_plan_real import SOFT, iso, limits, states, write_table


def restart(pbs: PbsCluster) -> None:
    pbs.stop_server()
    pbs.start_server()


def in_qmgr(pbs: PbsCluster) -> str:
    """The soft limits of the queue and the server."""
    lines = pbs.qmgr("print server").splitlines()
    return "\n".join(line for line in lines if "max_run_res_soft" in line)


def test_quotas_set_to_none_do_not_come_back(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    pbs.qmgr("set queue workq max_run_res_soft.mem = '[u:alice=4gb]'")
    for place, who in (("workq", "alice"), ("@server", "bob")):
        for value in ("4", "none"):
            pbsteer(pbs, "quota", "set", place, who, value, "--yes")
    for value in ("3", "none"):
        pbsteer(pbs, "priority", "workq", "alice", value, "--yes")
    assert in_qmgr(pbs) == "set queue workq max_run_res_soft.mem = [u:alice=4gb]"
    restart(pbs)
    assert in_qmgr(pbs) == "set queue workq max_run_res_soft.mem = [u:alice=4gb]"


def test_a_planned_quota_that_is_over_does_not_come_back(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    begin_s = time.time() + 10 * min(crowding(), 2.5)
    path = write_table(pbs, f"bob,workq,8,{iso(begin_s)},{iso(begin_s + 15)}")
    on_server(pbs, "-m", "tui.cli.main", "quota", "plan", str(path), "--yes").demand_success()
    pbs.wait_until(lambda: limits(pbs) == {"bob": 8}, LATE_S + 30, "the planned quota is set")
    pbs.wait_until(lambda: states(pbs) == ["over"], LATE_S + 30, "it is over")
    restart(pbs)
    assert limits(pbs) == {}
    make_deployment(pbs).remove(lambda _: None)
    assert SOFT not in in_qmgr(pbs)
