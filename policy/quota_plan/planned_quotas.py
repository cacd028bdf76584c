"""The plan: entries of soft limits, each with the moments at which it begins and ends.

The begin belongs to a span and the end does not, so one entry may follow another without a gap. Spans of one entity's
limit never overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from policy.model.limit_attributes import LONGEST_NAME, EntityKey, LimitError, parse_entity, show_entity

MOST_QUOTA = 10**9


class PlanError(ValueError):
    """A plan that cannot be used; the message names the entry and says what is allowed."""


class LimitKey(NamedTuple):
    """One entity's entry of the soft limit on a resource, of a queue or, if that is empty, of the server."""

    queue: str
    resource: str
    entity: EntityKey

    def show(self) -> str:
        """``u:alice (ncpus) in queue workq``."""
        place = f"in queue {self.queue}" if self.queue else "on the server"
        return f"{show_entity(self.entity)} ({self.resource}) {place}"


class PlannedQuota(NamedTuple):
    """An entry: ``quota`` holds for the limit from ``from_s`` until before ``until_s``, in seconds since 1970; None
    removes the entity's entry for that time. ``number`` names it in its plan, ``by`` is the administrator who planned
    it."""

    number: int
    limit: LimitKey
    quota: int | None
    from_s: float
    until_s: float
    by: str = ""

    def holds_at(self, now_s: float) -> bool:
        """Whether the moment is in its span."""
        return self.from_s <= now_s < self.until_s

    def to_data(self) -> dict[str, Any]:
        """The entry as plain data."""
        queue, resource, entity = self.limit
        return {
            "number": self.number,
            "queue": queue,
            "resource": resource,
            "entity": show_entity(entity),
            "quota": self.quota,
            "from_s": self.from_s,
            "until_s": self.until_s,
            "by": self.by,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any], where: str) -> PlannedQuota:
        """An entry of plain data. Raises :class:`PlanError`; ``where`` names the entry in it."""
        try:
            texts = {name: data[name] for name in ("queue", "resource", "entity", "by")}
            number, quota, from_s, until_s = (data[name] for name in ("number", "quota", "from_s", "until_s"))
        except (KeyError, TypeError) as error:
            raise PlanError(f"{where}: no {error}") from error
        for name, text in texts.items():
            if not isinstance(text, str):
                raise PlanError(f"{where}: {name} is {text!r}; allowed is a text")
        if not _is_whole(number) or number < 1:
            raise PlanError(f"{where}: number is {number!r}; allowed is a whole number from 1")
        if quota is not None and not (_is_whole(quota) and 0 <= quota <= MOST_QUOTA):
            raise PlanError(f"{where}: quota is {quota!r}; allowed is a whole number from 0 to {MOST_QUOTA:,}, or null")
        for name, moment in (("from_s", from_s), ("until_s", until_s)):
            if isinstance(moment, bool) or not isinstance(moment, (int, float)) or not math.isfinite(moment):
                raise PlanError(f"{where}: {name} is {moment!r}; allowed are seconds since 1970")
        if until_s <= from_s:
            raise PlanError(f"{where}: until_s is {until_s!r}; allowed is a moment after from_s, {from_s!r}")
        try:
            entity = parse_entity(texts["entity"], where)
        except LimitError as error:
            raise PlanError(str(error)) from error
        if len(entity[1]) > LONGEST_NAME:
            raise PlanError(f"{where}: a name of {len(entity[1]):,} characters; allowed are {LONGEST_NAME}")
        limit = LimitKey(texts["queue"], texts["resource"], entity)
        return cls(number, limit, quota, float(from_s), float(until_s), texts["by"])


Plan = tuple[PlannedQuota, ...]


def plan_to_data(plan: Iterable[PlannedQuota]) -> dict[str, Any]:
    """A plan as plain data."""
    return {"version": 1, "quotas": [entry.to_data() for entry in plan]}


def plan_from_data(data: object) -> Plan:
    """A plan of plain data. Raises :class:`PlanError`, also for numbers given twice and for overlapping spans."""
    if not isinstance(data, dict) or data.get("version") != 1 or not isinstance(data.get("quotas"), list):
        raise PlanError("it is no plan of version 1")
    plan = tuple(PlannedQuota.from_data(each, f"entry {place}") for place, each in enumerate(data["quotas"], 1))
    numbers = [entry.number for entry in plan]
    if len(set(numbers)) < len(numbers):
        raise PlanError("two of its entries have the same number")
    for first, second in find_overlaps(plan):
        raise PlanError(f"entries {first.number} and {second.number} are both for {first.limit.show()} at one time")
    return plan


def find_overlaps(plan: Iterable[PlannedQuota]) -> Iterator[tuple[PlannedQuota, PlannedQuota]]:
    """The pairs of entries for one limit whose spans overlap, of each entry with the one before that lasts longest."""
    by_begin = sorted(plan, key=lambda entry: (entry.limit, entry.from_s, entry.until_s))
    for _, entries in groupby(by_begin, key=lambda entry: entry.limit):
        last: PlannedQuota | None = None
        for entry in entries:
            if last is not None and entry.from_s < last.until_s:
                yield last, entry
            if last is None or entry.until_s > last.until_s:
                last = entry


def in_force(plan: Iterable[PlannedQuota], now_s: float) -> dict[LimitKey, PlannedQuota]:
    """The entries that hold at a moment, by their limit."""
    return {entry.limit: entry for entry in plan if entry.holds_at(now_s)}


def moments(plan: Iterable[PlannedQuota], after_s: float, until_s: float) -> Sequence[float]:
    """The moments in a span, without its begin, at which an entry begins or ends."""
    found = {at_s for entry in plan for at_s in (entry.from_s, entry.until_s)}
    return sorted(at_s for at_s in found if after_s < at_s <= until_s)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
