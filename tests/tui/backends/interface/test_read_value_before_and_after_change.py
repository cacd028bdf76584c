"""A value before and after a change is the same by the reader's moments and by those that programs print."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.tui.scripted_server import NOON_S
from tui.backends.interface.read_value_before_and_after_change import JobState
from tui.backends.pbs.status_from_qstat_pbsnodes_qmgr import flat

BACK_AN_HOUR_S = 1792890000
"""In Berlin, 25 October 2026: 3:00 becomes 2:00."""


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_berlin")
def test_a_run_that_began_in_the_hour_that_is_there_twice_is_one_run() -> None:
    for began_s in range(BACK_AN_HOUR_S - 7200, BACK_AN_HOUR_S + 7200, 600):
        printed = flat({"job_state": "R", "stime": time.ctime(began_s)})
        assert JobState().of({"job_state": "R", "stime": str(began_s)}) == JobState().of(printed)


def test_another_run_is_another_value() -> None:
    values = {JobState().of({"job_state": "R", "stime": str(int(NOON_S) + later)}) for later in (0, 1, 3600)}
    assert len(values) == 3
    assert f"running since {NOON_S:.0f}" in values
