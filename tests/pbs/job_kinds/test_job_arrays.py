"""Job arrays on a real server: as many subjobs run as may, and each can be requeued or deleted alone."""

from __future__ import annotations

from tests.hooks.deploy_on_testbed import last_pass, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.compare_placement_with_pbs_sched import driven, why_it_waits


def states(pbs: PbsCluster, array: str, *indices: int) -> str:
    return "".join(pbs.job_state(array.replace("[]", f"[{index}]")) for index in indices)


def test_no_more_subjobs_run_than_the_array_allows(pbs: PbsCluster) -> None:
    driven(pbs)
    array = pbs.qsub("alice", options=["-J", "1-5%2"])
    pbs.wait_until(lambda: states(pbs, array, 1, 2) == "RR", 120.0, "two subjobs run")
    assert "2 of its subjobs run, and max_run_subjobs = 2" in why_it_waits(pbs, array)
    assert states(pbs, array, 3, 4, 5) == "QQQ"
    pbs.run(["qdel", array.replace("[]", "[1]")]).demand_success()
    pbs.wait_until(lambda: states(pbs, array, 1, 2, 3, 4) == "XRRQ", 120.0, "the next one runs")


def test_subjobs_that_their_moms_have_not_reported_count(pbs: PbsCluster) -> None:
    """PBS shows an array as queued until then, as a rule, whose subjobs hold vnodes already. The MoMs do not answer."""
    driven(pbs)
    hosts = [f"m{number}" for number in range(1, len(pbs.mom_names) + 1)]
    for host in hosts:
        pbs.run(["pkill", "-STOP", "-x", "pbs_mom"], host=host).demand_success()
    try:
        array = pbs.qsub("alice", options=["-J", "1-5%2"])
        pbs.wait_until(lambda: states(pbs, array, 1, 2) == "RR", 120.0, "two subjobs have been sent")
        wait_for_pass(pbs)
        wait_for_pass(pbs)
        assert states(pbs, array, 3, 4, 5) == "QQQ"
    finally:
        for host in hosts:
            pbs.run(["pkill", "-CONT", "-x", "pbs_mom"], host=host).demand_success()
    pbs.wait_for_state(array, "B")


def test_subjobs_of_an_array_that_is_held_run_on_and_count_against_limits(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq max_run = [u:alice=2]")
    driven(pbs)
    array = pbs.qsub("alice", options=["-J", "1-4"])
    pbs.wait_until(lambda: states(pbs, array, 1, 2) == "RR", 120.0, "two subjobs run")
    pbs.run(["qhold", array]).demand_success()
    assert pbs.job_state(array) == "H"
    third = pbs.qsub("alice")
    assert "queue workq allows u:alice 2 running jobs" in why_it_waits(pbs, third)
    assert states(pbs, array, 1, 2, 3, 4) == "RRQQ"
    pbs.run(["qdel", array.replace("[]", "[1]")]).demand_success()
    pbs.wait_for_state(third, "R")


def test_one_subjob_is_requeued_and_starts_again(pbs: PbsCluster) -> None:
    driven(pbs)
    array = pbs.qsub("alice", options=["-J", "2-6:2"])
    pbs.wait_until(lambda: states(pbs, array, 2, 4, 6) == "RRR", 120.0, "all subjobs run")
    again = array.replace("[]", "[4]")
    begun = pbs.job(again)["run_count"]
    pbs.run(["qrerun", again]).demand_success()
    pbs.wait_until(lambda: pbs.job(again).get("run_count", 0) > begun, 120.0, "it has started again")
    pbs.wait_until(lambda: states(pbs, array, 2, 4, 6) == "RRR", 120.0, "all subjobs run")
    wait_for_pass(pbs)
    assert last_pass(pbs)["failures"] == []


def test_a_subjob_makes_room_for_a_job_within_its_quota(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=16],[u:bob=8]'")
    driven(pbs)
    array = pbs.qsub("alice", select="1:ncpus=8", options=["-J", "1-3"])
    pbs.wait_until(lambda: states(pbs, array, 1, 2, 3) == "RRR", 120.0, "all subjobs run")
    bobs = pbs.qsub("bob", select="1:ncpus=8")
    pbs.wait_for_state(bobs, "R")
    assert sorted(states(pbs, array, 1, 2, 3)) == ["Q", "R", "R"]
