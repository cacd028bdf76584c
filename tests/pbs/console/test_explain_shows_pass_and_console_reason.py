"""The reason of the pass on a real server: the console tells it with its time, and its own where that differs."""

from __future__ import annotations

import json

from tests.hooks.deploy_on_testbed import LATE_S, state_of, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import pbsteer
from tests.pbs.modes.compare_placement_with_pbs_sched import driven
from tui.backends.pass_journal import JournalReader


def explained(pbs: PbsCluster, job_id: str) -> str:
    return " ".join(pbsteer(pbs, "explain", job_id).split())


def test_the_reason_of_the_pass_stands_beside_the_consoles_once_the_job_has_changed(pbs: PbsCluster) -> None:
    driven(pbs)
    cores = pbs.spec.cores
    for job_id in [pbs.qsub("alice", select=f"1:ncpus={cores}") for _ in pbs.mom_names]:
        pbs.wait_for_state(job_id, "R")
    waits = pbs.qsub("bob", select=f"1:ncpus={cores}")
    journal = JournalReader(state_of(pbs).path)
    pbs.wait_until(lambda: journal.read().reasons.of(waits) is not None, LATE_S, "a pass that tells why the job waits")
    wait_for_pass(pbs)
    pbs.qmgr("set hook pbsteer_periodic enabled = False")
    pbs.wait_until(lambda: pbs.run(["pgrep", "-f", "pbs_python --hook"]).status != 0, LATE_S, "the last pass has ended")
    wanted = journal.read().reasons.of(waits)
    assert wanted is not None
    page = explained(pbs, waits)
    assert "waits for By the pass of " in page
    assert " and this console's plan of " in page

    pbs.run(["qhold", "-h", "o", waits]).demand_success()
    page = explained(pbs, waits)
    told = page.index("waits for By this console's plan of ")
    assert page.index("waits for By the pass of ") < told
    assert page.index("may not start: it is held by an operator") > told
    data = json.loads(pbsteer(pbs, "explain", "--json", waits))
    assert data["by_pass"] == {"time_s": wanted.time_s, "code": wanted.code, "sentence": wanted.text}
    assert (data["by_console"]["code"], data["agree"]) == ("blocked", False)
    assert data["by_console"]["time_s"] > wanted.time_s
