"""A job or a reservation whose time has no date is refused with the time, and any other passes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hooks.admission.texts.times_without_date import read_event_seconds, refuse_far_reservation, refuse_far_start

FAR = 90000000000000000


def reservation(walltime: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(Resource_List={"walltime": walltime})


def reservation_with(name: str, seconds: int) -> SimpleNamespace:
    made = reservation()
    setattr(made, name, seconds)
    return made


def test_a_far_start_of_a_job_is_refused_and_any_other_is_not() -> None:
    assert refuse_far_start(SimpleNamespace(Execution_Time=FAR)) == (
        "its start time (-a) is 90000000000000000; allowed are 100,000,000,000 seconds, as later times have no date"
    )
    for value in (None, 0, 1800000000, "1800000000"):
        assert not refuse_far_start(SimpleNamespace(Execution_Time=value))
    assert not refuse_far_start(SimpleNamespace())


@pytest.mark.parametrize("name", ["reserve_start", "reserve_end", "reserve_duration"])
def test_a_far_time_of_a_reservation_is_refused(name: str) -> None:
    what = name.partition("_")[2]
    assert f"its {what} is {FAR}; allowed are" in refuse_far_reservation(reservation_with(name, FAR))
    assert not refuse_far_reservation(reservation_with(name, 3600))


def test_a_reservation_is_judged_by_its_walltime_too() -> None:
    assert "its walltime is 99999999999999:00:00; allowed" in refuse_far_reservation(
        reservation(walltime="99999999999999:00:00")
    )
    assert not refuse_far_reservation(reservation(walltime="10:00:00"))


@pytest.mark.parametrize(
    ("value", "seconds"), [(None, 0), ("", 0), (90, 90), ("90", 90), ("1:00:05", 3605), ("1:xx", 0), ("-5", 0)]
)
def test_seconds_are_read_from_the_types_that_events_have(value: Any, seconds: float) -> None:
    assert read_event_seconds(value) == seconds
