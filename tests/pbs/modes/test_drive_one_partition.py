"""One partition is driven and the rest left to pbs_sched, on a real server; and vnodes that come and go."""

from __future__ import annotations

from tests.hooks.deploy_on_testbed import deploy, last_pass, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.compare_placement_with_pbs_sched import driven, run_by_pass, why_it_waits


def test_one_partition_is_driven_and_the_other_is_not(pbs: PbsCluster) -> None:
    mine = pbs.mom_names[2]
    pbs.qmgr(
        "create sched part",
        "set sched part partition = P",
        "create queue pq queue_type=e,enabled=t,started=t,partition=P",
        f"set node {mine} partition = P",
    )
    try:
        deploy(pbs, quick_settings())
        pbs.qmgr("set queue pq resources_available.pbsteer_mode = drive")
        pbs.wait_until(lambda: "pq" in last_pass(pbs).get("acted", ()), 120.0, "a pass that drives pq")
        assert "workq" not in last_pass(pbs)["acted"]
        in_part = pbs.qsub("alice", select="1:ncpus=8", queue="pq")
        assert pbs.wait_for_state(in_part, "R")["exec_vnode"] == f"({mine}:ncpus=8)"
        waits = pbs.qsub("alice", select="1:ncpus=8", queue="pq")
        outside = [pbs.qsub("alice", select="1:ncpus=8") for _ in range(2)]
        for each in outside:
            assert mine not in pbs.wait_for_state(each, "R")["exec_vnode"]
        assert "first in line" in why_it_waits(pbs, waits)
    finally:
        pbs.run(["qdel", "-W", "force", *pbs.run(["qselect"]).stdout.split()])
        pbs.wait_until(lambda: not pbs.run(["qselect"]).stdout.strip(), 120.0, "no jobs left")
        pbs.qmgr("delete queue pq", f"unset node {mine} partition", "delete sched part")


def test_a_vnode_taken_offline_gets_no_job_and_loses_none(pbs: PbsCluster) -> None:
    driven(pbs)
    names = pbs.mom_names
    first = run_by_pass(pbs, select=f"1:ncpus=2:vnode={names[0]}")
    pbs.run(["pbsnodes", "-o", names[0]]).demand_success()
    wait_for_pass(pbs)
    others = [run_by_pass(pbs, select="1:ncpus=8") for _ in names[1:]]
    assert all(names[0] not in job["exec_vnode"] for job in others)
    more = pbs.qsub("alice", select="1:ncpus=2")
    why_it_waits(pbs, more)
    assert first["exec_vnode"] == f"({names[0]}:ncpus=2)"
    pbs.run(["pbsnodes", "-r", names[0]]).demand_success()
    assert pbs.wait_for_state(more, "R")["exec_vnode"] == first["exec_vnode"]
