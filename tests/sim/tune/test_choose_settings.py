"""Choosing and judging, on figures put together by hand: nothing that is judged was known when it was chosen."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.evidence.block_bootstrap_over_weeks import FEWEST_WEEKS as FEWEST_FOLDS
from sim.tune.candidate_settings import grid
from sim.tune.choose_settings import (
    CHOOSING_WEEKS,
    FEWEST_WEEKS,
    Fold,
    TuneError,
    Tuning,
    choose,
    gain,
    gain_on_weeks_left_out,
    judge,
    measured_weeks,
)
from sim.tune.replay_weeks import Figures, Results, Week, together
from sim.tune.tuning_report import verdict
from sim.workload.workload import WEEK_S, Cluster, Workload
from tests.sim.small_jobs_and_replays import a_job

CANDIDATES = tuple(grid(120))[:4]


def figures(slowdown: float, *, jobs: int = 10, delay_s: float | None = 0.0) -> Figures:
    return Figures(jobs, slowdown * jobs, 60.0 * jobs, 1, 3600.0, 36_000.0, delay_s)


def results_of(*weeks: tuple[float, ...]) -> Results:
    """A row a week, a mean slowdown for each candidate in it, EASY's first."""
    return {
        (week, candidate): figures(slowdown) for week, row in enumerate(weeks) for candidate, slowdown in enumerate(row)
    }


def tuning_of(*weeks: tuple[float, ...]) -> Tuning:
    results = results_of(*weeks)
    named = [Week(number + 2, (number + 1) * WEEK_S) for number in range(len(weeks))]
    return judge(Workload("site", None, (a_job(),)), Cluster(4, 1), CANDIDATES[: len(weeks[0])], named, results)


def chosen(tuning: Tuning) -> list[int]:
    return [CANDIDATES.index(fold.chosen) for fold in tuning.folds]


# Choosing


def test_the_lowest_mean_slowdown_of_all_jobs_is_chosen() -> None:
    results = results_of((10, 9, 8), (10, 2, 9))
    assert choose(results, [0], 3) == 2
    assert choose(results, [0, 1], 3) == 1


def test_weeks_count_by_their_jobs() -> None:
    results = {(0, 0): figures(10), (0, 1): figures(9), (1, 0): figures(10, jobs=1), (1, 1): figures(15, jobs=1)}
    assert choose(results, [0, 1], 2) == 1


def test_of_equals_the_earlier_is_chosen() -> None:
    assert choose(results_of((5, 5, 5)), [0], 3) == 0
    assert choose(results_of((5, 4, 4)), [0], 3) == 1


@pytest.mark.parametrize(
    ("delay_s", "easys_delay_s", "index"), [(0, 0, 1), (-5, None, 1), (None, -9, 1), (2, 0, 0), (9, 9, 1), (11, 9, 0)]
)
def test_a_setting_that_breaks_promises_easy_keeps_is_never_chosen(
    delay_s: float | None, easys_delay_s: float | None, index: int
) -> None:
    results = {(0, 0): figures(10, delay_s=easys_delay_s), (0, 1): figures(2, delay_s=delay_s)}
    assert choose(results, [0], 2) == index


# Judging


def test_each_week_is_judged_by_what_was_best_before_it() -> None:
    tuning = tuning_of((10, 9, 8), (10, 9, 8), (10, 1, 8), (10, 9, 8), (10, 9, 8))
    assert [fold.week.number for fold in tuning.folds] == [4, 5, 6]
    assert chosen(tuning) == [2, 1, 1]
    assert [fold.judged.slowdown for fold in tuning.folds] == [8, 9, 9]
    assert [CANDIDATES.index(fold.best) for fold in tuning.folds] == [1, 2, 2]
    assert tuning.gain == pytest.approx(1 - (8 + 9 + 9) / 30)
    assert tuning.best == CANDIDATES[1]


