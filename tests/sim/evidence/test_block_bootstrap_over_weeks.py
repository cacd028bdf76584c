"""Intervals of gains: by hand where the answer is certain, and by how often they hold what they should."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.evidence.block_bootstrap_over_weeks import (
    FEWEST_WEEKS,
    Interval,
    gain_of,
    interval_of_gain,
    samples,
    share_outside,
)

WEEKS = st.lists(st.tuples(st.floats(0, 1e6), st.floats(1, 1e6)), min_size=FEWEST_WEEKS, max_size=30)


def test_a_gain_is_what_is_missing_from_the_reference() -> None:
    assert gain_of(6, 8) == 0.25
    assert gain_of(10, 8) == -0.25
    assert gain_of(5, 0) is None


def test_weeks_of_one_gain_have_an_interval_of_no_width_however_they_differ() -> None:
    """Paired by week: what makes a week bad for both makes no interval."""
    reference = [1.0, 1000.0, 3.0, 70.0, 20_000.0, 5.0, 9.0, 0.1]
    interval = interval_of_gain([0.75 * each for each in reference], reference, 1)
    assert interval == pytest.approx((0.25, 0.25))


def test_the_interval_of_two_kinds_of_weeks_is_counted() -> None:
    """Ten weeks alike, five of them with the gain 1 and five with none: the gain of a sample is the share of the first.
    Of ten weeks 0.86 % of the samples are outside on each side; of ten coins at most one head is 1.07 %, none 0.1 %."""
    assert interval_of_gain([0.0] * 5 + [8.0] * 5, [8.0] * 10, 1) == pytest.approx((0.1, 0.9))


def test_too_few_weeks_have_no_interval() -> None:
    assert interval_of_gain([1.0] * (FEWEST_WEEKS - 1), [2.0] * (FEWEST_WEEKS - 1), 1) is None


def test_a_sample_without_anything_to_gain_on_leaves_no_interval() -> None:
    assert interval_of_gain([0.0] * 8, [1.0] + [0.0] * 7, 1) is None


def test_sums_of_different_weeks_are_refused() -> None:
    with pytest.raises(ValueError, match="5 weeks of the policy, 6 of its reference"):
        interval_of_gain([1.0] * 5, [1.0] * 6, 1)


def test_a_seed_says_which_weeks_are_drawn() -> None:
    assert samples(7, 1) == samples(7, 1)
    assert samples(7, 1) != samples(7, 2)
    assert all(len(sample) == 7 and set(sample) <= set(range(7)) for sample in samples(7, 3))


@given(WEEKS)
def test_an_interval_is_within_the_best_and_the_worst_week(weeks: list[tuple[float, float]]) -> None:
    interval = interval_of_gain([policy for policy, _ in weeks], [reference for _, reference in weeks], 1)
    assert isinstance(interval, Interval)
    gains = [1 - policy / reference for policy, reference in weeks]
    slack = 1e-9 * (1 + max(map(abs, gains)))
    assert min(gains) - slack <= interval.low <= interval.high <= max(gains) + slack


def test_few_weeks_leave_less_outside_by_the_formula_of_hesterberg() -> None:
    """Phi(-sqrt(n / (n - 1)) t), with printed values of t and Phi:
    of 5 values 0.1 % on each side, of 10 0.9 %, of 20 1.6 %, of 100 2.3 %."""
    assert [round(100 * share_outside(weeks), 1) for weeks in (5, 10, 20, 100)] == [0.1, 0.9, 1.6, 2.3]
    assert share_outside(100_000) == pytest.approx(0.025, abs=1e-5)


@pytest.mark.parametrize(
    ("weeks", "spread", "least"), [(40, 1.0, 180), (FEWEST_WEEKS, 0.0, 182), (FEWEST_WEEKS, 1.0, 174)]
)
def test_nine_of_ten_or_more_intervals_hold_the_true_gain(weeks: int, spread: float, least: int) -> None:
    """A true gain of 20 %: 95 of 100 are meant. Weeks whose sums have a heavy tail are known to need more of them than
    there are: of eight such 87 are let pass; the percentile interval as it is holds some 80."""
    draw = random.Random(5)
    held = 0
    for _ in range(200):
        reference = [draw.lognormvariate(0, spread) for _ in range(weeks)]
        policy = [0.8 * each * draw.lognormvariate(-0.08, 0.4) for each in reference]
        interval = interval_of_gain(policy, reference, 1)
        assert interval is not None
        held += interval.low <= 0.2 <= interval.high
    assert least <= held <= 198
