"""Which jobs are measured: the same share of the submissions is left out at both ends."""

from __future__ import annotations

import pytest

from sim.evidence.measured_jobs import measured_jobs
from tests.sim.small_jobs_and_replays import a_job

JOBS = [a_job(number, submit_s=number) for number in range(1, 201)]


@pytest.mark.parametrize(("percent", "first", "last"), [(0, 1, 200), (0.4, 1, 200), (1, 3, 198), (40, 81, 120)])
def test_the_first_and_the_last_are_left_out(percent: float, first: int, last: int) -> None:
    assert measured_jobs(JOBS, percent) == frozenset(range(first, last + 1))


def test_one_job_alone_is_measured() -> None:
    assert measured_jobs(JOBS[:1], 40) == {1}


@pytest.mark.parametrize("percent", [-1, 40.1, float("nan")])
def test_a_share_that_leaves_too_little_is_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="must be from 0 to 40 % at each end"):
        measured_jobs(JOBS, percent)
