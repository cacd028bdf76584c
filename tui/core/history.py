"""Idle cores over the last day, as far as this console has watched: hourly means and their ratio to all cores.

The ratio is P1's measure, idle cores over all cores sampled in time, taken from the console's own polls; it covers only
what was watched, and the line says how long that is.
"""

from __future__ import annotations

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

    @property
    def ratio(self) -> float | None:
        """The idle ratio over all hours watched; None before the first sample."""
        return sum(hour.mean for hour in self.hours) / len(self.hours) if self.hours else None
