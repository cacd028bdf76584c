"""Idle cores over the last day: hourly means and their ratio to all cores, from the journal and the console's polls.

The ratio is P1's measure, idle cores over all cores in time. Between two samples idle cores are taken to change evenly,
from what the first one left idle to what the second one found: passes come more often while jobs end, and a pass finds
idle what it gives to the next jobs at once. The line says how many hours passes were written down in, or this console
watched. A pass says how many cores were idle, not of how many: those that are there now are taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

HOUR_S = 3600.0
HOURS = 24

_LONGEST_S = 300.0
"""Of a longer time between two samples nothing is known."""

_ALONE_S = 1.0
"""A sample without one shortly before it counts as so much time."""


class Sample(NamedTuple):
    """How many cores were idle at a time, and how many after what was started then."""

    time_s: float
    found: float
    left: float


@dataclass(frozen=True)
class Hour:
    """What is known of one clock hour: of how many seconds, and the sum over these of the idle share."""

    number: int
    seconds: float
    idle: float

    @property
    def mean(self) -> float:
        """The mean idle share, from 0 to 1."""
        return self.idle / self.seconds


def spans(before: Sample | None, sample: Sample) -> Iterator[tuple[int, float, float]]:
    """The clock hours between two samples, each with its seconds and the idle cores in the middle of these; the second
    sample alone where the first one is long ago, later, or none."""
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
    """The hours watched, oldest first, at most a day of them. A value: :meth:`sampled` gives the next."""

    hours: tuple[Hour, ...] = field(default=())
    last: Sample | None = None

    def sampled(self, time_s: float, idle: float, total: float) -> IdleHistory:
        """With one more sample; a cluster without cores gives none, and neither does a clock that went back."""
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
        """With the hours that the journal tells more of than this console has seen: for each hour the seconds that it
        tells of and their mean of idle cores."""
        if total <= 0 or not idle:
            return self
        hours = {hour.number: hour for hour in self.hours}
        for number, (seconds, mean) in idle.items():
            if number not in hours or hours[number].seconds < seconds:
                hours[number] = Hour(number, seconds, seconds * min(1.0, mean / total))
        return IdleHistory(_of_a_day(hours), self.last)

    @property
    def ratio(self) -> float | None:
        """The idle ratio over all hours watched; None before the first sample."""
        return sum(hour.mean for hour in self.hours) / len(self.hours) if self.hours else None


def _of_a_day(hours: Mapping[int, Hour]) -> tuple[Hour, ...]:
    newest = max(hours)
    return tuple(hours[number] for number in sorted(hours) if number > newest - HOURS)
