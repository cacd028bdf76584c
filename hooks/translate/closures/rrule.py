"""The recurrences of standing reservations: the part of iCalendar's rules that PBS reservations use (RFC 5545).

Supported: hours, days, weeks, and months and years on the same date, each with an interval; for days and weeks also
lists of weekdays, hours and minutes. Any other rule counts as unreadable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import MAXYEAR, datetime, timedelta, tzinfo
from itertools import islice, product
from zoneinfo import ZoneInfo

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_READ = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYHOUR", "BYMINUTE"})
_FURTHEST_DAYS = 20_000
_DAYS_A_WEEK = 7
_MONTHS = 12


def find_starts(rule: str, first_s: float, zone: str, count: int) -> list[float] | None:
    """The first ``count`` starts from ``first_s`` on (seconds since 1970) by a rule such as
    ``FREQ=WEEKLY;BYDAY=MO,FR;COUNT=8``; None if it cannot be read. The rule's own end (COUNT, UNTIL) is ignored in
    favour of ``count``."""
    parts = dict(part.partition("=")[::2] for part in rule.upper().replace(" ", "").split(";") if part)
    try:
        if parts.keys() - _READ:
            return None
        return list(islice(_starts(parts, datetime.fromtimestamp(first_s, _zone(zone))), count))
    except (ValueError, OverflowError):
        return None


def _zone(name: str) -> tzinfo | None:
    """The time zone; None, which means this host's own, if the name is empty or unknown."""
    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):
        return None


def _starts(parts: dict[str, str], first: datetime) -> Iterator[float]:
    """The starts. Raises ValueError for a part of the rule that cannot be read."""
    frequency, every = parts.get("FREQ", ""), int(parts.get("INTERVAL", "1"))
    if every < 1:
        raise ValueError(every)
    chosen = [name for name in ("BYDAY", "BYHOUR", "BYMINUTE") if name in parts]
    if frequency in ("DAILY", "WEEKLY"):
        return _by_day(parts, first, frequency == "WEEKLY", every)
    if chosen:
        raise ValueError(chosen)
    if frequency == "HOURLY":
        return (first.timestamp() + number * every * 3600 for number in range(_FURTHEST_DAYS))
    if frequency in ("MONTHLY", "YEARLY"):
        return _by_month(first, every * (_MONTHS if frequency == "YEARLY" else 1))
    raise ValueError(frequency)


def _by_day(parts: dict[str, str], first: datetime, weekly: bool, every: int) -> Iterator[float]:
    days = _numbers(parts, "BYDAY", [_DAYS[first.weekday()]] if weekly else _DAYS)
    hours = _numbers(parts, "BYHOUR", [str(first.hour)])
    minutes = _numbers(parts, "BYMINUTE", [str(first.minute)])
    begin = _DAYS.index(parts.get("WKST", "MO"))
    before = (first.weekday() - begin) % _DAYS_A_WEEK
    for number in range(_FURTHEST_DAYS):
        day = first + timedelta(days=number)
        step = (number + before) // _DAYS_A_WEEK if weekly else number
        if step % every == 0 and day.weekday() in days:
            for hour, minute in product(hours, minutes):
                start = day.replace(hour=hour, minute=minute, fold=0)
                if start.replace(tzinfo=None) >= first.replace(tzinfo=None):
                    yield start.timestamp()


def _by_month(first: datetime, every: int) -> Iterator[float]:
    """The same date in every ``every``-th month; months without that date are skipped."""
    for number in range(_FURTHEST_DAYS):
        years, month = divmod(first.month - 1 + number * every, _MONTHS)
        try:
            start = first.replace(year=first.year + years, month=month + 1)
        except ValueError:
            if first.year + years > MAXYEAR:
                return
            continue
        yield start.timestamp()


def _numbers(parts: dict[str, str], name: str, usual: Sequence[str]) -> list[int]:
    words = parts[name].split(",") if name in parts else usual
    return sorted(_DAYS.index(word) if name == "BYDAY" else int(word) for word in words)
