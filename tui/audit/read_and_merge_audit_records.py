"""The audit as records: one for each change with its outcome, newest first.

The records come from this user's file and, where it is readable, from the one that all administrators share; lines of
one change are joined by its number, and a request that the server recorded or logged to the console's record of the
same command. Any user can write into the log, so each record says where it is from.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from hooks.audit.shared_audit_file import RECORDED
from hooks.store.bounded_json import parse_json
from tui.audit.audit_file import UNCONFIRMED
from tui.audit.request_of_command import QMGR_WORDS
from tui.config.match_server_names import goes_by

CONSOLE, REQUEST, LOG = "console", "request", "log"
DONE = "done"
_MOST_BYTES = 2 << 20
_SENDING = "sending"
_SAME_S = 15.0
"""At most so many seconds lie between a console's record and the server's log entry of the same request."""
_PLACE = re.compile(r"[0-9]{8}:[0-9]+")
"""The day of a server log, and a byte in it."""
_SCHEDULER = re.compile(r"^set sched \S+ (?=\S+ ?=)")
"""Removes the scheduler's name, which the server's log does not show."""


class AuditRecord(NamedTuple):
    """One change; ``stage`` is done, failed, refused or unconfirmed; texts are as they were written."""

    number: int
    time_s: float
    stage: str
    user: str
    origin: str
    server: str
    command: str
    before: str
    after: str
    reply: str
    change: str = ""
    source: str = CONSOLE
    """:data:`CONSOLE`, with the value before and after; :data:`REQUEST`, recorded by the server's hook as PBS got it;
    :data:`LOG`, a line of the server's log, which any user can forge."""

    @property
    def logged(self) -> bool:
        """Known from the server only, which has the request but not the value before it."""
        return self.source != CONSOLE


def read_trail(path: Path, shared: Path | None, names: Collection[str]) -> list[AuditRecord]:
    """The changes to the server of these names in the ends of the files, newest first; none if there are no files.

    A user's file has changes to all servers. The shared file is in the server's PBS_HOME, so its lines copied from the
    log are of that server whatever host it ran on. Raises OSError for the user's file.
    """
    own = [record for record in _records(_lines(path), copied=False) if goes_by(names, record.server)]
    if shared is None:
        return [record._replace(number=number) for number, record in enumerate(own)][::-1]
    try:
        others = [r for r in _records(_lines(shared), copied=True) if r.logged or goes_by(names, r.server)]
    except OSError:
        others = []
    numbers = {record.change for record in own if record.change}
    unlogged = [*own, *(record for record in others if not record.logged and record.change not in numbers)]
    found = sorted(
        _with_logged(unlogged, [record for record in others if record.logged]), key=lambda record: record.time_s
    )
    return [record._replace(number=number) for number, record in enumerate(found)][::-1]


def read_recorded_since_s(shared: Path | None) -> float | None:
    """Since when the server records requests, by the last pass that looked; None if it does not, or if no file says
    so."""
    if shared is None:
        return None
    try:
        since_s = parse_json(shared.with_name(RECORDED).read_text(encoding="utf-8"))["since_s"]
        return float(since_s) if since_s is not None else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_problem(shared: Path | None) -> str:
    """Why the shared file cannot be read; empty if it can, or if there is none."""
    if shared is None:
        return ""
    try:
        with shared.open("rb"):
            return ""
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{shared}: {error.strerror}"


def _with_logged(unlogged: list[AuditRecord], logged: list[AuditRecord]) -> list[AuditRecord]:
    """The consoles' records and those log entries that match none of them. An unconfirmed record that matches one
    becomes done."""
    left: dict[tuple[str, str], list[int]] = {}
    for index, record in enumerate(unlogged):
        left.setdefault((record.user.partition(" ")[0], _plain(record.command)), []).append(index)
    found = list(unlogged)
    # What the server recorded comes before what anyone may have written into its log.
    for entry in sorted(logged, key=lambda record: record.source == LOG):
        same = left.get((entry.user, _plain(entry.command)), [])
        match = next((index for index in same if abs(unlogged[index].time_s - entry.time_s) <= _SAME_S), None)
        if match is None:
            found.append(entry)
            continue
        same.remove(match)
        if found[match].stage == UNCONFIRMED:
            where = "the server recorded it" if entry.source == REQUEST else "the server's log has it"
            reply = "; ".join(filter(None, (f"never confirmed to the console, but {where}", entry.reply)))
            found[match] = found[match]._replace(stage=entry.stage, reply=reply)
    return found


def _plain(command: str) -> str:
    """What a command changes, in one spelling: the words of a qmgr line, or a program and its last argument."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    if not words:
        return ""
    if words[0] == "qmgr" or words[0] in QMGR_WORDS:
        words = _SCHEDULER.sub("set sched ", words[-1] if words[0] == "qmgr" else command).split()
    else:
        words = [words[0], words[-1].partition(".")[0]]
    return "".join(words).replace('"', "").replace("'", "").lower()


def _lines(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _MOST_BYTES))
            return file.read(_MOST_BYTES).splitlines()
    except FileNotFoundError:
        return []


def _records(lines: Iterable[bytes], *, copied: bool) -> list[AuditRecord]:
    """The records of a file. ``copied``: it has entries of the server: those that its hook recorded, and those that
    passes copied from its log, with their place in it. A user's own file has none, whatever its lines say: that user
    may write anything into it."""
    records: list[AuditRecord] = []
    open_ones: dict[tuple[str, ...], int] = {}
    for line in lines:
        record = _record(line, len(records), copied=copied)
        if record is None:
            continue
        # Older lines have no change number; they are matched by user, server and command.
        key = (record.change,) if record.change else (record.user, record.server, record.command)
        if record.stage == _SENDING:
            open_ones[key] = len(records)
            records.append(record._replace(stage=UNCONFIRMED))
        elif key in open_ones and not record.logged:
            number = open_ones.pop(key)
            records[number] = record._replace(number=number, before=record.before or records[number].before)
        else:
            records.append(record)
    return records


def _record(line: bytes, number: int, *, copied: bool) -> AuditRecord | None:
    """The record of one line; None if the line is incomplete or no record."""
    try:
        data: Mapping[str, Any] = parse_json(line)
        time_s = datetime.fromisoformat(str(data["time"])).timestamp()
        texts = [str(data.get(name, "")) for name in ("stage", "user", "origin", "server")]
        rest = [str(data.get(name, "")) for name in ("command", "before", "after", "reply")]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    source = _source_of(data) if copied else CONSOLE
    stage, user, origin, server = texts
    command, before, after, reply = rest
    change = str(data.get("change", ""))
    return AuditRecord(number, time_s, stage, user, origin, server, command, before, after, reply, change, source)


def _source_of(entry: Mapping[str, Any]) -> str:
    """Where an entry of the shared file is from."""
    if _PLACE.fullmatch(str(entry.get("log", ""))):
        return LOG
    return REQUEST if entry.get("source") == REQUEST else CONSOLE
