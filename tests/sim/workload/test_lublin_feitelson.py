"""The workload model: what is drawn has the moments that the model's formulas give, and obeys its bounds.

A sample's mean is compared with the analytic one within five standard errors; seeds are fixed, so a test either always
passes or never.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.application_contention_traits import KINDS
from sim.workload.lublin_feitelson import (
    BELOW_BEND,
    DAILY_CYCLE,
    DAY_S,
    HALF_HOUR_S,
    HALF_HOURS,
    LOG2_BEND_BELOW_HIGH,
    LOG2_LOW,
    LOG_GAP,
    LONG_RUNS,
    LONGEST_LOG_GAP,
    LONGEST_LOG_RUN,
    POWER_OF_2,
    SERIAL,
    SHORT_RUNS,
    DailyCycle,
    draw_gap_s,
    draw_run_s,
    draw_size,
    gamma_cdf,
    generate,
    short_share,
)
from sim.workload.workload import Cluster, Workload

DRAWS = 20_000
CORES = 128


def offered_load(workload: Workload) -> float:
    assert workload.cluster is not None
    span_s = workload.jobs[-1].submit_s - workload.jobs[0].submit_s
    return sum(job.cores * job.run_s for job in workload.jobs) / (workload.cluster.cores * span_s)


def assert_mean(values: list[float], expected: float) -> None:
    assert abs(mean(values) - expected) < 5 * stdev(values) / math.sqrt(len(values))


def truncated_log_mean(shape: float, scale: float, longest: float) -> float:
    """E[G | G <= longest] of a gamma G: x times its density is the density of one shape more, times the mean."""
    return shape * scale * gamma_cdf(longest, shape + 1, scale) / gamma_cdf(longest, shape, scale)


def truncated_mean(shape: float, scale: float, longest: float) -> float:
    """E[exp G | G <= longest]: e^x times the density is (1 - scale)^-shape times that of scale / (1 - scale)."""
    tilted: float = (1 - scale) ** -shape * gamma_cdf(longest, shape, scale / (1 - scale))
    return tilted / gamma_cdf(longest, shape, scale)


def mixture(cores: int, of: Callable[[float, float, float], float]) -> float:
    """A moment of the run time: what is too long is drawn again, so each gamma counts by what it keeps."""
    share = short_share(cores)
    kept = [
        (share * gamma_cdf(LONGEST_LOG_RUN, *SHORT_RUNS), of(*SHORT_RUNS, LONGEST_LOG_RUN)),
        ((1 - share) * gamma_cdf(LONGEST_LOG_RUN, *LONG_RUNS), of(*LONG_RUNS, LONGEST_LOG_RUN)),
    ]
    return sum(weight * value for weight, value in kept) / sum(weight for weight, _ in kept)


# The gamma distribution


@given(st.integers(1, 30), st.floats(0.01, 100), st.floats(0.05, 5))
def test_the_gamma_distribution_of_a_whole_shape_is_erlangs(shape: int, x: float, scale: float) -> None:
    rate = x / scale
    erlang = 1 - math.fsum(math.exp(k * math.log(rate) - rate - math.lgamma(k + 1)) for k in range(shape))
    assert gamma_cdf(x, shape, scale) == pytest.approx(erlang, abs=1e-10)


def test_the_gamma_distribution_agrees_with_random_draws() -> None:
    random = Random(3)
    below = [float(random.gammavariate(*SHORT_RUNS) <= 6.0) for _ in range(DRAWS)]
    assert_mean(below, gamma_cdf(6.0, *SHORT_RUNS))
    assert gamma_cdf(0, 2, 1) == gamma_cdf(-1, 2, 1) == 0


# Sizes


def exponent_cdf(exponent: float) -> float:
    """The two-stage uniform distribution of log2 of a parallel job's size on `CORES` cores."""
    high = math.log2(CORES)
    bend = high - LOG2_BEND_BELOW_HIGH
    if exponent <= bend:
        return BELOW_BEND * max(0.0, exponent - LOG2_LOW) / (bend - LOG2_LOW)
    return BELOW_BEND + (1 - BELOW_BEND) * min(1.0, (exponent - bend) / (high - bend))