@given(st.lists(st.tuples(*[st.floats(1, 100)] * 3), min_size=4, max_size=8), st.data())
def test_no_week_knows_itself_or_a_later_one(weeks: list[tuple[float, ...]], data: st.DataObject) -> None:
    """Whatever a week and the later ones are like, what was chosen for it stays the same."""
    changed = data.draw(st.integers(CHOOSING_WEEKS, len(weeks) - 1))
    other = [*weeks[:changed], *data.draw(st.permutations(weeks[changed:]))]
    other[changed] = data.draw(st.tuples(*[st.floats(1, 100)] * 3))
    upto = changed - CHOOSING_WEEKS + 1
    assert chosen(tuning_of(*weeks))[:upto] == chosen(tuning_of(*other))[:upto]


@given(st.lists(st.tuples(*[st.floats(1, 100)] * 3), min_size=4, max_size=8))
def test_hindsight_is_never_worse_than_the_choice_or_easy(weeks: list[tuple[float, ...]]) -> None:
    for fold in tuning_of(*weeks).folds:
        assert fold.best_gain >= max(fold.gain, 0)


# The verdict: of the candidates 0 is EASY, 1 is EASY shortest first


def weeks_of_gains(*gains: tuple[float, ...]) -> list[tuple[float, ...]]:
    """Weeks of very different slowdowns, two to choose on with the first gains, then one for each of the gains."""
    levels = (10, 40, 15, 90, 20, 60, 12, 33, 70, 25, 14)
    return [(level, *(level * (1 - gain) for gain in each)) for level, each in zip(levels, (*gains[:1] * 2, *gains))]


def test_what_beats_both_references_on_weeks_it_was_not_chosen_on_is_recommended() -> None:
    tuning = tuning_of(*weeks_of_gains(*[(0.1, 0.4)] * 8))
    assert tuning.recommended == CANDIDATES[2]
    assert tuning.gain_over_easy == pytest.approx((0.4, 0.4, 0.4, 80, 8))
    assert tuning.gain_over_shortest == pytest.approx((1 - 0.6 / 0.9, 1 - 0.6 / 0.9, 1 - 0.6 / 0.9, 80, 8))


@pytest.mark.parametrize(
    ("gains", "index", "why"),
    [
        ([(-0.1, -0.1)] * 8, 0, "nothing is better at all"),
        ([(-0.1, 0.005)] * 8, 0, "a gain too small to tell"),
        ([(0.2, 0.205)] * 4 + [(0.2, 0.195)] * 5, 1, "no better than shortest first"),
        ([(0.2, 0.3), (0.2, -0.3), (0.2, 0.9)] * 2 + [(0.2, 0.1)] * 2, 1, "better, but not surely"),
        ([(-0.2, 0.3), (0.4, -0.3), (-0.2, 0.9)] * 2 + [(0.2, 0.1)] * 2, 0, "neither surely better than EASY"),
        ([(0.3, 0.1)] * 8, 1, "shortest first is the best itself"),
        ([(-0.2, 0.9)] + [(-0.2, -0.5)] * 8, 0, "worse on the judged weeks, better before"),
    ],
)
def test_nothing_is_recommended_that_is_not_surely_better(gains: list[tuple[float, ...]], index: int, why: str) -> None:
    assert tuning_of(*weeks_of_gains(*gains)).recommended == CANDIDATES[index], why


def test_the_report_names_shortest_first_where_that_is_best_and_not_surely_better_than_easy() -> None:
    tuning = tuning_of(*weeks_of_gains(*[(0.3, 0.1), (-0.3, -0.5), (0.6, 0.1)] * 3))
    assert (tuning.best, tuning.recommended) == (CANDIDATES[1], CANDIDATES[0])
    assert "easy-sjbf was the best of all settings, but not surely better than EASY" in verdict(tuning)[0]


def test_few_judged_weeks_prove_no_choice() -> None:
    tuning = tuning_of(*[(10.0, 9.0, 4.0)] * (CHOOSING_WEEKS + FEWEST_FOLDS - 1))
    assert tuning.gain_over_easy.low is None
    assert not tuning.is_best_proven


