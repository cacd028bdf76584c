"""The weeks of a workload: whole ones, and a rest that is one or belongs to the last."""

from __future__ import annotations

import pytest

from sim.evidence.weeks_of_submission import Weeks
from sim.workload.workload import WEEK_S
from tests.sim.small_jobs_and_replays import a_job

FIRST_S = 500.0


@pytest.mark.parametrize(("weeks", "count"), [(0, 1), (0.9, 1), (1.49, 1), (1.5, 2), (9.4, 9), (9.6, 10), (10, 10)])
def test_a_short_rest_belongs_to_the_week_before(weeks: float, count: int) -> None:
    last_s = FIRST_S + weeks * WEEK_S
    found = Weeks.of([a_job(1, FIRST_S), a_job(2, last_s)])
    assert found.total == count
    assert found.number(last_s) == count - 1


def test_weeks_are_counted_from_the_first_submission() -> None:
    weeks = Weeks(FIRST_S, FIRST_S + 10 * WEEK_S)
    assert [weeks.number(FIRST_S + day * 86_400) for day in (0, 6.99, 7, 21)] == [0, 0, 1, 3]


def test_what_comes_later_than_any_recorded_job_belongs_to_the_last_week() -> None:
    assert Weeks(0, 3 * WEEK_S).number(50 * WEEK_S) == 2
    assert Weeks(FIRST_S, 3 * WEEK_S).number(0) == 0
