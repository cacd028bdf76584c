"""Copies the requests of managers from the server's log into the audit of all administrators (``changes.jsonl`` in
PBS_HOME/pbsteer); consoles of root on that host add the changes that they send.

Any user of PBS can write lines into that log. So what the hook of the ``management`` event records is not copied, and
entries that were copied are distinguished by their place in the log.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from hooks.audit.admin_changes_in_server_log import AdminChange, read_changes
from hooks.audit.shared_audit_file import CHANGES, FULL_BYTES, RECORDED, find_recording_s
from hooks.pbs.client.pbs_ifl_client import Connection, IflError, ServerAwayError
from hooks.store.bounded_json import parse_json
from hooks.store.state_files import State

CURSOR = "changes-read.json"
_BEFORE = "before"
_MOST_BYTES = 4 << 20
"""The most that one pass reads of the log. While the log grows faster, the file lags behind."""
_TAIL_BYTES = 1 << 16
_MOST_OFFSET = 1 << 62
"""No file has a byte there, and no system call takes a larger number."""
_SETTLED_S = 2.0
"""The lines of one request are written one by one: the last request of the log is read once it is this old."""


class Cursor(NamedTuple):
    """How far the log was read: the day of its file, and the byte in it."""

    day: str
    offset: int

    @classmethod
    def read(cls, state: State, today: str) -> Cursor | None:
        """From the disk, the latest of the recorded positions and that of the last line copied; None before the first
        time. Positions in logs of later days, which were written while the clock was ahead, do not count: nothing
        would be copied until these days come."""
        recorded = state.read_published(CURSOR)
        found = [
            cls._from_data(data) for data in (recorded, recorded.get(_BEFORE), _last_of(state.path / CHANGES, today))
        ]
        return max((cursor for cursor in found if "" < cursor.day <= today), default=None)

    @classmethod
    def _from_data(cls, data: object) -> Cursor:
        """The position in a recorded one, or in an entry that was copied; without a day if there is none."""
        if not isinstance(data, Mapping):
            return cls("", 0)
        day, _, offset = str(data.get("log", f"{data.get('day', '')}:{data.get('offset')}")).partition(":")
        return cls(day if day.isdigit() else "", _whole(offset))


def copy_server_changes(pbs_ifl: Any, state: State, pbs_home: str, now_s: float) -> list[str]:
    """Copy the changes since the last pass; returns a sentence if that failed. Never raises: no pass fails for lack of
    an audit.

    An absent server is no failure of the copying; the next pass finds the log still there.
    """
    logs = Path(pbs_home) / "server_logs"
    if not logs.is_dir():
        return []
    try:
        with Connection(pbs_ifl) as connection:
            server = connection.read_server(("managers", "operators"))
        words = ",".join(server.get(name, "") for name in ("managers", "operators")).split(",")
        privileged = {word.strip() for word in words if word.strip()}
        since_s, known = find_recording_s(pbs_home), state.read_published(RECORDED)
        is_known = since_s is not None and known.get("since_s") is not None
        # What was recorded at the last pass already leaves nothing on objects to copy, whatever time a line claims.
        copy_changes(state, logs, privileged, now_s, 0.0 if is_known else math.inf if since_s is None else since_s)
        if not is_known and known != {"since_s": since_s}:
            state.publish(RECORDED, {"since_s": since_s}, shared=True)
    except ServerAwayError:
        return []
    except (OSError, ValueError, IflError) as error:
        return [f"the changes of administrators could not be copied from the server's log: {error}"]
    return []


def copy_changes(
    state: State, logs: Path, privileged: Collection[str], now_s: float, objects_until_s: float = math.inf
) -> None:
    """Copy what has come since the last time. The first time nothing is copied: earlier requests are in the log alone.

    Requests on objects, not jobs, from ``objects_until_s`` on are left out, since a hook records them. Raises OSError
    if the log cannot be read or the disk does not take the lines.
    """
    today = time.strftime("%Y%m%d", time.localtime(now_s))
    cursor = Cursor.read(state, today)
    if cursor is None:
        _remember(state, Cursor(today, _size(logs / today)))
        state.append(CHANGES, b"", full_bytes=FULL_BYTES)
        return
    left = _MOST_BYTES
    for day in sorted({cursor.day, *_days_since(logs, cursor.day, today)}):
        begin = cursor.offset if day == cursor.day else 0
        end, changes = _read_part(logs / day, begin, left, privileged, now_s)
        # The log has whole seconds.
        copied = [change for change in changes if change.of_job or change.time_s < objects_until_s - 1]
        lines = [json.dumps(_entry(change, day, begin)) for change in copied]
        if lines:
            state.append(CHANGES, "".join(f"{line}\n" for line in lines).encode("ascii"), full_bytes=FULL_BYTES)
        cursor = Cursor(day, end)
        left -= end - begin
        if left <= 0 or end < _size(logs / day):
            break
    _remember(state, cursor)


def _read_part(
    path: Path, begin: int, most: int, privileged: Collection[str], now_s: float
) -> tuple[int, list[AdminChange]]:
    """Where the log was read to, and the requests in it; the last one is left if more of its lines may come."""
    try:
        with path.open("rb") as log:
            log.seek(begin)
            part = log.read(most)
    except FileNotFoundError:
        return begin, []
    data = part[: part.rfind(b"\n") + 1]
    changes = read_changes(data, privileged)
    if changes and changes[-1].end == len(data):
        last = changes[-1]
        is_cut = len(part) == most and last.offset > 0
        if is_cut or abs(now_s - last.time_s) < _SETTLED_S:
            return begin + last.offset, changes[:-1]
    return begin + len(data), changes


def _entry(change: AdminChange, day: str, begin: int) -> dict[str, Any]:
    """A line of the file, in the console's form, with its place in the log."""
    return {
        "time": datetime.fromtimestamp(change.time_s, tz=timezone.utc).isoformat(timespec="milliseconds"),
        "stage": "done",
        "user": change.user,
        "origin": change.host,
        "server": change.server,
        "command": change.command,
        "before": "",
        "after": "",
        "reply": "",
        "change": "",
        "source": "log",
        "log": f"{day}:{begin + change.end}",
    }


def _remember(state: State, cursor: Cursor) -> None:
    """Record the position, and beside it the last one in the log of an earlier day."""
    known = state.read_published(CURSOR)
    if known.get("day") == cursor.day:
        before = known.get(_BEFORE)
    else:
        before = {name: known.get(name) for name in Cursor._fields} if known else None
    data = {**cursor._asdict(), **({_BEFORE: before} if before else {})}
    if known != data:
        state.publish(CURSOR, data, shared=False)


def _days_since(logs: Path, day: str, today: str) -> list[str]:
    names = (path.name for path in logs.iterdir()) if logs.is_dir() else ()
    return [name for name in names if len(name) == len(today) and name.isdigit() and day < name <= today]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _last_of(path: Path, today: str) -> Mapping[str, Any]:
    """The last entry that was copied from a log up to today's, among the last ones of the file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        try:
            entry = parse_json(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and "log" in entry and str(entry["log"]).partition(":")[0] <= today:
            return entry
    return {}


def _whole(value: object) -> int:
    try:
        number = int(str(value))
    except ValueError:
        return 0
    return number if 0 <= number < _MOST_OFFSET else 0
