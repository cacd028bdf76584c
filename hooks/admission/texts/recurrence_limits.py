"""Bounds on the rule by which a user's reservation recurs (``FREQ=WEEKLY;BYDAY=MO,FR;COUNT=8``; RFC 5545).

PBS's server goes through all occurrences before it answers, and its scheduler, in each cycle, through all days up to
each of them. A rule within these bounds keeps the server for less than a tenth of a second, and a cycle for half a
second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from math import ceil
from typing import NamedTuple

MOST_OCCURRENCES = 400
MOST_DAYS = 1830
_DAY_S = 86_400
_EPOCH = date(1970, 1, 1)
_DAYS: Mapping[str, float] = {"HOURLY": 1 / 24, "DAILY": 1, "WEEKLY": 7, "MONTHLY": 31, "YEARLY": 366}
_FEWEST_DAYS: Mapping[str, float] = {**_DAYS, "MONTHLY": 28, "YEARLY": 365}
_READ = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYHOUR", "BYMONTH"})
_LISTS: tuple[str, ...] = ("BYDAY", "BYHOUR", "BYMONTH")
_NUMBER = re.compile(r"[0-9]{1,4}")
_LISTED = re.compile(r"[0-9A-Z,]+")
_ALLOWED = (
    f"allowed are {MOST_OCCURRENCES} occurrences within {MOST_DAYS:,} days, and a FREQ of HOURLY, DAILY, WEEKLY,"
    " MONTHLY or YEARLY"
)


class _Rule(NamedTuple):
    frequency: str
    every: int
    times: int
    until: str
    listed: Mapping[str, tuple[str, ...]]


class _PerPeriod(NamedTuple):
    """How many occurrences a period of the rule has at least and at most, and one of how many periods has any."""

    least: int
    most: int
    one_of: float


def find_costly_recurrence(rule: str, start_s: float) -> str:
    """The message where a reservation that begins at ``start_s`` (seconds since 1970) would recur too often or for too
    long by this rule; empty where not. A rule without an end, or with a fault, is left to PBS, which refuses it, unless
    the fault hides how often the reservation recurs."""
    read = _read_rule(rule)
    if read is None:
        return f"its reserve_rrule {rule[:80]!r} cannot be read; {_ALLOWED}"
    per = _count_per_period(read)
    if read.until:
        end_s = _read_date_s(read.until)
        days = None if end_s is None else max(0.0, (end_s - start_s) / _DAY_S)
        if days is None:
            return f"its reserve_rrule has UNTIL={read.until[:20]!r}, which cannot be read; {_ALLOWED}"
        occurrences = ceil(days / (_FEWEST_DAYS[read.frequency] * read.every) + 1) * per.most
    else:
        occurrences = read.times
        days = read.times / per.least * per.one_of * _DAYS[read.frequency] * read.every
    if occurrences > MOST_OCCURRENCES:
        return f"it recurs up to {occurrences:,} times; {_ALLOWED}"
    if days > MOST_DAYS:
        return f"it recurs for up to {days:,.0f} days; {_ALLOWED}"
    return ""


def _read_rule(rule: str) -> _Rule | None:
    parts = [part.partition("=")[::2] for part in rule.upper().split(";") if part]
    values = dict(parts)
    if len(values) < len(parts) or values.keys() - _READ or values.get("FREQ") not in _DAYS:
        return None
    numbers = {name: values.get(name, "") for name in ("INTERVAL", "COUNT")}
    if not all(not text or _NUMBER.fullmatch(text) for text in numbers.values()):
        return None
    listed: dict[str, str] = {name: values[name] for name in _LISTS if name in values}
    if not all(_LISTED.fullmatch(text) for text in listed.values()) or (listed and values["FREQ"] == "HOURLY"):
        return None
    lists = {name: tuple(filter(None, text.split(","))) for name, text in listed.items()}
    times = int(numbers["COUNT"] or 0)
    return _Rule(values["FREQ"], max(1, int(numbers["INTERVAL"] or 1)), times, values.get("UNTIL", ""), lists)


def _count_per_period(rule: _Rule) -> _PerPeriod:
    hours, days, months = (rule.listed.get(name, ()) for name in ("BYHOUR", "BYDAY", "BYMONTH"))
    weeks = {"WEEKLY": 1, "MONTHLY": 4, "YEARLY": 4 if months else 52}.get(rule.frequency, 0)
    # A day with a number before it, such as the second Monday, is once in a month or a year.
    least = sum(weeks if day.isalpha() else 1 for day in set(days)) if weeks and days else 1
    most = sum(weeks + (rule.frequency != "WEEKLY") for _ in days) if weeks and days else 1
    one_of = 7 / len(set(days)) if days and rule.frequency == "DAILY" else 1.0
    if months and rule.frequency == "YEARLY":
        least, most = least * len(set(months)), most * len(months)
    elif months:
        one_of *= 13
    return _PerPeriod(least * max(1, len(set(hours))), most * max(1, len(hours)), one_of)


def _read_date_s(until: str) -> float | None:
    """A moment after the end of the day of ``20261231T120000Z`` or ``2026-12-31`` in all time zones; None if it is no
    date."""
    digits = until.replace("-", "")[:8]
    if not (digits.isascii() and digits.isdigit() and len(digits) == len("20261231")):
        return None
    try:
        day = date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return None
    return float((day - _EPOCH).days + 2) * _DAY_S
