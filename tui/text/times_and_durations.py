"""Times of day and durations as text, in the local time zone."""

from __future__ import annotations

from datetime import datetime, timezone

from policy.model.pbs_units import UnitError, parse_duration_s, show_duration
from tui.text.typed_numbers import parse_decimal

__all__ = [
    "clock_time",
    "day_and_time",
    "day_of",
    "local_time",
    "parse_span_s",
    "short_span",
    "show_duration",
    "show_hms",
]

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def local_time(time_s: float) -> datetime | None:
    """The moment in the local time zone; None for a time out of the calendar's range."""
    try:
        return datetime.fromtimestamp(time_s, tz=timezone.utc).astimezone()
    except (OverflowError, ValueError, OSError):
        return None


def clock_time(time_s: float, *, seconds: bool = False) -> str:
    """``14:02``, or ``14:02:31``; a dash for a time out of the calendar's range."""
    when = local_time(time_s)
    return "-" if when is None else when.strftime("%H:%M:%S" if seconds else "%H:%M")


def day_of(time_s: float) -> str:
    """``Mon 02 Mar ``, with a blank after it; empty for a time out of the calendar's range."""
    when = local_time(time_s)
    return "" if when is None else when.strftime("%a %d %b ")


def day_and_time(time_s: float, now_s: float) -> str:
    """The time of day, with the date unless it is today."""
    when, now = local_time(time_s), local_time(now_s)
    if when is None or now is None:
        return "-"
    return when.strftime("%H:%M" if when.date() == now.date() else "%a %d %b %H:%M")


def show_hms(seconds: float | None) -> str:
    """``1:02:03`` with any number of hours; a dash if there is no such duration."""
    if seconds is None or seconds < 0 or seconds == float("inf"):
        return "-"
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}"


def short_span(seconds: float) -> str:
    """A duration in a few cells: ``9 s``, ``12 min``, ``3 h 10``."""
    return show_duration(max(0.0, seconds))


def parse_span_s(text: str) -> float:
    """The seconds of ``90``, ``15m``, ``2h``, ``1d`` or PBS's ``hh:mm:ss``. Raises ValueError with what is allowed."""
    unit = _UNITS_S.get(text[-1:].lower())
    number = parse_decimal(text[:-1]) if unit else None
    if unit and number is not None:
        return number * unit
    try:
        return float(parse_duration_s(text))
    except UnitError as error:
        raise ValueError(f"{text!r} is no length of time: allowed are 90, 15m, 2h, 1d or 12:00:00") from error
