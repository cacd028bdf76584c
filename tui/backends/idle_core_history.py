"""Idle cores over the last day: hourly means of the idle share, from the journal and the console's polls.

Between two samples the idle cores are interpolated, from those left after the first one's starts to those found by the
second. A pass does not record the total of cores, so the present one is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

HOUR_S = 3600.0
HOURS = 24

_LONGEST_S = 300.0
"""Nothing is assumed about longer intervals between two samples."""

_ALONE_S = 1.0
"""The time that a sample without a recent predecessor counts for."""


class Sample(NamedTuple):
    """Idle cores at one time (``found``), and after the starts made then (``left``)."""

    time_s: float
    found: float
    left: float


@dataclass(frozen=True)
class Hour:
    """One clock hour: the seconds that are covered by samples, and the idle share summed over these seconds."""

    number: int
    seconds: float
    idle: float

    @property
    def mean(self) -> float:
        """The mean idle share, from 0 to 1."""
        return self.idle / self.seconds


def spans(before: Sample | None, sample: Sample) -> Iterator[tuple[int, float, float]]:
    """The clock hours between two samples, each as hour number, seconds and the idle cores at the middle of these. If
    the first sample is missing, later, or too long ago, only the second counts, for :data:`_ALONE_S`."""
    span_s = sample.time_s - before.time_s if before is not None else 0.0
    if before is None or not 0 < span_s <= _LONGEST_S:
        yield int(sample.time_s // HOUR_S), _ALONE_S, sample.left
        return
    at_s = before.time_s
    while at_s < sample.time_s:
        number = int(at_s // HOUR_S)
        end_s = min(sample.time_s, (number + 1) * HOUR_S)
        part = ((at_s + end_s) / 2 - before.time_s) / span_s
        yield number, end_s - at_s, before.left + part * (sample.found - before.left)
        at_s = end_s


@dataclass(frozen=True)
class IdleHistory:
    """The hours observed, oldest first, at most a day. Their mean is P1's measure (docs/policies.md). Immutable:
    :meth:`sampled` returns the next value."""

    hours: tuple[Hour, ...] = field(default=())
    last: Sample | None = None

    def sampled(self, time_s: float, idle: float, total: float) -> IdleHistory:
        """The history with one more sample; unchanged if the cluster has no cores or the clock went back."""
        if total <= 0 or (self.last is not None and time_s <= self.last.time_s):
            return self
        share = idle / total
        sample = Sample(time_s, share, share)
        hours = {hour.number: hour for hour in self.hours}
        for number, seconds, mean in spans(self.last, sample):
            known = hours.get(number, Hour(number, 0.0, 0.0))
            hours[number] = Hour(number, known.seconds + seconds, known.idle + seconds * mean)
        return IdleHistory(_of_a_day(hours), sample)

    def with_passes(self, idle: Mapping[int, tuple[float, float]], total: float) -> IdleHistory:
        """The history with each hour that the journal covers longer than this console. ``idle`` has by hour the seconds
        covered and their mean of idle cores."""
        if total <= 0 or not idle:
            return self
        hours = {hour.number: hour for hour in self.hours}
        for number, (seconds, mean) in idle.items():
            if number not in hours or hours[number].seconds < seconds:
                hours[number] = Hour(number, seconds, seconds * min(1.0, mean / total))
        return IdleHistory(_of_a_day(hours), self.last)

    @property
    def ratio(self) -> float | None:
        """The mean idle share over all hours observed, from 0 to 1; None before the first sample."""
        return sum(hour.mean for hour in self.hours) / len(self.hours) if self.hours else None


def _of_a_day(hours: Mapping[int, Hour]) -> tuple[Hour, ...]:
    newest = max(hours)
    return tuple(hours[number] for number in sorted(hours) if number > newest - HOURS)
