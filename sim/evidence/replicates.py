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

_T_975 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
    2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
)  # fmt: skip
"""Student's t for 1 to 20 degrees of freedom, 97.5 %."""
_Z_975 = 1.959964


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


def student_t(degrees: int) -> float:
    """Student's t of 97.5 %; above 20 degrees of freedom by the expansion of Abramowitz and Stegun, 26.7.5, to four
    digits."""
    if degrees <= len(_T_975):
        return _T_975[degrees - 1]
    z = _Z_975
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
