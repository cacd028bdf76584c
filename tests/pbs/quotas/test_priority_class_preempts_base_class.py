"""Bob's priority takes a vnode from Alice, who has none, as far as his quota goes: classes on a real server.

three vnodes of 8 cores; alice's quota is 24 and she has no priority; bob's quota is 8, his priority 10

v1  alice 8, first submitted       alice 8        alice 8         ...
v2  alice 8, second                alice 8        alice 8         ...
v3  alice 8, last submitted   bob  bob 8          bob 8           alice 8 again, when bob's has ended
                                        bob 8 more: beyond his quota, base class, waits
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from policy.settings.site_settings import PrioritySettings
from tests.hooks.deploy_on_testbed import deploy, drive, last_pass, quick_settings, state_of, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.run_until_told import run_until_told

CORES = "1:ncpus=8"


def start_in_turn(pbs: PbsCluster, user: str, count: int) -> list[str]:
    """Jobs that are submitted, and start, one after the other."""
    jobs = []
    for _ in range(count):
        jobs.append(pbs.qsub(user, select=CORES))
        pbs.wait_for_state(jobs[-1], "R")
    return jobs


def victims_with_codes(pbs: PbsCluster) -> list[tuple[str, str]]:
    """All victims of all passes, with the code of the reason."""
    passes = state_of(pbs).read_journal(1000)
    return sorted({(preempt["job"], preempt["code"]) for entry in passes for preempt in entry["preempts"]})


def states(pbs: PbsCluster, jobs: Sequence[str]) -> list[str]:
    return [pbs.job_state(job) for job in jobs]


@pytest.fixture
def alices(pbs: PbsCluster) -> list[str]:
    """Alice's jobs on all three vnodes of a driven server, in order of submission."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=24],[u:bob=8]'")
    deploy(pbs, quick_settings())
    pbs.qmgr("set queue workq max_run_res_soft.user_priority = [u:bob=10]")
    drive(pbs)
    return start_in_turn(pbs, "alice", 3)


def test_a_job_of_a_user_with_priority_preempts_one_of_the_base_class(pbs: PbsCluster, alices: list[str]) -> None:
    freed = pbs.job(alices[-1])["exec_vnode"]
    command, end_bobs = run_until_told(pbs, "bob")
    bobs = pbs.qsub("bob", command, select=CORES)
    attributes = pbs.wait_for_state(bobs, "R")
    assert attributes["exec_vnode"] == freed
    assert states(pbs, alices) == ["R", "R", "Q"]

    more = pbs.qsub("bob", select=CORES)
    wait_for_pass(pbs)
    assert states(pbs, [*alices, bobs, more]) == ["R", "R", "Q", "R", "Q"]

    pbs.run(["qdel", more]).demand_success()
    end_bobs()
    pbs.wait_for_state(bobs, "F")
    assert pbs.job(bobs)["Exit_status"] == 0
    assert pbs.wait_for_state(alices[-1], "R")["run_count"] == 2
    assert victims_with_codes(pbs) == [(alices[-1], "preempted-class")]
    assert [pbs.job(job)["run_count"] for job in [*alices[:2], bobs]] == [1, 1, 1]
    wait_for_pass(pbs)
    assert last_pass(pbs)["failures"] == []


def test_deferrable_jobs_go_first_where_the_site_says_so(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=24],[u:bob=8]'")
    deploy(pbs, quick_settings(priority=PrioritySettings(deferrable_first=True)))
    pbs.qmgr("set queue workq max_run_res_soft.user_priority = [u:bob=10]")
    drive(pbs)
    (first,) = start_in_turn(pbs, "alice", 1)
    marked = pbs.qsub("alice", select=CORES, options=["-l", "pbsteer_deferrable=true"])
    pbs.wait_for_state(marked, "R")
    (last,) = start_in_turn(pbs, "alice", 1)
    bobs = pbs.qsub("bob", select=CORES)
    pbs.wait_for_state(bobs, "R")
    assert states(pbs, [first, marked, last]) == ["R", "Q", "R"]
    assert victims_with_codes(pbs) == [(marked, "preempted-class")]
