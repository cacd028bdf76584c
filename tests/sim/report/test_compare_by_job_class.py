"""What is compared: spreads, classes of jobs, and means over time, against counting by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.evidence.figures_by_user_and_size import SIZES_PERCENT
from sim.evidence.gains_over_references import MEASURES, Reference, gains
from sim.evidence.weeks_of_submission import ONE_WEEK
from sim.report.compare_by_job_class import (
    ALL,
    CLASSES,
    Spread,
    class_of,
    compare_jobs,
    first_and_last_s,
    mean_level,
    usage,
    wide_above,
)
from sim.workload.workload import Workload
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran

NUMBERS = st.lists(st.floats(0, 1e9), min_size=1, max_size=40)


def test_a_spread_is_of_ranks() -> None:
    assert Spread.of(range(100, 0, -1)) == Spread(50.5, 5, 25, 50, 75, 95)


def test_a_spread_of_one_value_is_that_value() -> None:
    assert Spread.of([7.0]) == Spread(7, 7, 7, 7, 7, 7)


@given(NUMBERS)
def test_at_least_so_many_values_are_not_above_a_percentile_and_it_is_one_of_them(values: list[float]) -> None:
    spread = Spread.of(values)
    for percent, value in ((5, spread.p5), (25, spread.p25), (50, spread.p50), (75, spread.p75), (95, spread.p95)):
        assert value in values
        assert 100 * sum(other <= value for other in values) >= percent * len(values)
        assert 100 * sum(other < value for other in values) < percent * len(values)


@pytest.mark.parametrize(
    ("run_s", "cores", "name"),
    [(3600, 4, "short narrow"), (3600, 5, "short wide"), (3601, 4, "long narrow"), (3601, 5, "long wide")],
)
def test_a_job_is_classed_by_run_time_and_cores(run_s: int, cores: int, name: str) -> None:
    assert class_of(a_job(run_s=run_s, cores=cores), 4) == name


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60))
def test_at_most_a_quarter_of_the_jobs_are_wide(sizes: list[int]) -> None:
    above = wide_above([a_job(number, cores=cores) for number, cores in enumerate(sizes)])
    assert 4 * sum(cores > above for cores in sizes) <= len(sizes)


def test_classes_divide_the_jobs_and_all_has_them_all() -> None:
    replay = a_replay(
        ran(a_job(1, run_s=10), (0, 10)),
        ran(a_job(2, run_s=7200), (100, 7300)),
        ran(a_job(3, run_s=10, cores=4), (30, 40)),
    )
    compared = compare_jobs(replay, 1)
    assert {name: figures.jobs for name, figures in compared.classes.items()} == {
        ALL: 3,
        "short narrow": 1,
        "short wide": 1,
        "long narrow": 1,
    }
    assert compared.classes["short wide"].waits_s.mean == 30
    assert compared.classes["short wide"].slowdowns.p50 == 4


def test_the_same_columns_whatever_classes_there_are() -> None:
    short_job, long_job = a_job(run_s=10), a_job(run_s=7200)
    short = compare_jobs(a_replay(ran(short_job, (0, 10))), 1).flat(Workload("short", None, (short_job,)))
    long = compare_jobs(a_replay(ran(long_job, (0, 7200))), 1).flat(Workload("long", None, (long_job, a_job(2))))
    assert list(short) == list(long)
    assert (short["long_wide_jobs"], short["long_wide_wait_s_mean"]) == (0, None)
    assert (long["long_narrow_jobs"], long["all_bounded_slowdown_mean"]) == (1, 1)
    assert (short["every_job_ran"], long["every_job_ran"]) == (True, False)
    gains = 3 * len(MEASURES)
    assert len(short) == 27 + (1 + len(CLASSES)) * (1 + 2 * 6) + 2 * gains + len(SIZES_PERCENT) * (3 + gains) + 2


def test_gains_sizes_and_users_are_flat_too() -> None:
    jobs = tuple(a_job(number, user=user) for number, user in enumerate("aab"))
    easy = a_replay(*(ran(job, (200, 300)) for job in jobs))
    mine = a_replay(*(ran(job, (wait, wait + 100)) for job, wait in zip(jobs, (0, 0, 300))), policy="mine")
    pairs = Reference(easy).pairs(mine, {0, 1, 2})
    flat = compare_jobs(mine, 1, None, {"easy": gains(pairs, ONE_WEEK, 1)}, pairs).flat(Workload("w", None, jobs))
    assert flat["gain_over_easy_wait"] == 0.5
    assert flat["gain_over_easy_wait_low"] is flat["gain_over_easy_sjbf_wait"] is None
    # On four cores each of them has a quarter.
    assert (flat["size_up_to_25_percent_jobs"], flat["size_up_to_25_percent_gain_over_easy_wait"]) == (3, 0.5)
    assert (flat["size_up_to_1_percent_jobs"], flat["size_up_to_1_percent_mean_wait_s"]) == (0, None)
    assert flat["users_who_wait_longer_than_under_easy"] == flat["jobs_that_wait_longer_than_under_easy"] == 1


def test_classes_are_of_the_measured_jobs_only() -> None:
    replay = a_replay(ran(a_job(1), (0, 100)), ran(a_job(2), (500, 600)))
    assert compare_jobs(replay, 1, {2}).classes[ALL].waits_s.mean == 500


def test_cores_in_use_are_exact_means() -> None:
    # 4 cores; job 1 has 2 of them from 0 to 15, job 2 all of them from 15 to 20.
    replay = a_replay(ran(a_job(1, cores=2), (0, 15)), ran(a_job(2, cores=4), (15, 20)))
    assert usage(replay, 0, 10, 3) == [0.5, 0.75, 0]


def test_every_run_of_a_job_counts() -> None:
    assert usage(a_replay(ran(a_job(cores=4), (0, 5), (15, 20))), 0, 10, 2) == [0.5, 0.5]


INTERVALS = st.lists(
    st.tuples(st.integers(-50, 150), st.integers(0, 100), st.integers(1, 9)).map(lambda t: (t[0], t[0] + t[1], t[2])),
    max_size=12,
)


@given(intervals=INTERVALS, every_s=st.integers(1, 40), points=st.integers(1, 12))
def test_means_are_those_of_counting_second_by_second(
    intervals: list[tuple[int, int, int]], every_s: int, points: int
) -> None:
    def counted(point: int) -> float:
        seconds = range(point * every_s, (point + 1) * every_s)
        return sum(h for second in seconds for begin, end, h in intervals if begin <= second < end) / every_s

    means = mean_level(intervals, 0, every_s, points)
    assert means == pytest.approx([counted(point) for point in range(points)], abs=1e-9)


def test_the_time_compared_covers_all_replays() -> None:
    early, late = a_replay(ran(a_job(1, 5), (5, 90))), a_replay(ran(a_job(1, 7), (50, 400)))
    assert first_and_last_s([early, late]) == (5, 400)
