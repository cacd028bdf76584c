"""Replays of weeks: which jobs are replayed, which are measured, and the same figures from any number of processes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from sim.replay.metrics import measure
from sim.replay.replay import replay
from sim.tune.candidate_settings import grid
from sim.tune.replay_weeks import Figures, Week, figures_of, replay_all, replay_week, weeks_of
from sim.workload.lublin_feitelson import generate
from sim.workload.workload import WEEK_S, Cluster, TraceJob, Workload
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran

ONE = Cluster(1, 1)
EASY, SHORTEST_FIRST, *CUTTING = grid(120)


def workload_of(*jobs: TraceJob) -> Workload:
    return Workload("site", ONE, jobs)


def at(week: float, number: int, run_s: float = 100) -> TraceJob:
    return a_job(number, week * WEEK_S, run_s)


def test_weeks_are_full_ones_from_the_first_submit() -> None:
    workload = workload_of(a_job(1, 1000), a_job(2, 1000 + 2.5 * WEEK_S))
    assert weeks_of(workload) == [Week(1, 1000), Week(2, 1000 + WEEK_S)]
    assert weeks_of(workload_of(a_job(1, 1000), a_job(2, 1000 + WEEK_S))) == [Week(1, 1000)]
    assert weeks_of(workload_of(a_job(1, 1000))) == []


def test_only_jobs_of_the_week_are_measured() -> None:
    workload = workload_of(at(0, 1), at(1, 2), at(1.5, 3), at(2, 4))
    assert replay_week(workload, ONE, Week(2, WEEK_S), EASY).jobs == 2


def test_the_week_before_fills_the_machine() -> None:
    left_s = 5_000
    long = at(0.5, 1, run_s=WEEK_S / 2 + left_s)
    assert replay_week(workload_of(long, at(1, 2)), ONE, Week(2, WEEK_S), EASY).wait_s == left_s


@pytest.mark.parametrize("other", [at(0.9, 1, run_s=9 * WEEK_S), at(3, 99)], ids=["too early", "too late"])
def test_nothing_earlier_or_later_is_known(other: TraceJob) -> None:
    week = [at(2, 2), at(2.1, 3), at(2.1, 4)]
    jobs = sorted([*week, other], key=lambda job: job.submit_s)
    alone = replay_week(workload_of(*week), ONE, Week(3, 2 * WEEK_S), EASY)
    assert replay_week(workload_of(*jobs), ONE, Week(3, 2 * WEEK_S), EASY) == alone


def test_figures_are_those_that_simulate_reports() -> None:
    cluster = Cluster(8, 2)
    workload = generate(300, cluster, users=5, seed=3, load=1.1)
    replayed = replay(workload, cluster, SHORTEST_FIRST.policy())
    figures, metrics = figures_of(replayed.records), measure(replayed)
    assert figures.jobs == metrics.jobs
    assert figures.slowdown == pytest.approx(metrics.mean_bounded_slowdown)
    assert figures.wait_s == pytest.approx(metrics.mean_wait_s)
    assert figures.worst_delay_s == metrics.max_head_delay_s
    assert (figures.moved, figures.worst_moved_delay_s) == (metrics.moved_promises, metrics.max_moved_delay_s)


def test_overhead_is_what_a_job_ran_beyond_its_work() -> None:
    cut = ran(a_job(1, 0, 100, cores=4), (10, 60), (200, 370), head_delay_s=-2)
    figures = figures_of(a_replay(cut, ran(a_job(2, 0, 50), (0, 50))).records)
    assert (figures.cut_jobs, figures.overhead_core_s, figures.work_core_s) == (1, 4 * 120, 450)
    assert figures.worst_delay_s == -2


def test_a_promise_that_moved_is_measured_from_its_first_time_too() -> None:
    records = (
        ran(a_job(1, 0, 100), (500, 600), head_delay_s=-5)._replace(moved=2, moved_delay_s=400),
        ran(a_job(2, 0, 100), (50, 150), head_delay_s=-2),
        ran(a_job(3, 0, 100), (50, 150))._replace(moved=1, moved_delay_s=-30),
    )
    figures = figures_of(records)
    assert (figures.worst_delay_s, figures.moved, figures.worst_moved_delay_s) == (-2, 3, 400)
    assert figures_of(records[1:2]).worst_moved_delay_s is None


def test_cutting_is_seen_in_the_figures() -> None:
    cluster = Cluster(16, 1)
    workload = generate(600, cluster, users=6, seed=11, load=1.3)
    week = Week(1, workload.jobs[0].submit_s)
    cutting = [replay_week(workload, cluster, week, candidate) for candidate in CUTTING]
    assert any(figures.cut_jobs and figures.overhead_core_s for figures in cutting)
    plain = replay_week(workload, cluster, week, EASY)
    assert (plain.cut_jobs, plain.overhead_core_s) == (0, 0)


def test_the_number_of_processes_changes_nothing_but_the_time() -> None:
    cluster = Cluster(16, 1)
    workload = generate(400, cluster, users=6, seed=5, load=1.2)
    weeks = [Week(1, 0), Week(2, WEEK_S / 4)]
    messages: list[int] = []
    alone = replay_all(workload, cluster, weeks, [EASY, CUTTING[0]], workers=1, progress=messages.append)
    assert messages == [1, 2, 3, 4]
    assert replay_all(workload, cluster, weeks, [EASY, CUTTING[0]], workers=2) == alone
    assert jobs_of(alone.values()) > 0


def jobs_of(figures: Iterable[Figures]) -> int:
    return sum(each.jobs for each in figures)


def test_a_failure_while_replaying_is_an_error_and_not_a_hang() -> None:
    def fail(done: int) -> None:
        raise InterruptedError(done)

    with pytest.raises(InterruptedError):
        replay_all(Workload("none", ONE, ()), ONE, [Week(1, 0)], [EASY], workers=2, progress=fail)
