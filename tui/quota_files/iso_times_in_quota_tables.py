"""Moments in a table of quotas: dates and times as ISO 8601 writes them.

Without an offset a time is the server's local one. A local time that does not exist, or that exists twice, when clocks
are changed, is refused: with an offset it is clear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta, timezone

from tui.text.times_and_durations import local_time

_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?)?\s*(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE | re.ASCII)
ALLOWED = "allowed is 2026-12-01, 2026-12-01 08:00 or 2026-12-01T08:00:00+01:00"
_FIRST_S = datetime(1, 1, 2, tzinfo=timezone.utc).timestamp()
_LAST_S = datetime(9999, 12, 31, tzinfo=timezone.utc).timestamp()
"""A day less than the calendar has: what is within is a date in every time zone."""
_OUT_OF_RANGE = "allowed are days from 0001-01-03 until 9999-12-30"


def read_moment(value: object) -> float:
    """The seconds since 1970 of a text, or of a date or time of TOML. Raises ValueError, which says what is allowed."""
    if isinstance(value, datetime):
        found = value
    elif isinstance(value, date):
        found = datetime.fromisoformat(value.isoformat())
    else:
        match = _ISO.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise ValueError(ALLOWED)
        day, minute, second, offset = match.groups()
        zone = (offset or "").upper().replace("Z", "+00:00")
        if zone and ":" not in zone:
            zone = f"{zone[:3]}:{zone[3:]}"
        try:
            found = datetime.fromisoformat(f"{day}T{minute or '00:00'}{second or ':00'}{zone}")
        except ValueError as error:
            raise ValueError(f"{error}; {ALLOWED}") from error
    try:
        moments = [found.replace(fold=fold).timestamp() for fold in (0, 1)]
    except (OverflowError, OSError, ValueError) as error:
        raise ValueError(_OUT_OF_RANGE) from error
    if not _FIRST_S <= moments[0] < _LAST_S:
        raise ValueError(_OUT_OF_RANGE)
    return _local(found, *moments) if found.tzinfo is None else moments[0]


def _local(found: datetime, early: float, late: float) -> float:
    """The moment of a local time, which is ``early`` by the offset before clocks were changed, ``late`` by the one
    after."""
    if early == late:
        return early
    shown = datetime.fromtimestamp(early, tz=timezone.utc).astimezone().replace(tzinfo=None)
    what = "exists twice" if shown == found.replace(fold=0) else "does not exist"
    example = datetime.fromtimestamp(late, tz=timezone.utc).astimezone().isoformat()
    raise ValueError(f"this local time {what}, as clocks are changed; allowed is one with an offset, as in {example}")


def show_moment(at_s: float) -> str:
    """``2026-12-01 08:00``, with seconds where there are any, in the local time zone."""
    when = local_time(at_s)
    if when is None:
        return "beyond the calendar"
    return when.strftime("%Y-%m-%d %H:%M:%S" if when.second else "%Y-%m-%d %H:%M")


def show_with_offset(at_s: float) -> str:
    """``2026-12-01 08:00+01:00``: :func:`show_moment` with the offset from UTC at that moment."""
    return show_moment(at_s) + _offset(local_time(at_s))


def one_zone(moments_s: Iterable[float]) -> tuple[str, Callable[[float], str]]:
    """The local time zone of all these moments, and how to show each of them: with its offset where clocks are changed
    between them, so that one zone does not hold for all."""
    zones = {zone for zone in map(zone_of, moments_s) if zone}
    if len(zones) > 1:
        return "each with its offset from UTC", show_with_offset
    return "".join(zones) or "beyond the calendar", show_moment


def zone_of(at_s: float) -> str:
    """The local time zone at a moment: ``CET, UTC+01:00``; empty for a time out of the calendar's range."""
    when = local_time(at_s)
    return "" if when is None else f"{when.tzname()}, UTC{_offset(when)}"


def _offset(when: datetime | None) -> str:
    """``+01:00``; empty for no moment."""
    if when is None:
        return ""
    minutes = int((when.utcoffset() or timedelta()).total_seconds() // 60)
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
