"""The reasons of a plan are corrected once they are read, and only once."""

from __future__ import annotations

from collections.abc import Mapping

from policy import Job, Reason, Request
from policy.plan.plan_types import Waits

JOB = Job("1.s", "alice", Request.of_cores(1), "workq", 0.0)
FEWER, MORE = Reason("too-few-idle", (("idle", 0),)), Reason("too-few-idle", (("idle", 4),))


def test_reasons_are_corrected_at_the_first_reading_and_not_again() -> None:
    calls: list[int] = []

    def correct(waits: Mapping[Reason, list[Job]]) -> Mapping[Reason, list[Job]]:
        calls.append(len(waits))
        return {FEWER: waits[MORE]}

    waits = Waits({MORE: [JOB]}, correct)
    assert not calls
    assert [(wait.reason, wait.jobs) for wait in waits] == [(FEWER, [JOB])]
    assert waits.by_reason() == {FEWER: [JOB]}
    assert len(waits) == 1
    assert calls == [1]
