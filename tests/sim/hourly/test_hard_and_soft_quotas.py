"""The model in steps of an hour: a soft quota gives away the cores that a hard limit leaves idle."""

from sim.hourly.hard_and_soft_quotas import run_hard_limit, run_soft_quota
from sim.hourly.random_jobs import HORIZON_H, HourlyJob

CORE_H = 10 * HORIZON_H


def busy(idle: float) -> int:
    return round((1 - idle) * CORE_H)


def test_a_hard_limit_leaves_cores_idle_that_a_soft_quota_gives_away() -> None:
    jobs = [HourlyJob(0, 4, 10, 0), HourlyJob(0, 4, 10, 0)]
    assert busy(run_hard_limit(jobs, 10, 4).idle) == 80
    assert busy(run_soft_quota(jobs, 10, 4).idle) == 80
    late = [HourlyJob(HORIZON_H - 10, 4, 10, 0), HourlyJob(HORIZON_H - 10, 4, 10, 0)]
    assert busy(run_hard_limit(late, 10, 4).idle) == 40
    assert busy(run_soft_quota(late, 10, 4).idle) == 80


def test_a_job_wider_than_a_hard_limit_is_counted_as_never_started() -> None:
    outcome = run_hard_limit([HourlyJob(0, 5, 10, 0), HourlyJob(0, 4, 10, 0)], 10, 4)
    assert (outcome.never, busy(outcome.idle)) == (1, 40)
    assert busy(run_soft_quota([HourlyJob(0, 5, 10, 0)], 10, 4).idle) == 50


def test_the_newest_run_over_quota_yields_and_repeats_its_work() -> None:
    jobs = [HourlyJob(0, 4, 900, 0), HourlyJob(1, 6, 20, 0), HourlyJob(5, 4, 10, 1)]
    outcome = run_soft_quota(jobs, 10, 4)
    assert round(outcome.repeated * CORE_H) == 6 * 4
    assert busy(outcome.idle) == 4 * 900 + 6 * (4 + 20) + 4 * 10


def test_no_run_yields_that_would_bring_its_owner_below_quota() -> None:
    jobs = [HourlyJob(0, 10, 20, 0), HourlyJob(5, 4, 10, 1)]
    outcome = run_soft_quota(jobs, 10, 4)
    assert outcome.repeated == 0
    assert busy(outcome.idle) == 240


def test_where_the_victims_do_not_suffice_none_is_taken() -> None:
    jobs = [HourlyJob(0, 8, 50, 0), HourlyJob(0, 2, 50, 0), HourlyJob(5, 4, 10, 1)]
    assert run_soft_quota(jobs, 10, 4).repeated == 0
