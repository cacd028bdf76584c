"""Idle cores over the last day: hourly means and their ratio to all cores, from the journal and the console's polls.

The ratio is P1's measure, idle cores over all cores sampled in time. It covers the hours in which passes were written
down or this console watched, and the line says how many these are. A pass says how many cores were idle, not of how
many: those that are there now are taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

HOUR_S = 3600.0
HOURS = 24


@dataclass(frozen=True)
class Hour:
    """The samples of one clock hour: how many, and the sum of their idle shares."""

    number: int
    samples: int
    idle: float

    @property
    def mean(self) -> float:
        """The mean idle share, from 0 to 1."""
        return self.idle / self.samples


@dataclass(frozen=True)
class IdleHistory:
    """The hours watched, oldest first, at most a day of them. A value: :meth:`sampled` gives the next."""

    hours: tuple[Hour, ...] = field(default=())

    def sampled(self, time_s: float, idle: float, total: float) -> IdleHistory:
        """With one more sample; a cluster without cores gives none, and neither does a clock that went back."""
        number = int(time_s // HOUR_S)
        if total <= 0 or (self.hours and number < self.hours[-1].number):
            return self
        share = idle / total
        if self.hours and self.hours[-1].number == number:
            last = self.hours[-1]
            return IdleHistory((*self.hours[:-1], Hour(number, last.samples + 1, last.idle + share)))
        kept = tuple(hour for hour in self.hours if hour.number > number - HOURS)
        return IdleHistory((*kept, Hour(number, 1, share)))

    def with_passes(self, idle: Mapping[int, tuple[int, float]], total: float) -> IdleHistory:
        """With the hours that the journal tells more of than this console has seen: for each hour the number of passes
        and their mean of idle cores."""
        if total <= 0 or not idle:
            return self
        hours = {hour.number: hour for hour in self.hours}
        for number, (samples, mean) in idle.items():
            if number not in hours or hours[number].samples < samples:
                hours[number] = Hour(number, samples, samples * min(1.0, mean / total))
        newest = max(hours)
        return IdleHistory(tuple(hours[number] for number in sorted(hours) if number > newest - HOURS))

    @property
    def ratio(self) -> float | None:
        """The idle ratio over all hours watched; None before the first sample."""
        return sum(hour.mean for hour in self.hours) / len(self.hours) if self.hours else None
