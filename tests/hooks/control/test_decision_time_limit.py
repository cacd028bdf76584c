"""The time that a pass has to decide: its parts, the users' shares, and who took longest."""

from __future__ import annotations

import pytest

from hooks.control.decision_time_limit import ClockDeadline, Slow, describe_left_out, time_to_decide_s
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def attempt(deadline: ClockDeadline, clock: Clock, job_id: str, user: str, seconds: float) -> None:
    deadline.begin(Job(job_id, user, Request.of_cores(1), "workq", 0.0))
    clock.now_s += seconds
    deadline.end()


def test_it_is_over_after_its_seconds() -> None:
    clock = Clock()
    deadline = ClockDeadline(4.0, clock)
    clock.now_s += 3.9
    assert not deadline.is_over()
    clock.now_s += 0.1
    assert deadline.is_over()


def test_a_share_is_a_quarter_and_counts_the_attempt_under_way() -> None:
    clock = Clock()
    deadline = ClockDeadline(4.0, clock)
    attempt(deadline, clock, "1.s", "mallory", 0.9)
    assert not deadline.is_share_spent("mallory")
    deadline.begin(Job("2.s", "mallory", Request.of_cores(1), "workq", 0.0))
    clock.now_s += 0.2
    assert deadline.is_share_spent("mallory")
    assert not deadline.is_share_spent("bob")


def test_the_slowest_are_named_with_their_owners() -> None:
    clock = Clock()
    deadline = ClockDeadline(60.0, clock)
    for number, seconds in enumerate([0.001, 2.0, 0.5, 0.1, 3.0, 0.2, 0.3, 0.01]):
        attempt(deadline, clock, f"{number}.s", "mallory", seconds)
    slowest = deadline.slowest()
    assert [(slow.job, round(slow.seconds, 3)) for slow in slowest] == [
        ("4.s", 3.0), ("1.s", 2.0), ("2.s", 0.5), ("6.s", 0.3), ("5.s", 0.2),
    ]  # fmt: skip
    (told,) = describe_left_out(93, slowest[:1])
    assert told.startswith("93 jobs not looked at")
    assert "4.s of mallory (3.0 s)" in told
    assert [*describe_left_out(0, [Slow(1.0, "1.s", "bob")])] == []


@pytest.mark.parametrize(("read_s", "decide_s"), [(0.0, 5.0), (1.0, 4.0), (4.0, 2.5), (60.0, 2.5)])
def test_half_of_the_budget_is_for_reading_and_deciding_and_a_quarter_for_deciding(
    read_s: float, decide_s: float
) -> None:
    assert time_to_decide_s(10.0, read_s) == decide_s
