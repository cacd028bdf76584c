"""The plan from requested walltimes: in queue order, each job at the earliest place that stays free for all of it."""

from __future__ import annotations

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from sim.forecast.starts_planned_by_walltimes import planned_starts
from tests.policy.clusters import job, run


def test_a_job_starts_where_asked_times_leave_room() -> None:
    runs = [run("1", "bob", "v1=3", estimate_s=100)]
    assert planned_starts(10, 4, runs, [job("2", select="1"), job("3", select="4")]) == {"2": 10, "3": 110}


def test_a_later_job_never_delays_an_earlier_one() -> None:
    # 4 cores: 1 until 100 | 2 needs all | 3 would fit now, but not until 100; 4 does.
    runs = [run("1", "bob", "v1=3", estimate_s=100)]
    waiting = [job("2", select="4"), job("3", estimate_s=200), job("4", estimate_s=90)]
    assert planned_starts(10, 4, runs, waiting) == {"2": 100, "3": 200, "4": 10}


def test_a_run_beyond_its_time_is_about_to_end() -> None:
    assert planned_starts(500, 4, [run("1", "bob", "v1=4", estimate_s=100)], [job("2")]) == {"2": 500}


def test_without_walltimes_nothing_is_promised_behind() -> None:
    runs = [run("1", "bob", "v1=4", estimate_s=UNLIMITED_S)]
    assert planned_starts(10, 4, runs, [job("2")]) == {}
    assert planned_starts(10, 4, [], [job("2", select="3", estimate_s=UNLIMITED_S), job("3", select="2")]) == {"2": 10}


def test_a_job_larger_than_the_cluster_is_left_out() -> None:
    assert planned_starts(10, 4, [], [job("2", select="5"), job("3")]) == {"3": 10}


def test_equal_jobs_in_a_row_stand_one_behind_the_other() -> None:
    waiting = [job(str(number), select="4") for number in range(2, 6)]
    runs = [run("1", "bob", "v1=4", estimate_s=100)]
    assert planned_starts(10, 4, runs, waiting) == {"2": 100, "3": 200, "4": 300, "5": 400}
