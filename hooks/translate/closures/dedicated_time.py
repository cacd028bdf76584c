"""Dedicated time: a scheduler's ``dedicated_time`` file as windows in which its queues start no jobs.

In dedicated time only queues whose names begin with ``dedicated_prefix`` run jobs, and these at no other time
(Administrator's Guide, "Dedicated Time"). Times are local to the host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Window

DEDICATED, OTHER = "dedicated time", "time that is not dedicated"

_USUAL_PREFIX = "ded"
_CENTURY, _TURN = 100, 90
_LINE = re.compile(r"\s*(\d+)/(\d+)/(\d+)\s+(\d+):(\d+)\s+(\d+)/(\d+)/(\d+)\s+(\d+):(\d+)\s*(?:#.*)?$")
_SHOWN = 80


class DedicatedTime(NamedTuple):
    """The times, sorted and without overlaps, and the first line that cannot be read (empty if all can)."""

    times: tuple[tuple[float, float], ...]
    unread: str


def read_dedicated_time(text: str) -> DedicatedTime:
    """The times of a ``dedicated_time`` file: lines of ``MM/DD/YYYY HH:MM MM/DD/YYYY HH:MM``, and comments."""
    times: list[tuple[float, float]] = []
    unread = ""
    for line in text.splitlines():
        if not line.strip() or line.lstrip()[0] in "#*":
            continue
        match = _LINE.match(line)
        numbers = [int(number) for number in match.groups()] if match else []
        try:
            start_s, end_s = (_local_s(numbers[:5]), _local_s(numbers[5:])) if numbers else (0.0, 0.0)
        except (ValueError, OverflowError):
            start_s = end_s = 0.0
        if start_s < end_s:
            times.append((start_s, end_s))
        else:
            unread = unread or line.strip()[:_SHOWN]
    merged: list[tuple[float, float]] = []
    for start_s, end_s in sorted(times):
        if merged and start_s <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end_s, merged[-1][1]))
        else:
            merged.append((start_s, end_s))
    return DedicatedTime(tuple(merged), unread)


def is_dedicated(queue: str, config: Mapping[str, Sequence[str]]) -> bool:
    """Whether the queue is for dedicated time, by the options of its scheduler's ``sched_config``."""
    return queue.startswith(config.get("dedicated_prefix", [_USUAL_PREFIX])[-1])


def close_queue(times: DedicatedTime, dedicated: bool) -> tuple[Window, ...]:
    """The windows in which a queue runs no jobs: the dedicated times, or for a ``dedicated`` queue all other times."""
    if not dedicated:
        return tuple(Window(start_s, end_s, DEDICATED) for start_s, end_s in times.times)
    bounds = [0.0, *(bound for span in times.times for bound in span), UNLIMITED_S]
    return tuple(Window(start_s, end_s, OTHER) for start_s, end_s in zip(bounds[::2], bounds[1::2]))


def _local_s(numbers: list[int]) -> float:
    """Seconds since 1970 of month, day, year, hour and minute; a two-digit year below 90 is of this century.

    Raises ValueError or OverflowError for an impossible time.
    """
    month, day, year, hour, minute = numbers
    if year < _CENTURY:
        year += 1900 if year >= _TURN else 2000
    return datetime(year, month, day, hour, minute).timestamp()  # noqa: DTZ001 - in the time zone of the host
