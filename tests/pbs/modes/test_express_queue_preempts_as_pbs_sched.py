"""Express queues on a real server: pbs_sched and a pass get the same jobs, preempt the same runs, and start the same
jobs.

PBS's scheduler is told to requeue what it preempts, which is all that both of them can do with these jobs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import pytest

from policy.settings.site_settings import OrderSettings
from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings
from tests.pbs.cluster import PbsCluster

QUEUES = {"workq": 0, "express": 150, "urgent": 170}
CASES = {
    "the-later-run-of-a-normal-queue": (
        (("alice", "workq", 4), ("bob", "workq", 4), ("carol", "express", 3)),
        {"alice": "R", "bob": "Q", "carol": "R"},
    ),
    "no-run-of-its-own-queue": (
        (("alice", "express", 4), ("bob", "express", 4), ("carol", "express", 3)),
        {"alice": "R", "bob": "R", "carol": "Q"},
    ),
    "an-express-queue-of-lower-priority-after-normal-ones": (
        (("alice", "express", 4), ("bob", "workq", 4), ("carol", "urgent", 5)),
        {"alice": "Q", "bob": "Q", "carol": "R"},
    ),
    "no-run-where-that-would-not-make-room": (
        (("alice", "workq", 4), ("bob", "urgent", 4), ("carol", "express", 5)),
        {"alice": "R", "bob": "R", "carol": "Q"},
    ),
}


@pytest.fixture
def queues(pbs: PbsCluster) -> Iterator[None]:
    """The express queues; one vnode of 8 cores; preempted jobs are requeued by PBS's scheduler, too."""
    for queue, priority in QUEUES.items():
        if queue != "workq":
            pbs.qmgr(f"create queue {queue} queue_type = execution, enabled = True, started = True")
        pbs.qmgr(f"set queue {queue} Priority = {priority}")
    pbs.run(["pbsnodes", "-o", *pbs.mom_names[1:]]).demand_success()
    pbs.qmgr(f"set node {pbs.mom_names[0]} resources_available.ncpus = 8")
    pbs.qmgr("set sched default preempt_order = R")
    yield
    pbs.qmgr("unset sched default preempt_order")


@pytest.mark.parametrize("by", ["pbs_sched", "drive"])
def test_the_same_runs_are_preempted(by: str, pbs: PbsCluster, queues: None) -> None:
    if by == "drive":
        deploy_and_drive(pbs, quick_settings(order=OrderSettings("none")), *QUEUES)
    for name, (asked, expected) in CASES.items():
        _submit_and_compare(pbs, name, asked, expected)


def _submit_and_compare(
    pbs: PbsCluster, name: str, asked: Sequence[tuple[str, str, int]], expected: Mapping[str, str]
) -> None:
    jobs = {}
    for user, queue, cores in asked:
        jobs[user] = pbs.qsub(user, select=f"1:ncpus={cores}", walltime="3600", queue=queue)
        if user != asked[-1][0]:
            pbs.wait_for_state(jobs[user], "R")
            # To PBS's scheduler runs that have started in one second are equal.
            time.sleep(1.1)
    pbs.wait_until(lambda: _states(pbs, jobs) == expected, 120.0, f"{name}: {expected}")
    # The waiting jobs go on waiting: no run is preempted in its turn.
    for _ in range(3):
        pbs.qmgr("set server scheduling = True")
        assert _states(pbs, jobs) == expected, name
    pbs.run(["qdel", "-W", "force", "-x", *jobs.values()]).demand_success()


def _states(pbs: PbsCluster, jobs: Mapping[str, str]) -> dict[str, str]:
    return {user: pbs.job(job_id)["job_state"] for user, job_id in jobs.items()}
