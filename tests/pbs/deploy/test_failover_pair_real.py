"""A failover pair of servers: the second one takes over with the same PBS_HOME, and so with hooks, journal and ledger.

m2 is the second server's host here. All hosts of a testbed see the same files, as hosts with a shared PBS_HOME do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from container import testbed as testbeds
from container.testbed_spec import TestbedSpec
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, quick_settings, state_of, wait_for_pass
from tests.pbs.cluster import PbsCluster

OF_PBS = ("pbs_server.bin", "pbs_sched", "pbs_comm", "pbs_ds_monitor", "postgres")
TAKES_OVER_S = 240.0


@pytest.fixture
def pair(pbs_exec: str) -> Iterator[PbsCluster]:
    """A server, one MoM of eight cores, and a second server that waits for the first one's end."""
    name = f"pbst-{os.getpid()}-f"
    try:
        built, _ = testbeds.up(TestbedSpec(name=name, moms=2, pbs_exec=pbs_exec))
        pbs = PbsCluster(built)
        make_pair(pbs)
        yield pbs
    finally:
        testbeds.down(name)


def make_pair(pbs: PbsCluster) -> None:
    first, second, sbin = pbs.spec.server.name, pbs.mom_names[1], f"{pbs.spec.pbs_exec}/sbin"
    pbs.run(["pkill", "-x", "pbs_mom"], host="m2").demand_success()
    pbs.qmgr(f"delete node {second}")
    testbeds.stop_server(pbs.testbed)
    for host in pbs.spec.hosts:
        conf = pbs.testbed.folder / host.name / "etc" / "pbs.conf"
        home = pbs.server_home if host.name == second else pbs.testbed.pbs_home(host)
        lines = [line for line in conf.read_text().splitlines() if not line.startswith("PBS_HOME=")]
        pair = (f"PBS_HOME={home}", f"PBS_PRIMARY={first}", f"PBS_SECONDARY={second}")
        conf.write_text("\n".join((*lines, *pair)) + "\n")
    testbeds.start_server(pbs.testbed)
    pbs.run(["sh", "-c", f"pkill -x pbs_mom; sleep 1; {sbin}/pbs_mom"], host="m1").demand_success()
    # What the testbed makes on its server's host only.
    pbs.run(["install", "-d", "-o", "postgres", "-m", "2775", "/run/postgresql"], host="m2").demand_success()
    pbs.run([f"{sbin}/pbs_comm"], host="m2").demand_success()
    pbs.run(["sh", "-c", f"{sbin}/pbs_server >/dev/null 2>&1 &"], host="m2").demand_success()
    waits = pbs.server_home / "server_priv" / "server.lock.secondary"
    pbs.wait_until(waits.exists, 60.0, "the second server waits for the first one's end")
    is_free = lambda: pbs.pbsnodes()[pbs.mom_names[0]]["state"] == "free"
    pbs.wait_until(is_free, 120.0, "the vnode is free")


@pytest.mark.takes(180)
def test_passes_go_on_at_the_second_server_and_at_the_first_one_again(pair: PbsCluster) -> None:
    """alice's quota is 4 of 8 cores, and so is bob's. He gets his while the first server is down."""
    pair.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=4],[u:bob=4]'")
    deploy_and_drive(pair, quick_settings())
    alices = [pair.qsub("alice", select="1:ncpus=4") for _ in range(2)]
    pair.wait_until(lambda: all(pair.job_state(job) == "R" for job in alices), 120.0, "alice has all cores")
    before_s = last_pass(pair)["time_s"]

    pair.run(["pkill", "-KILL", "-x", "|".join(OF_PBS)]).demand_success()
    pair.wait_until(lambda: not pair.run(["qstat", "-B"]).status, TAKES_OVER_S, "the second server has taken over")
    assert pair.run(["pgrep", "-x", "pbs_server.bin"]).status != 0
    wait_for_pass(pair)
    assert last_pass(pair)["running"] == 2
    bobs = pair.qsub("bob", select="1:ncpus=4")
    pair.wait_for_state(bobs, "R")
    assert sorted(pair.job_state(job) for job in alices) == ["Q", "R"]

    sbin = f"{pair.spec.pbs_exec}/sbin"
    pair.run(["sh", "-c", f"{sbin}/pbs_comm && {sbin}/pbs_sched"]).demand_success()
    testbeds.start_server(pair.testbed)
    wait_for_pass(pair)
    assert sorted(pair.job_state(job) for job in alices) == ["Q", "R"]
    assert pair.job_state(bobs) == "R"
    entries = [entry for entry in state_of(pair).read_journal(10_000) if entry["time_s"] > before_s]
    assert [entry["failures"] for entry in entries if entry["failures"]] == []
    assert sum(len(entry["requeued"]) for entry in entries) == 1
