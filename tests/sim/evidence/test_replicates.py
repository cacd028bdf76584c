"""Means over replicates, by hand and by how often their intervals hold the truth."""

from __future__ import annotations

import random

import pytest

from sim.evidence.gains_over_references import Gain
from sim.evidence.replicates import Estimate, estimate, estimate_gain


def test_the_interval_of_a_mean_is_students() -> None:
    """The textbook's: mean 3, standard deviation 1.5811, t 2.7764 for 4 degrees of freedom."""
    assert estimate([1, 2, 3, 4, 5]) == pytest.approx((3, 2.7764 * 1.58114 / 5**0.5), rel=1e-4)
    assert estimate([7]) == Estimate(7, None)


def test_gains_are_averaged_replicate_by_replicate() -> None:
    gains = [Gain(gain, None, None, 10, 3) for gain in (0.1, 0.2, 0.3)]
    found = estimate_gain(gains)
    half = 4.3027 * 0.1 / 3**0.5
    assert found == pytest.approx((0.2, 0.2 - half, 0.2 + half, 30, 3))
    assert estimate_gain(gains[:1]) == (0.1, None, None, 10, 1)


def test_a_replicate_with_nothing_to_gain_on_leaves_no_mean() -> None:
    assert estimate_gain([Gain(0.1, None, None, 10, 3), Gain(None, None, None, 9, 3)]) == (None, None, None, 19, 2)


def test_nineteen_of_twenty_intervals_hold_the_true_mean() -> None:
    draw = random.Random(1)
    held = 0
    for _ in range(1000):
        mean, half = estimate([draw.gauss(5, 2) for _ in range(6)])
        assert half is not None
        held += abs(mean - 5) <= half
    assert 930 <= held <= 970
