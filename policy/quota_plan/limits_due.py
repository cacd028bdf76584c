"""Computes what a pass has to set for the limits to be as planned: from the plan, what was set before, and what the
server has.

A value that the plan sets is remembered with the one before it, and goes back to that when its span ends. A limit that
an administrator has changed meanwhile is left as it is: the entry is given up, and nothing is taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Callable, NamedTuple

from policy.model.limit_attributes import LimitError, parse_entity, show_entity
from policy.quota_plan.planned_quotas import LimitKey, Plan, PlanError, PlannedQuota, in_force

IN_FORCE = "in force"
OVER = "over"
MISSED = "missed"
CHANGED_BY_HAND = "changed by hand"
RECORD_LOST = "record lost"
STAGES = (IN_FORCE, OVER, MISSED, CHANGED_BY_HAND, RECORD_LOST)
_GIVEN_UP = (CHANGED_BY_HAND, RECORD_LOST)


class Override(NamedTuple):
    """A limit that the plan has set, or is about to set, to ``value``.

    ``before`` is what to go back to, ``found`` what the server had when ``value`` was decided. ``number`` is the entry,
    0 while the limit goes back. ``confirmed``: the server was seen to have ``value``. None is no entry for the entity.
    """

    before: int | None
    found: int | None
    value: int | None
    number: int
    confirmed: bool


class Outcome(NamedTuple):
    """What became of an entry, since when, and the value that was found where it was changed by hand."""

    stage: str
    at_s: float
    found: int | None = None


class PlanRecord(NamedTuple):
    """What earlier passes have set, by limit, and what became of entries, by their numbers. ``lost``: the record cannot
    be read; what entries have set before is then unknown."""

    overrides: Mapping[LimitKey, Override] = MappingProxyType({})
    outcomes: Mapping[int, Outcome] = MappingProxyType({})
    lost: bool = False

    def confirmed(self, limits: Collection[LimitKey], now_s: float) -> PlanRecord:
        """The record once the server has taken the values of these limits."""
        overrides, outcomes = dict(self.overrides), dict(self.outcomes)
        for limit in limits:
            override = overrides[limit]
            if override.number:
                overrides[limit] = override._replace(confirmed=True)
                outcomes[override.number] = Outcome(IN_FORCE, now_s)
            else:
                del overrides[limit]
        return PlanRecord(overrides, outcomes)

    def to_data(self) -> dict[str, Any]:
        """The record as plain data."""
        return {
            "version": 1,
            "overrides": [
                {"queue": queue, "resource": resource, "entity": show_entity(entity), **override._asdict()}
                for (queue, resource, entity), override in sorted(self.overrides.items())
            ],
            "outcomes": {str(number): outcome._asdict() for number, outcome in sorted(self.outcomes.items())},
        }

    @classmethod
    def from_data(cls, data: object) -> PlanRecord:
        """A record of plain data. Raises :class:`PlanError`."""
        try:
            if not isinstance(data, dict) or data["version"] != 1:
                raise PlanError("it is no record of version 1")
            overrides = {}
            for each in data["overrides"]:
                limit = LimitKey(str(each["queue"]), str(each["resource"]), parse_entity(each["entity"], "the record"))
                before, found, value = (_value(each[name]) for name in ("before", "found", "value"))
                overrides[limit] = Override(before, found, value, int(each["number"]), bool(each["confirmed"]))
            outcomes = {
                int(number): Outcome(_stage(each["stage"]), float(each["at_s"]), _value(each["found"]))
                for number, each in data["outcomes"].items()
            }
        except (AttributeError, KeyError, TypeError, LimitError) as error:
            raise PlanError(f"it cannot be understood: {type(error).__name__}: {error}") from error
        except ValueError as error:
            raise PlanError(str(error)) from error
        return cls(overrides, outcomes)


class SetLimit(NamedTuple):
    """A limit to set from ``found`` to ``value``, None for no entry: for the entry ``number``, or, if that is 0, back
    to what was there before the plan."""

    limit: LimitKey
    found: int | None
    value: int | None
    number: int


class Due(NamedTuple):
    """What to set, the record to be written before, what waits (entries by number and limits to go back, each with the
    reason), and sentences on what was found changed."""

    steps: Sequence[SetLimit]
    record: PlanRecord
    waits: Mapping[int, str]
    undo_waits: Mapping[LimitKey, str]
    notes: Sequence[str]


def find_due(
    plan: Plan,
    record: PlanRecord,
    current: Mapping[LimitKey, int | None],
    now_s: float,
    why_not: Callable[[LimitKey], str],
    paused: str = "",
) -> Due:
    """What is due at a moment.

    ``current`` has the present entry of each limit that the plan or the record names; one that is missing cannot be
    read, and is left alone. ``why_not`` says why nothing new may be set on a limit, "" if it may; what the plan has set
    goes back all the same. With ``paused``, the reason of a pause, neither is done.
    """
    overrides, outcomes = dict(record.overrides), _known(plan, record, now_s)
    holding = in_force(plan, now_s)
    steps: list[SetLimit] = []
    waits: dict[int, str] = {}
    undo_waits: dict[LimitKey, str] = {}
    notes: list[str] = []

    def wait(limit: LimitKey, number: int, reason: str) -> None:
        """Note why the entry with this number, or with 0 the way back, has to wait."""
        if number:
            waits[number] = reason
        else:
            undo_waits[limit] = reason

    for limit in sorted({*overrides, *holding}):
        entry, old = holding.get(limit), overrides.get(limit)
        if limit not in current:
            number = 0 if entry is None else entry.number
            if entry is None or old is None or old.number != number:
                wait(limit, number, f"{limit.show()} cannot be read")
            continue
        now = current[limit]
        if old is not None:
            kept = _look(old, now)
            if kept is None:
                notes.append(_tell_change(limit, old, now))
                if old.number:
                    outcomes[old.number] = Outcome(CHANGED_BY_HAND, now_s, now)
                del overrides[limit]
            old = kept
        if entry is not None and entry.number in outcomes and outcomes[entry.number].stage in _GIVEN_UP:
            entry = None
        if entry is not None and (old is None or old.number != entry.number or not old.confirmed):
            reason = paused or why_not(limit)
            if reason:
                waits[entry.number] = reason
                entry = None
        if entry is None and old is None:
            continue
        before = old.before if old is not None else now
        value, number = (entry.quota, entry.number) if entry is not None else (before, 0)
        if value != now and paused:
            wait(limit, number, paused)
        elif value != now:
            steps.append(SetLimit(limit, now, value, number))
            overrides[limit] = Override(before, now, value, number, confirmed=False)
        elif number:
            overrides[limit] = Override(before, now, value, number, confirmed=True)
            if outcomes.get(number, Outcome(MISSED, 0)).stage != IN_FORCE:
                outcomes[number] = Outcome(IN_FORCE, now_s)
        else:
            del overrides[limit]
    outcomes.update(_ended(plan, overrides, outcomes, now_s))
    return Due(steps, PlanRecord(overrides, outcomes), waits, undo_waits, notes)


def next_number(plan: Plan, record: PlanRecord) -> int:
    """The number for a new entry. A withdrawn one is in the record until the next pass, and an entry of its number
    would inherit what became of it."""
    set_now = (override.number for override in record.overrides.values())
    return max([0, *(entry.number for entry in plan), *record.outcomes, *set_now]) + 1


def _known(plan: Plan, record: PlanRecord, now_s: float) -> dict[int, Outcome]:
    """The outcomes of the plan's entries. Where the record was lost, an entry that has begun may have set its limit,
    and it is unknown what that was before."""
    numbers = {entry.number for entry in plan}
    known = {number: outcome for number, outcome in record.outcomes.items() if number in numbers}
    if record.lost:
        known.update((entry.number, Outcome(RECORD_LOST, now_s)) for entry in plan if entry.from_s <= now_s)
    return known


def _ended(
    plan: Plan, overrides: Mapping[LimitKey, Override], outcomes: Mapping[int, Outcome], now_s: float
) -> dict[int, Outcome]:
    """The outcomes of entries whose time is over and that are not set any more: over if they were set, else missed."""
    still_set = {override.number for override in overrides.values()}
    found = {}
    for entry in plan:
        if entry.until_s <= now_s and entry.number not in still_set:
            outcome = outcomes.get(entry.number)
            if outcome is None:
                found[entry.number] = Outcome(MISSED, now_s)
            elif outcome.stage == IN_FORCE:
                found[entry.number] = Outcome(OVER, now_s)
    return found


def _look(old: Override, now: int | None) -> Override | None:
    """What was set, with whether the server has it; None if somebody else has changed it since."""
    if now == old.value:
        return old._replace(confirmed=True)
    return old if not old.confirmed and now == old.found else None


def _tell_change(limit: LimitKey, old: Override, now: int | None) -> str:
    what = f"entry {old.number} had set it to" if old.number else "it was to go back to"
    return f"{limit.show()} is {show_value(now)}, {what} {show_value(old.value)}: changed by hand, and left as it is"


def state_of(entry: PlannedQuota, due: Due, now_s: float) -> tuple[str, str]:
    """An entry's state in a word or two, and why it waits ("" if it does not)."""
    outcome, reason = due.record.outcomes.get(entry.number), due.waits.get(entry.number, "")
    override = due.record.overrides.get(entry.limit)
    is_set = override is not None and override.number == entry.number
    if is_set and entry.until_s <= now_s:
        return "to go back", due.undo_waits.get(entry.limit, "")
    if outcome is not None:
        return outcome.stage, ""
    if entry.from_s > now_s:
        return "planned", ""
    return "waits", reason


def show_value(value: int | None) -> str:
    """A limit's value as text; None is no entry."""
    return "none" if value is None else f"{value:,}"


def _value(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise PlanError(f"a value is {value!r}; allowed is a whole number or null")
    return value


def _stage(value: object) -> str:
    if value not in STAGES:
        raise PlanError(f"a stage is {value!r}; allowed is {', '.join(STAGES)}")
    return str(value)
