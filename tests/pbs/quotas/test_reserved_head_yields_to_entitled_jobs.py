"""Bob gets his quota and his class though a head with no such claim is reserved, on a real server.

three vnodes of 8 cores

v1  alice 8             alice 8                  alice 8           alice 8
v2  alice 8     alice:  alice 8            bob:  alice 8           alice 8
v3  alice 8     3 x 8   alice 8 (its head) 8     bob 8, 2 h        the wide job waits on, promised a later start
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.deploy_on_testbed import deploy, drive, last_pass, quick_settings, state_of, wait_for_pass
from tests.pbs.cluster import PbsCluster

VNODE = "1:ncpus=8"
MINUTES_20, HOURS_2 = "00:20:00", "02:00:00"


def driven(pbs: PbsCluster, quotas: str, priorities: str = "") -> None:
    pbs.qmgr(f"set queue workq max_run_res_soft.ncpus = '{quotas}'")
    deploy(pbs, quick_settings())
    if priorities:
        pbs.qmgr(f"set queue workq max_run_res_soft.user_priority = '{priorities}'")
    drive(pbs)


def running(pbs: PbsCluster, user: str, count: int, walltime: str) -> list[str]:
    """Jobs of a vnode each that are submitted, and start, one after the other."""
    jobs = []
    for _ in range(count):
        jobs.append(pbs.qsub(user, select=VNODE, walltime=walltime))
        pbs.wait_for_state(jobs[-1], "R")
    return jobs


def wait_for_head(pbs: PbsCluster, job: str) -> None:
    """Wait until the job has been promised a start."""

    def is_head() -> bool:
        return any(estimate["job"] == job for entry in passes(pbs) for estimate in entry["estimates"])

    pbs.wait_until(is_head, 120.0, f"{job} is the head")


def passes(pbs: PbsCluster) -> list[dict[str, Any]]:
    return state_of(pbs).read_journal(1000)


def moved_for(pbs: PbsCluster, head: str) -> set[str]:
    """The jobs for which the promise of the head moved."""
    return {moved["beneficiary"] for entry in passes(pbs) for moved in entry["moved"] if moved["job"] == head}


def test_a_wide_job_of_a_user_over_quota_vetoes_no_quota(pbs: PbsCluster) -> None:
    driven(pbs, "[u:alice=8],[u:bob=16]")
    alices = running(pbs, "alice", 3, MINUTES_20)
    wide = pbs.qsub("alice", select="3:ncpus=8", walltime=MINUTES_20, options=["-l", "place=scatter"])
    wait_for_head(pbs, wide)

    bobs = pbs.qsub("bob", select=VNODE, walltime=HOURS_2)
    pbs.wait_for_state(bobs, "R")
    assert sorted(pbs.job_state(job) for job in alices) == ["Q", "R", "R"]
    assert pbs.job_state(wide) == "Q"
    assert moved_for(pbs, wide) == {bobs}
    wait_for_pass(pbs)
    assert last_pass(pbs)["failures"] == []


@pytest.mark.takes(50)
def test_a_requeued_victim_protects_no_run_of_its_owner(pbs: PbsCluster) -> None:
    """The first of alice's victims becomes the head and would need the cores of her last run at its end."""
    driven(pbs, "[u:alice=0],[u:bob=24]")
    alices = running(pbs, "alice", 3, MINUTES_20)
    for left in (2, 1, 0):
        bobs = pbs.qsub("bob", select=VNODE, walltime=HOURS_2)
        pbs.wait_for_state(bobs, "R")
        assert sum(pbs.job_state(job) == "R" for job in alices) == left
        if left:
            wait_for_pass(pbs)
            wait_for_pass(pbs)
    victims = {preempt["job"] for entry in passes(pbs) for preempt in entry["preempts"]}
    assert victims == set(alices)


def test_a_preempted_job_of_the_base_class_vetoes_no_class(pbs: PbsCluster) -> None:
    """dave's jobs are of the base class. carol's, of class 20, takes one of them, which waits again as the head; bob's,
    of class 10, takes another all the same."""
    driven(pbs, "[u:bob=16],[u:carol=8]", "[u:bob=10],[u:carol=20]")
    daves = running(pbs, "dave", 3, MINUTES_20)
    carols = pbs.qsub("carol", select=VNODE, walltime=HOURS_2)
    pbs.wait_for_state(carols, "R")
    (head,) = [job for job in daves if pbs.job_state(job) == "Q"]
    wait_for_head(pbs, head)

    bobs = pbs.qsub("bob", select=VNODE, walltime=HOURS_2)
    pbs.wait_for_state(bobs, "R")
    assert sorted(pbs.job_state(job) for job in daves) == ["Q", "Q", "R"]
    assert pbs.job_state(carols) == "R"
    wait_for_pass(pbs)
    assert last_pass(pbs)["failures"] == []
