"""Means over replicates: the same comparison on several workloads that differ only by chance.

Drawn replicates are independent, so that the interval of a mean is Student's; resampled ones are rearrangements of one
trace, and their interval says nothing about other traces. A gain is computed in each replicate on the
same jobs under both policies, and its interval is that of these paired gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from sim.evidence.gains_over_references import Gain
from sim.evidence.student_t import student_t


class Estimate(NamedTuple):
    """The mean of a figure over replicates, and half the width of its 95 % interval; None for one replicate."""

    mean: float
    half: float | None


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of at least one value, each of another replicate, with its interval."""
    if len(values) < 2:
        return Estimate(fmean(values), None)
    return Estimate(fmean(values), student_t(len(values) - 1) * stdev(values) / sqrt(len(values)))


def estimate_gain(gains: Sequence[Gain]) -> Gain:
    """The mean gain with its interval, over the replicates; none where some replicate had nothing to gain on. ``weeks``
    is the number of replicates."""
    values = [each.gain for each in gains if each.gain is not None]
    jobs = sum(each.jobs for each in gains)
    if len(values) < len(gains):
        return Gain(None, None, None, jobs, len(gains))
    mean, half = estimate(values)
    if half is None:
        return Gain(mean, None, None, jobs, len(gains))
    return Gain(mean, mean - half, mean + half, jobs, len(gains))
