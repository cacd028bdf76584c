"""A job that a scheduler kills at a limit ended by that, whatever its script could still note."""

from __future__ import annotations

import pytest

from migration.schedulers.end_at_limit import find_end
from migration.schedulers.scheduler_interface import Ended
from tests.migration.target_job.fake_target import FakeScheduler


@pytest.mark.parametrize(
    ("status", "past", "exit_", "reason"),
    [
        ("143", Ended("WALLTIME", ran=True), "WALLTIME", "ended by WALLTIME"),
        ("137", Ended("OUT_OF_MEMORY", ran=True), "OUT_OF_MEMORY", "ended by OUT_OF_MEMORY"),
        ("143", Ended("CANCELLED", ran=True), "143", ""),
        ("143", None, "143", ""),
        ("0", Ended("TIMEOUT", ran=True), "0", ""),
    ],
)
def test_a_killed_program_ended_by_the_limit_that_history_names(
    status: str, past: Ended | None, exit_: str, reason: str
) -> None:
    scheduler = FakeScheduler()
    if past is not None:
        scheduler.past["7"] = past
    ended = find_end(scheduler, "7", status)
    assert (ended.exit, ended.reason) == (exit_, reason)
