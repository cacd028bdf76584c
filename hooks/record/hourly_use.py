"""What users, groups and projects had in use in each hour of the last day, by queue: the trends beside their quotas.

It is a part of the day's activity (:mod:`hooks.record.day_of_activity`). Of too many entities those are kept that use
the most, now or in any hour of the day.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nlargest
from typing import Any, NamedTuple, Optional

HOUR_S = 3600
HOURS = 24
MOST = 400
"""The most entities that are kept: with as many, their part of the file has about 80 KB."""

Entity = tuple[str, str, str]
"""A queue, and in it an entity of PBS's limits: its kind (``u``, ``g``, ``p`` or ``o``) and its name."""
Trend = tuple[Optional[float], ...]
"""The mean amount in use in each of :data:`HOURS` hours, oldest first; None where it is not known."""

_NOTHING = (0.0,) * HOURS
_LONGEST_NAME = 256


class HourlyUse(NamedTuple):
    """The hours up to the hour ``newest``, counted since 1970. ``seconds`` are those covered by samples in each hour;
    ``amount_s`` has by entity the sum of the amount in use over these seconds. ``cut_at`` is the last hour in which
    entities were left out. Immutable: :meth:`sampled` returns the next value."""

    newest: int = 0
    seconds: tuple[float, ...] = _NOTHING
    amount_s: Mapping[Entity, tuple[float, ...]] = {}
    cut_at: int = 0

    def sampled(self, time_s: float, seconds: float, use: Mapping[Entity, int]) -> HourlyUse:
        """The hours with one more sample: the amounts in use for so many seconds before ``time_s``."""
        hour = int(time_s // HOUR_S)
        if hour < self.newest:
            return self
        before = self._until(hour)
        found, is_cut = dict(before.amount_s), before.cut_at
        # Of what is not known yet, only the largest can be among those that are kept.
        new = [entity for entity in use if entity not in found]
        if len(new) > MOST:
            new, is_cut = nlargest(MOST, new, key=lambda entity: (use[entity], entity)), hour
        for entity in [*before.amount_s, *new]:
            amount = use.get(entity, 0)
            if amount > 0:
                sums = found.get(entity, _NOTHING)
                found[entity] = (*sums[:-1], sums[-1] + amount * seconds)
        covered = (*before.seconds[:-1], before.seconds[-1] + seconds)
        if len(found) > MOST:

            def most(entity: Entity) -> tuple[float, Entity]:
                hours = [amount / each for amount, each in zip(found[entity], covered) if each]
                return max(use.get(entity, 0), *hours), entity

            found, is_cut = {entity: found[entity] for entity in nlargest(MOST, found, key=most)}, hour
        return HourlyUse(hour, covered, found, is_cut)

    def ended_at(self, time_s: float) -> HourlyUse:
        """The same without later hours."""
        hour = int(time_s // HOUR_S)
        by = self.newest - hour
        if by <= 0:
            return self
        if by >= HOURS:
            return HourlyUse(hour)
        before = _NOTHING[:by]
        moved = {entity: (*before, *sums[:-by]) for entity, sums in self.amount_s.items() if any(sums[:-by])}
        return HourlyUse(hour, (*before, *self.seconds[:-by]), moved, min(self.cut_at, hour))

    def filled_from(self, other: HourlyUse) -> HourlyUse:
        """These hours, with each one of the ``other`` that covers longer than this one's."""
        newest = max(self.newest, other.newest)
        own, theirs = self._until(newest), other._until(newest)
        is_own = [mine >= their for mine, their in zip(own.seconds, theirs.seconds)]
        if all(is_own):
            return own

        def choose(mine: tuple[float, ...], their: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(a if keeps else b for keeps, a, b in zip(is_own, mine, their))

        amounts = {
            entity: choose(own.amount_s.get(entity, _NOTHING), theirs.amount_s.get(entity, _NOTHING))
            for entity in {**own.amount_s, **theirs.amount_s}
        }
        return HourlyUse(newest, choose(own.seconds, theirs.seconds), amounts, max(self.cut_at, other.cut_at))

    def trend(self, queue: str, kind: str, name: str, now_s: float) -> Trend:
        """An entity's hours up to now, in a queue or, where that is empty, in all of them together."""
        hours = self._until(max(self.newest, int(now_s // HOUR_S)))
        if queue:
            found = hours.amount_s.get((queue, kind, name))
        else:
            parts = [each for entity, each in hours.amount_s.items() if entity[1:] == (kind, name)]
            found = tuple(map(sum, zip(*parts))) if parts else None
        if found is None:
            if hours.cut_at > hours.newest - HOURS:
                return (None,) * HOURS
            found = _NOTHING
        return tuple(amount / seconds if seconds else None for amount, seconds in zip(found, hours.seconds))

    def _until(self, hour: int) -> HourlyUse:
        """The same, moved on to a later hour; entities without use in the hours that are left are dropped."""
        by = min(hour - self.newest, HOURS)
        if by <= 0:
            return self
        moved = {entity: (*sums[by:], *_NOTHING[:by]) for entity, sums in self.amount_s.items() if any(sums[by:])}
        return HourlyUse(hour, (*self.seconds[by:], *_NOTHING[:by]), moved, self.cut_at)

    def to_data(self) -> dict[str, Any]:
        """Plain data, for a file."""
        return {
            "newest": self.newest,
            "seconds": [round(each) for each in self.seconds],
            "cut_at": self.cut_at,
            "entities": [[*entity, [round(each) for each in sums]] for entity, sums in self.amount_s.items()],
        }

    @staticmethod
    def from_data(data: object) -> HourlyUse:
        """The hours of plain data; empty if that is none, without the entities that are none. Never raises."""
        if not isinstance(data, Mapping) or not is_amount(data.get("newest")) or not _is_hours(data.get("seconds")):
            return HourlyUse()
        rows, cut_at = data.get("entities"), data.get("cut_at", 0)
        amounts = {
            (row[0], row[1], row[2]): tuple(map(float, row[3]))
            for row in (rows if isinstance(rows, list) else [])
            if isinstance(row, list) and len(row) == 4 and all(map(_is_name, row[:3])) and _is_hours(row[3])
        }
        kept = dict(list(amounts.items())[:MOST])
        seconds = tuple(map(float, data["seconds"]))
        return HourlyUse(int(data["newest"]), seconds, kept, int(cut_at) if is_amount(cut_at) else 0)


def is_amount(value: object) -> bool:
    """Whether a value of a damaged file may be one that was written: a number from 0, of a size that has a meaning."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15


def _is_hours(value: object) -> bool:
    return isinstance(value, list) and len(value) == HOURS and all(map(is_amount, value))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_NAME
