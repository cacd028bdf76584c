"""Checks whether a scheduler has read its ``sched_config`` since the file was edited: it reads it at its start and on a
SIGHUP.

The start is that of its process; a SIGHUP leaves a line in its log. If neither is known, the file counts as read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Callable

_NAME = "pbs_sched"
_READS = (b";reconfigure;Scheduler is reconfiguring", b"startup pid ")
"""The lines that a scheduler logs when it reads its files again, and when it starts."""
_LOGGED = 0x40
"""The bit of ``log_events`` without which the first of them is not logged (``PBSEVENT_SCHED``)."""
_MOST_BYTES = 8 << 20
"""From the time of the edit on; a longer log cannot be searched in each pass."""
_DAY_S = 86400.0


def read_process_start(sched_priv: Path) -> float | None:
    """When the scheduler's process on this host started, in seconds since 1970; None if unknown."""
    try:
        number = int((sched_priv / "sched.lock").read_text(encoding="ascii").strip())
        about, _, fields = Path(f"/proc/{number}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")
        if about.partition("(")[2] != _NAME:
            return None
        uptime_s = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        return time.time() - uptime_s + int(fields.split()[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def find_unread_edit(
    texts: Mapping[str, str], now_s: float, find_start: Callable[[Path], float | None] = read_process_start
) -> float | None:
    """When the ``sched_config`` of the scheduler with these attributes was edited, if the scheduler has not read it
    since; None if it has, or if that is unknown."""
    sched_priv, logs = Path(texts.get("sched_priv", "")), Path(texts.get("sched_log", ""))
    if not (sched_priv.is_absolute() and logs.is_absolute() and _logs_reading(texts)):
        return None
    started_s = find_start(sched_priv)
    try:
        edited_s = (sched_priv / "sched_config").stat().st_mtime
        if started_s is None or not started_s + 1 < edited_s <= now_s:
            return None
        return None if _was_read(logs, edited_s, now_s) else edited_s
    except OSError:
        return None


def _logs_reading(texts: Mapping[str, str]) -> bool:
    try:
        return bool(int(texts.get("log_events", "")) & _LOGGED)
    except ValueError:
        return False


def _was_read(logs: Path, edited_s: float, now_s: float) -> bool:
    """Whether the log has such a line at or after the time of the edit, or is too long to say. Raises OSError if a file
    is missing that must be there."""
    left = _MOST_BYTES
    for path in _files(logs, edited_s, now_s):
        with path.open("rb") as file:
            file.seek(_find_position(file, edited_s))
            data = file.read(left)
            left -= len(data)
        for line in data.splitlines():
            if any(sign in line for sign in _READS) and (_time_of(line) or 0.0) >= int(edited_s):
                return True
        if left <= 0:
            return True
    return False


def _files(logs: Path, edited_s: float, now_s: float) -> Iterator[Path]:
    """The files of the days since the edit; that of its own day must be there."""
    day_s = edited_s
    while day_s < now_s + _DAY_S:
        path = logs / time.strftime("%Y%m%d", time.localtime(min(day_s, now_s)))
        if day_s == edited_s or path.is_file():
            yield path
        day_s += _DAY_S


def _find_position(file: BinaryIO, since_s: float) -> int:
    """A position in the log before its first line of that time, found by halving."""
    low, high = 0, file.seek(0, os.SEEK_END)
    while high - low > 1 << 16:
        middle = (low + high) // 2
        file.seek(middle)
        file.readline()
        at_s = _time_of(file.readline())
        low, high = (low, middle) if at_s is not None and at_s >= int(since_s) else (middle, high)
    return low


def _time_of(line: bytes) -> float | None:
    """The time at the beginning of a line of PBS's log; None for a line without one."""
    stamp = line.split(b";", 1)[0].split(b".", 1)[0].decode("ascii", "replace")
    try:
        return time.mktime(time.strptime(stamp, "%m/%d/%Y %H:%M:%S"))
    except (ValueError, OverflowError):
        return None
