"""Gains computed by hand: paired by job, over the jobs that both ran and that are measured."""

from __future__ import annotations

import pytest

from sim.evidence.gains_over_references import Reference, gains
from sim.evidence.weeks_of_submission import ONE_WEEK, Weeks
from sim.replay.job_records import JobRecord, Replay
from sim.workload.workload import WEEK_S
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran


def waited(number: int, wait_s: float, *, week: int = 0, cores: int = 1, run_s: float = 100) -> JobRecord:
    submit_s = week * WEEK_S
    return ran(a_job(number, submit_s, run_s, cores), (submit_s + wait_s, submit_s + wait_s + run_s))


EASY = Reference(a_replay(waited(1, 300), waited(2, 100, cores=4), waited(3, 5000)))
POLICY = a_replay(waited(1, 100), waited(2, 200, cores=4), waited(4, 7), policy="mine")


def test_jobs_are_paired_by_number_and_only_measured_ones() -> None:
    pairs = EASY.pairs(POLICY, {1, 2, 3, 4})
    assert [(mine.job.number, theirs.job.number) for mine, theirs in pairs] == [(1, 1), (2, 2)]
    assert [mine.job.number for mine, _ in EASY.pairs(POLICY, {2, 4})] == [2]


def test_each_gain_is_on_the_means_of_the_paired_jobs() -> None:
    found = gains(EASY.pairs(POLICY, {1, 2, 3, 4}), ONE_WEEK, 1)
    # Waits 100 + 200 instead of 300 + 100; slowdowns 2 + 3 instead of 4 + 2; weighted 1:4, 900 instead of 700.
    assert found["wait"].gain == pytest.approx(1 - 300 / 400)
    assert found["bounded_slowdown"].gain == pytest.approx(1 - 5 / 6)
    assert found["area_weighted_wait"].gain == pytest.approx(1 - 900 / 700)
    assert {(gain.jobs, gain.weeks, gain.low, gain.high) for gain in found.values()} == {(2, 1, None, None)}


def test_weeks_are_those_of_submission_and_an_empty_one_is_none() -> None:
    def replay(factor: float) -> Replay:
        return a_replay(*(waited(week + 1, factor * (week + 1), week=week) for week in (0, 1, 2, 4, 5, 6, 7, 8)))

    weeks = Weeks(0, 9 * WEEK_S)
    found = gains(Reference(replay(100)).pairs(replay(50), set(range(10))), weeks, 1)["wait"]
    assert (found.jobs, found.weeks) == (8, 8)
    assert (found.low, found.high) == pytest.approx((0.5, 0.5))


def test_where_nobody_waits_there_is_nothing_to_gain() -> None:
    still = a_replay(waited(1, 0))
    found = gains(Reference(still).pairs(still, {1}), ONE_WEEK, 1)
    assert (found["wait"].gain, found["bounded_slowdown"].gain) == (None, 0)
    assert gains([], ONE_WEEK, 1)["bounded_slowdown"] == (None, None, None, 0, 0)
