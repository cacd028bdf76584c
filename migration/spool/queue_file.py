"""One queue file in memory: its records by job id in the order of the file, and its lines that are not records."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from hooks.store.atomic_file import replace_file
from migration.spool.public_queue_copy import write_shown
from migration.spool.record_as_key_value_line import LineError, decode, encode, from_line, to_line, to_pairs
from policy.migration.job_record_and_copy_updates import Record


class Queue(Enum):
    """The queue files. Of a job that a crash left in two, the copy with the larger (attempt, rev) holds; of equal
    copies the one later in this list.
    """

    REQUEST = "request.q"
    RECEIVED = "received.q"
    SENT = "sent.q"
    DONE = "done.q"


class BadLine(NamedTuple):
    """A line that is no record: the file, why, and its bytes as text."""

    file: str
    why: str
    line: str


class Loaded(NamedTuple):
    """A file as read. ``stamp`` changes whenever the file is replaced."""

    stamp: tuple[int, ...]
    records: dict[str, Record]
    lines: dict[str, str]
    bad: tuple[BadLine, ...]


MODE = 0o640
"""Of the spool's files: other users read the copies in ``shown``."""

_ABSENT = (0,)


def stamp_of(path: Path) -> tuple[int, ...]:
    """What changes whenever the file is replaced."""
    try:
        info = path.stat()
    except FileNotFoundError:
        return _ABSENT
    return info.st_ino, info.st_mtime_ns, info.st_size


def load(path: Path, before: Loaded | None) -> Loaded:
    """The file's records; lines that ``before`` has too are not read again. Raises OSError."""
    try:
        with path.open("rb") as file:
            info = os.fstat(file.fileno())
            data = file.read()
    except FileNotFoundError:
        return Loaded(_ABSENT, {}, {}, ())
    known = {} if before is None else {line: before.records[gid] for gid, line in before.lines.items()}
    records: dict[str, Record] = {}
    lines: dict[str, str] = {}
    bad: list[BadLine] = []
    *whole, cut = data.split(b"\n")
    for raw in filter(None, whole):
        text = raw.decode("utf-8", "surrogateescape")
        try:
            record = known.get(text) or from_line(text)
        except LineError as error:
            bad.append(BadLine(path.name, str(error), text))
            continue
        earlier = records.get(record.gid)
        if earlier is not None:
            kept, lost = (text, lines[record.gid]) if record.age > earlier.age else (lines[record.gid], text)
            if lost != kept:
                bad.append(BadLine(path.name, f"{record.gid}: stands twice; the newer line is kept", lost))
            if kept != text:
                continue
        records[record.gid] = record
        lines[record.gid] = text
    if cut:
        # What is left of it may still read as a record, with a wrong last value.
        bad.append(BadLine(path.name, "cut off: the line has no end", cut.decode("utf-8", "surrogateescape")))
    return Loaded((info.st_ino, info.st_mtime_ns, info.st_size), records, lines, tuple(bad))


def save(path: Path, records: dict[str, Record], lines: dict[str, str]) -> Loaded:
    """Replace the file and its copy. Raises OSError; the file is then as it was."""
    replace_file(path, "\n".join([*lines.values(), ""]).encode("ascii"), mode=MODE)
    write_shown(path, lines.values())
    return Loaded(stamp_of(path), records, lines, ())


def with_records(loaded: Loaded, fresh: Iterable[Record]) -> tuple[dict[str, Record], dict[str, str]]:
    """The file's content with the records put in their place, or at the end. Raises LineError for one too long."""
    records, lines = dict(loaded.records), dict(loaded.lines)
    for record in fresh:
        records[record.gid] = record
        lines[record.gid] = to_line(record)
    return records, lines


def without_records(loaded: Loaded, gids: Iterable[str]) -> tuple[dict[str, Record], dict[str, str]]:
    """The file's content without these jobs."""
    records, lines = dict(loaded.records), dict(loaded.lines)
    for gid in gids:
        records.pop(gid, None)
        lines.pop(gid, None)
    return records, lines


def append_bad(path: Path, bad: Iterable[BadLine]) -> None:
    """Add lines to the file of bad ones, each once. Raises OSError."""
    old = path.read_bytes() if path.exists() else b""
    there = set(old.decode("ascii", "replace").splitlines())
    fresh = [line for line in dict.fromkeys(map(_bad_to_line, bad)) if line not in there]
    if fresh:
        replace_file(path, old + "".join(f"{line}\n" for line in fresh).encode("ascii"), mode=MODE)


def read_bad(path: Path) -> list[BadLine]:
    """The bad lines; an unreadable one is returned as it stands."""
    found = []
    lines = path.read_text("ascii", "replace").splitlines() if path.exists() else []
    for line in lines:
        try:
            pairs = to_pairs(line)
            found.append(BadLine(*(decode(pairs[name]) for name in ("file", "why", "line"))))
        except (LineError, KeyError):  # noqa: PERF203 - one bad line hides no other
            found.append(BadLine(path.name, "cannot be read itself", line))
    return found


def _bad_to_line(bad: BadLine) -> str:
    return f"v=1\tfile={encode(bad.file)}\twhy={encode(bad.why)}\tline={encode(bad.line)}"