def test_a_promise_that_moved_for_a_better_claim_is_not_broken() -> None:
    results = results_of((10, 5))
    results[0, 1] = replace(results[0, 1], moved=3, worst_moved_delay_s=9000.0)
    assert choose(results, [0], 2) == 1
    results[0, 1] = replace(results[0, 1], worst_delay_s=100.0)
    assert choose(results, [0], 2) == 0


def test_a_setting_that_breaks_promises_is_not_recommended_as_the_second_best() -> None:
    weeks = 10
    late = {(week, 1): figures(5, delay_s=500) for week in range(weeks)}
    results = {**results_of(*[(10.0, 5.0)] * weeks), **late}
    named = [Week(number + 2, (number + 1) * WEEK_S) for number in range(weeks)]
    tuning = judge(Workload("site", None, (a_job(),)), Cluster(4, 1), CANDIDATES[:2], named, results)
    assert tuning.recommended == CANDIDATES[0]


# Shrinking


def test_one_setting_that_always_gains_the_same_is_not_shrunk() -> None:
    assert tuning_of(*weeks_of_gains(*[(0.1, 0.4)] * 8)).shrunk_gain == pytest.approx(0.4)


def test_the_best_of_many_that_differ_by_chance_is_shrunk() -> None:
    """Thirty settings whose slowdowns are EASY's times noise: the best of them seems to gain, and there is nothing."""
    draw = random.Random(3)
    results: Results = {}
    for week in range(12):
        results[week, 0] = figures(10)
        for candidate in range(1, 31):
            results[week, candidate] = figures(10 * draw.lognormvariate(-0.08, 0.4))
    best = choose(results, range(12), 31)
    apparent = 1 - together(results[week, best] for week in range(12)).slowdown / 10
    shrunk = gain_on_weeks_left_out(results, 12, 31)
    assert shrunk is not None
    assert apparent > 0.15
    assert abs(shrunk) < 0.4 * apparent


def test_weeks_without_jobs_are_not_judged() -> None:
    results_without = {**results_of(*[(10.0, 8.0)] * 5), (3, 0): Figures(), (3, 1): Figures()}
    named = [Week(number + 2, (number + 1) * WEEK_S) for number in range(5)]
    workload = Workload("site", None, (a_job(),))
    tuning = judge(workload, Cluster(4, 1), CANDIDATES[:2], named, results_without)
    assert [fold.week.number for fold in tuning.folds] == [4, 6]


def test_gain_is_the_share_that_is_missing_from_easys_slowdown() -> None:
    assert gain(figures(6), figures(8)) == 0.25
    fold = Fold(Week(1, 0), CANDIDATES[1], figures(10), figures(8), CANDIDATES[0], figures(8), figures(5))
    assert (fold.gain, fold.best_gain, fold.gain_over_shortest) == (-0.25, 0, -1)


# Which weeks


def weeks_long(weeks: float) -> Workload:
    return Workload("site", None, (a_job(1, 500), a_job(2, 500 + weeks * WEEK_S)))


def test_the_last_full_weeks_are_used_and_the_first_of_them_warms_up() -> None:
    assert [week.number for week in measured_weeks(weeks_long(14.9), 12)] == list(range(4, 15))
    assert [week.number for week in measured_weeks(weeks_long(11), 12)] == list(range(2, 12))


@pytest.mark.parametrize("weeks", [0, 0.5, 1, FEWEST_WEEKS - 0.01])
def test_a_history_that_is_too_short_says_what_is_needed(weeks: float) -> None:
    full = int(weeks)
    with pytest.raises(
        TuneError, match=rf"it has {full} full weeks? of submissions.*needed are {FEWEST_WEEKS}: 1 to warm"
    ):
        measured_weeks(weeks_long(weeks), 12)


def test_figures_together_are_those_of_all_jobs() -> None:
    whole = together([figures(2, jobs=1, delay_s=-3), figures(5, jobs=2, delay_s=None), figures(1, jobs=1, delay_s=7)])
    assert (whole.jobs, whole.slowdown, whole.wait_s, whole.worst_delay_s) == (4, (2 + 10 + 1) / 4, 60, 7)
    assert (whole.cut_jobs, whole.overhead_core_s) == (3, 10_800)
    assert together([]) == Figures()
