"""Finds the files of a PBS accounting log and reads their lines as records, in order of time.

A log is a folder of daily files named YYYYMMDD, plain or gzipped, or any such files by name. A record is a line
`MM/DD/YYYY HH:MM:SS;TYPE;ID;TEXT` in the server's local time (PBS Professional Administrator's Guide, "Accounting");
only a record whose text contains a line end, which PBS allows in an account string, takes several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from sim.traces.read_plain_or_gzip_lines import read_lines

_DAILY = re.compile(r"[0-9]{8}(\.gz)?")
# PBS writes all of a job's vnodes into one line; a job on a hundred thousand of them stays below this.
_LONGEST_LINE_BYTES = 1 << 24
_HEADER = re.compile(
    rb"([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2});([A-Za-z]);([^;]{1,1024});(.*)", re.DOTALL
)
_TIMES = re.compile(rb" ctime=[0-9]+ qtime=[0-9]+ ")
_DESCRIBING = frozenset("QSER")
_MOST_CONTINUED = 100
_LINES_LOOKED_AT = 50


class AccountingError(ValueError):
    """The log cannot be read as a whole; the message names the file or folder, and why."""


class LinePosition(NamedTuple):
    """The place of a record: its file, and the number of its first line there."""

    file: str
    line: int


class AccountingRecord(NamedTuple):
    """A line in the form of a record. `stamp_s` is its local time, counted as if it were UTC."""

    stamp_s: int
    kind: str
    id: bytes
    text: bytes
    place: LinePosition


class UnreadableLine(NamedTuple):
    """A line that is not a record, and why."""

    cause: str
    place: LinePosition


def find_files(paths: Sequence[Path]) -> list[Path]:
    """The files of a log in order of time: the daily files of each folder, and the files named.

    Raises AccountingError for a folder without daily files, for a file that occurs twice, for what cannot be read and,
    where several paths are given, for a file that is no accounting log.
    """
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            if len(paths) > 1 and not _is_log(path):
                raise AccountingError(
                    f"{path}: no accounting log: none of its first {_LINES_LOOKED_AT} lines is a record; several files"
                    " are read as the files of one accounting log, so give a trace of another form alone"
                )
            files.append(path)
            continue
        daily = sorted(file for file in _listed(path) if _DAILY.fullmatch(file.name) and file.is_file())
        if not daily:
            raise AccountingError(f"{path}: no accounting files in it: they are named YYYYMMDD or YYYYMMDD.gz")
        files += daily
    by_day: dict[str, Path] = {}
    for file in files:
        day = str(file.resolve()).removesuffix(".gz")
        if day in by_day:
            raise AccountingError(f"{by_day[day]} and {file}: the same records twice: give one of them")
        by_day[day] = file
    return sorted(files, key=lambda file: (_first_stamp_s(file), str(file)))


def is_accounting(path: Path) -> bool:
    """True for a folder, and for a file with an accounting record among its first lines."""
    return path.is_dir() or _first_stamp_s(path) > 0


def _is_log(path: Path) -> bool:
    """True for a file with a record among its first lines, and for one without any line, as of a day without jobs."""
    return _first_stamp_s(path) > 0 or not any(True for _ in read_lines(path, _LONGEST_LINE_BYTES, AccountingError))


def read_records(files: Iterable[Path]) -> Iterator[AccountingRecord | UnreadableLine]:
    """Every record of the files, and every line that is not one."""
    for file in files:
        # At most one record whose text continues in the next line, with its lines so far.
        waiting: list[AccountingRecord] = []
        for number, line in enumerate(read_lines(file, _LONGEST_LINE_BYTES, AccountingError), 1):
            if waiting:
                waiting[0] = waiting[0]._replace(text=waiting[0].text + b"\n" + line)
                if _is_whole(waiting[0]) or number - waiting[0].place.line >= _MOST_CONTINUED:
                    yield waiting.pop()
                continue
            if not line.strip():
                continue
            record = _record(line, LinePosition(file.name, number))
            if isinstance(record, UnreadableLine) or _is_whole(record):
                yield record
            else:
                waiting.append(record)
        yield from waiting


def _record(line: bytes, place: LinePosition) -> AccountingRecord | UnreadableLine:
    match = _HEADER.fullmatch(line)
    if match is None:
        return UnreadableLine("not an accounting record", place)
    month, day, year, hour, minute, second = (int(match[group]) for group in range(1, 7))
    try:
        # A leap second counts as the second before it.
        time = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=timezone.utc)
    except ValueError:
        return UnreadableLine("a date or time that does not exist", place)
    return AccountingRecord(int(time.timestamp()), match[7].decode("ascii"), match[8], match[9], place)


def _is_whole(record: AccountingRecord) -> bool:
    """False if an account or project was opened and the times, which PBS writes after them, have not been read yet."""
    text = record.text
    if record.kind not in _DESCRIBING or not (b'account="' in text or b'project="' in text):
        return True
    return _TIMES.search(text) is not None


def _first_stamp_s(file: Path) -> int:
    """The time of the first record among the first lines; 0 where there is none."""
    for number, line in enumerate(read_lines(file, _LONGEST_LINE_BYTES, AccountingError), 1):
        if isinstance(record := _record(line, LinePosition(file.name, number)), AccountingRecord):
            return record.stamp_s
        if number == _LINES_LOOKED_AT:
            break
    return 0


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise AccountingError(f"{folder}: cannot be read: {error.strerror or error}") from error