def size_chance(size: int) -> float:
    """The model's chance of a size: serial, rounded to a power of 2, or rounded to a whole number."""
    if size == 1:
        return SERIAL
    other = exponent_cdf(math.log2(size + 0.5)) - exponent_cdf(math.log2(size - 0.5))
    chance = (1 - SERIAL - POWER_OF_2) * other
    power = math.log2(size)
    if power == int(power):
        chance += POWER_OF_2 * (exponent_cdf(power + 0.5) - exponent_cdf(power - 0.5))
    return chance


def test_the_chances_of_all_sizes_add_up() -> None:
    assert math.fsum(map(size_chance, range(1, CORES + 1))) == pytest.approx(1)


@pytest.mark.parametrize("of", [float, math.log2, lambda size: size == 1, lambda size: size & (size - 1) == 0])
def test_sizes_have_the_models_moments(of: Callable[[int], float]) -> None:
    random = Random(1)
    drawn = [float(of(draw_size(random, CORES))) for _ in range(DRAWS)]
    assert_mean(drawn, math.fsum(size_chance(size) * of(size) for size in range(1, CORES + 1)))


@given(st.integers(1, 5000), st.integers(0, 1000))
def test_no_size_exceeds_the_cluster(most_cores: int, seed: int) -> None:
    random = Random(seed)
    assert all(1 <= draw_size(random, most_cores) <= most_cores for _ in range(20))


# Run times


@pytest.mark.parametrize("cores", [1, 16, 128, 1000])
def test_run_times_have_the_models_moments(cores: int) -> None:
    random = Random(2)
    drawn = [float(draw_run_s(random, cores)) for _ in range(DRAWS)]
    # Cut to whole seconds: half a second less on average, which no sample of this size can see.
    assert_mean(drawn, mixture(cores, truncated_mean))
    # Only jobs of a few seconds feel the cut in their logarithm; compare where it is small.
    random = Random(2)
    logs = [math.log(draw_run_s(random, cores) + 0.5) for _ in range(DRAWS)]
    assert_mean(logs, mixture(cores, truncated_log_mean))


def test_larger_jobs_run_longer() -> None:
    assert mixture(1, truncated_mean) < mixture(32, truncated_mean) < mixture(128, truncated_mean)
    assert short_share(1) == pytest.approx(0.6956)
    assert short_share(1000) == 0


@given(st.integers(1, 10_000), st.integers(0, 1000))
def test_every_job_runs_at_least_a_second_and_less_than_two_days(cores: int, seed: int) -> None:
    random = Random(seed)
    assert all(1 <= draw_run_s(random, cores) < 2 * DAY_S for _ in range(20))


# Arrivals


def test_gaps_have_the_models_moments() -> None:
    random = Random(4)
    gaps = [draw_gap_s(random) for _ in range(DRAWS)]
    assert_mean(gaps, truncated_mean(*LOG_GAP, LONGEST_LOG_GAP))
    assert_mean(list(map(math.log, gaps)), truncated_log_mean(*LOG_GAP, LONGEST_LOG_GAP))


@given(st.floats(0, 1e9))
def test_the_daily_cycle_can_be_undone(even_s: float) -> None:
    assert DAILY_CYCLE.even_s(DAILY_CYCLE.clock_s(even_s)) == pytest.approx(even_s, abs=1e-3)


@given(st.floats(0, 1e8), st.floats(0, 1e6))
def test_the_daily_cycle_never_goes_back(even_s: float, later_s: float) -> None:
    assert DAILY_CYCLE.clock_s(even_s) <= DAILY_CYCLE.clock_s(even_s + later_s)


@given(st.integers(0, 1000))
def test_the_daily_cycle_takes_a_day_each_day(day: int) -> None:
    assert DAILY_CYCLE.clock_s(day * DAY_S) == pytest.approx(day * DAY_S)


def test_a_flat_day_leaves_time_as_it_is() -> None:
    flat = DailyCycle((2.0,) * HALF_HOURS)
    assert flat.clock_s(12345.6) == pytest.approx(12345.6)


