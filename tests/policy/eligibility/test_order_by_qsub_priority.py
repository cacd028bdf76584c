"""The order of turns: queue priority, the job's, age; and a user's own priorities among that user's jobs alone."""

from __future__ import annotations

from typing import Any

import pytest

from policy import Changes, Job, Queue, Snapshot
from policy.eligibility.order_as_pbs_scheduler_would import queue_line
from tests.policy.clusters import cluster, job, vnode


def order(snapshot: Snapshot) -> str:
    return " ".join(entry[3] for entry in queue_line(snapshot.cluster(), snapshot.time_s).entries)


def waiting(*jobs: Job) -> Snapshot:
    queues = [Queue("workq"), Queue("urgent", priority=10), Queue("slow", priority=-10)]
    return cluster([vnode("v1")], jobs, queues=queues)


def test_queue_then_job_then_age() -> None:
    snapshot = waiting(
        job("1"),
        job("2", priority=1),
        job("3", queue_name="urgent", priority=-1024),
        job("4", queue_name="slow", priority=1023),
        job("5"),
    )
    assert order(snapshot) == "3 2 1 5 4"


def test_a_queue_that_gets_another_priority_moves_its_jobs() -> None:
    snapshot = waiting(job("1"), job("2", queue_name="urgent"), job("3", queue_name="slow"))
    assert order(snapshot) == "2 1 3"
    later = snapshot.apply(Changes(20, queues=[Queue("slow", priority=11)], queued=[job("4", queue_name="slow")]))
    assert order(later) == "3 4 2 1"
    assert order(snapshot) == "2 1 3"


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        # alice has 1, 3 and 5; bob has 2 and 4, all in the order of their numbers.
        ((0, 0, 0, 0, 0), "1 2 3 4 5"),
        ((0, 0, 0, 0, 1023), "2 4 5 1 3"),
        ((0, 0, 9, 0, 0), "2 3 1 4 5"),
        ((0, 0, 9, 0, 5), "2 3 4 5 1"),
        ((9, 0, 0, 0, 0), "1 2 3 4 5"),
        ((0, 0, -5, 0, 0), "1 2 4 5 3"),
        ((0, 0, 0, 7, 9), "4 2 5 1 3"),
    ],
)
def test_a_users_own_priority_puts_that_users_other_jobs_behind(own: tuple[int, ...], expected: str) -> None:
    jobs = [
        job(str(number), "alice" if number % 2 else "bob", own_priority=priority)
        for number, priority in enumerate(own, start=1)
    ]
    assert order(waiting(*jobs)) == expected


def test_each_queue_has_its_own() -> None:
    jobs = (job("1"), job("2", "bob"), job("3", queue_name="other", own_priority=9))
    assert order(cluster([vnode("v1")], jobs, queues=[Queue("workq"), Queue("other")])) == "1 2 3"


@pytest.mark.parametrize("held", [{"blocked": "held by its owner"}, {"not_before_s": 500.0}])
def test_a_job_that_could_not_start_keeps_none_waiting(held: dict[str, Any]) -> None:
    jobs = (job("1"), job("2", "bob"), job("3", own_priority=9)._replace(**held))
    assert order(waiting(*jobs)) == "1 2 3"
    assert order(waiting(*jobs[:2], job("3", own_priority=9, not_before_s=5))) == "2 3 1"
