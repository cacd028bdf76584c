"""Confidence intervals of gains by block bootstrap: whole weeks of submissions are drawn again, with replacement.

The expanded percentile interval of T. C. Hesterberg (The American Statistician 69(4), 2015) over the blocks of E.
Carlstein (Annals of Statistics 14(3), 1986); README.md has why.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from sim.evidence.student_t import student_t

SAMPLES = 4000
PERCENT = 95
FEWEST_WEEKS = 8
"""Weeks of which no interval is computed if there are fewer: so few say too little about their spread. The interval
also ends at the best and the worst of them, however it is expanded."""


class Interval(NamedTuple):
    """From ``low`` to ``high``; the true gain is meant to lie inside in 95 of 100 cases."""

    low: float
    high: float


def gain_of(policy: float, reference: float) -> float | None:
    """How far a sum lies below the reference's, as a share of it; None where the reference has nothing to gain on."""
    return 1.0 - policy / reference if reference > 0 else None


def interval_of_gain(policy: Sequence[float], reference: Sequence[float], seed: int) -> Interval | None:
    """The interval of :func:`gain_of` over all weeks.

    ``policy`` and ``reference`` have for each week the sum over the same jobs, those submitted in it. The same weeks
    are drawn on both sides, so that the interval is that of the paired difference; the same seed and number of weeks
    draw the same weeks. None with fewer than :data:`FEWEST_WEEKS` weeks, or if a sample leaves nothing to gain on.
    """
    if len(policy) != len(reference):
        raise ValueError(f"{len(policy)} weeks of the policy, {len(reference)} of its reference: must be the same")
    if len(policy) < FEWEST_WEEKS:
        return None
    gains = []
    for weeks in samples(len(policy), seed):
        gain = gain_of(sum(map(policy.__getitem__, weeks)), sum(map(reference.__getitem__, weeks)))
        if gain is None:
            return None
        gains.append(gain)
    gains.sort()
    outside = int(share_outside(len(policy)) * SAMPLES)
    return Interval(gains[outside], gains[SAMPLES - 1 - outside])


def share_outside(weeks: int) -> float:
    """The share of the samples below (and of those above) the interval: Phi(-sqrt(n / (n - 1)) t), where t is Student's
    of 97.5 % with n - 1 degrees of freedom (Hesterberg, 2015). 2.5 % for endless weeks, less for few."""
    return NormalDist().cdf(-sqrt(weeks / (weeks - 1)) * student_t(weeks - 1))


@lru_cache(maxsize=64)
def samples(weeks: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """The bootstrap samples: for each of them as many weeks as there are, drawn with replacement."""
    random = Random(f"{seed} weeks")  # noqa: S311 - no secret depends on it
    every = range(weeks)
    return tuple(tuple(random.choices(every, k=weeks)) for _ in range(SAMPLES))