def test_jobs_come_by_the_hour_of_the_day_as_the_model_says() -> None:
    def rate(hour: float) -> float:
        return (DAILY_CYCLE.even_s(hour * 3600 + HALF_HOUR_S) - DAILY_CYCLE.even_s(hour * 3600)) / HALF_HOUR_S

    rates = {hour / 2: rate(hour / 2) for hour in range(HALF_HOURS)}
    # The mode of the gamma, (shape - 1) x scale = the 27th half-hour, begins at 13:00; the quietest ends at 5:00.
    assert max(rates, key=rates.__getitem__) == 13.0
    assert min(rates, key=rates.__getitem__) == 4.5

    workload = generate(DRAWS, Cluster(CORES, 1), users=5, seed=6)
    afternoon = [float(12 * 3600 <= job.submit_s % DAY_S < 18 * 3600) for job in workload.jobs]
    expected = (DAILY_CYCLE.even_s(18 * 3600) - DAILY_CYCLE.even_s(12 * 3600)) / DAY_S
    # Arrivals of one day are not independent of each other, so this bound is ours: three points of a hundred.
    assert mean(afternoon) == pytest.approx(expected, abs=0.03)


# Whole workloads


def test_the_same_seed_gives_the_same_workload_and_another_gives_another() -> None:
    first, again, other = (generate(50, Cluster(8, 4), users=3, seed=seed) for seed in (7, 7, 8))
    assert first == again
    assert first.jobs != other.jobs


def test_more_users_leave_the_jobs_as_they_are() -> None:
    few, many = (generate(200, Cluster(8, 4), users=users, seed=7) for users in (2, 40))
    assert [(j.submit_s, j.run_s, j.cores) for j in few.jobs] == [(j.submit_s, j.run_s, j.cores) for j in many.jobs]


def test_each_user_runs_one_application_of_one_of_the_kinds() -> None:
    workload = generate(500, Cluster(8, 4), users=30, seed=7)
    applications = {(job.user, job.application) for job in workload.jobs}
    assert len(applications) == len({user for user, _ in applications})
    assert {application.removesuffix(f"-{user}") for user, application in applications} == set(KINDS)


@pytest.mark.parametrize("load", [0.1, 0.7, 1.0, 3.0])
def test_the_offered_load_is_the_one_asked_for(load: float) -> None:
    workload = generate(3000, Cluster(32, 4), users=5, seed=9, load=load)
    assert offered_load(workload) == pytest.approx(load, rel=1e-4)


def test_load_moves_arrivals_only() -> None:
    light, heavy = (generate(200, Cluster(32, 4), users=5, seed=9, load=load) for load in (0.5, 2.0))
    assert [(j.run_s, j.cores, j.user) for j in light.jobs] == [(j.run_s, j.cores, j.user) for j in heavy.jobs]


@given(
    st.integers(1, 60),
    st.builds(Cluster, st.integers(1, 300), st.integers(1, 64)),
    st.integers(1, 30),
    st.integers(),
    st.none() | st.floats(0.01, 10),
)
def test_every_workload_is_one_that_can_be_replayed(
    jobs: int, cluster: Cluster, users: int, seed: int, load: float | None
) -> None:
    workload = generate(jobs, cluster, users, seed, load)
    assert workload.generated
    assert workload.cluster == cluster
    assert [job.number for job in workload.jobs] == list(range(1, jobs + 1))
    assert list(workload.jobs) == sorted(workload.jobs, key=lambda job: (job.submit_s, job.number))
    for job in workload.jobs:
        assert 1 <= job.cores <= cluster.cores
        assert 1 <= job.run_s <= job.estimate_s


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"jobs": 0}, "jobs 0: must be from 1"),
        ({"jobs": 10**9}, "jobs 1000000000: must be"),
        ({"users": 0}, "users 0: must be from 1"),
        ({"load": 0.0}, "load 0.0: must be above 0"),
        ({"load": -1.0}, "load -1.0"),
        ({"load": math.nan}, "load nan"),
        ({"load": math.inf}, "load inf"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(change: dict[str, float], names: str) -> None:
    arguments = {"jobs": 10, "users": 2, "seed": 1, "load": 0.5, **change}
    with pytest.raises(ValueError, match=names):
        generate(cluster=Cluster(4, 4), **arguments)  # type: ignore[arg-type]
