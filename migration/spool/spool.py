"""The queue files of one cluster: they are changed under a lock, and each change is on disk before the next.

A move writes the new file before it shortens the old one: a kill leaves the job in both, never in none, and the next
change corrects that. An unreadable line goes to ``bad.q`` before the file is written without it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from hooks.store.atomic_file import replace_file
from migration.spool.file_lock import LockHeldError, file_lock
from migration.spool.find_records_by_value import find_lines
from migration.spool.public_queue_copy import find_readable, is_stale, write_shown
from migration.spool.queue_file import (
    MODE,
    BadLine,
    Loaded,
    Queue,
    append_bad,
    load,
    read_bad,
    save,
    stamp_of,
    with_records,
    without_records,
)
from policy.migration.job_record_and_copy_updates import Record, split_gid

BAD = "bad.q"
INCOMING = "incoming"
JOBS = "jobs"
_LOCK = "lock"
_SERIAL = "serial"
_LOCK_WITHIN_S = 30.0
_ORDER = tuple(Queue)


class SpoolError(Exception):
    """The files cannot be used; the message names the folder or the file."""


class StaleRecordError(SpoolError):
    """The file has a newer copy of the record."""


class Spool:
    """The folder of the queue files. Reading takes no lock, since files are replaced whole."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._loaded: dict[Queue, Loaded] = {}

    def read(self, queue: Queue) -> list[Record]:
        """The records of a file, in its order; lines that are none are left out. Raises SpoolError."""
        return list(self._load(queue).records.values())

    def find(self, queue: Queue, field: str, value: str) -> Record | None:
        """The newest record of a file whose text ``field`` is ``value``, its other lines unread. Raises SpoolError."""
        path = find_readable(self.home / queue.value)
        try:
            return max(find_lines(path, field, value), key=lambda record: record.age, default=None)
        except OSError as error:
            raise SpoolError(f"{path}: {error.strerror}") from error

    def read_sizes(self, queue: Queue) -> dict[str, int]:
        """The bytes of each job's line in a file. Raises SpoolError."""
        return {gid: len(line) for gid, line in self._load(queue).lines.items()}

    def read_bad(self) -> list[BadLine]:
        """Lines that could not be read: those put aside, and those that still stand in a file."""
        still = [bad for queue in Queue for bad in self._load(queue).bad]
        return [*read_bad(self.home / BAD), *still]

    def job_folder(self, gid: str) -> Path:
        """The folder of one job's logs, manifest and lease. Raises ValueError for what is no job id."""
        split_gid(gid)
        return self.home / JOBS / gid

    @contextlib.contextmanager
    def change(self, within_s: float = _LOCK_WITHIN_S) -> Iterator[Change]:
        """Hold the lock and change files. Never held during a call to another host or to a scheduler.

        Raises :class:`SpoolError` when another process holds it for ``within_s``.
        """
        with self._locked(within_s):
            change = Change(self)
            change.mend()
            yield change

    @contextlib.contextmanager
    def _locked(self, within_s: float) -> Iterator[None]:
        path = self.home / _LOCK
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(file_lock(path, within_s))
            except LockHeldError as held:
                raise SpoolError(str(held)) from held
            except OSError as error:
                raise SpoolError(f"{path}: {error.strerror}") from error
            yield

    def _load(self, queue: Queue) -> Loaded:
        path = find_readable(self.home / queue.value)
        before = self._loaded.get(queue)
        try:
            if before is not None and before.stamp == stamp_of(path):
                return before
            loaded = load(path, before)
        except OSError as error:
            raise SpoolError(f"{path}: {error.strerror}") from error
        self._loaded[queue] = loaded
        return loaded

    def _save(self, queue: Queue, records: dict[str, Record], lines: dict[str, str]) -> None:
        path = self.home / queue.value
        loaded = self._load(queue)
        try:
            if loaded.bad:
                append_bad(self.home / BAD, loaded.bad)
            self._loaded[queue] = save(path, records, lines)
        except OSError as error:
            raise SpoolError(f"{path}: {error.strerror}") from error


class Change:
    """What may be done while the lock is held. Each method is durable when it returns."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool

    def find(self, gid: str) -> tuple[Queue, Record] | None:
        """Where a job is, and its record."""
        for queue in reversed(_ORDER):
            record = self._spool._load(queue).records.get(gid)
            if record is not None:
                return queue, record
        return None

    def records(self, queue: Queue) -> list[Record]:
        """The records of a file, in its order."""
        return self._spool.read(queue)

    def put(self, queue: Queue, record: Record) -> None:
        """Add the record, or replace the job's. Raises :class:`StaleRecordError` if the file's copy is newer."""
        self.put_all(queue, [record])

    def put_all(self, queue: Queue, records: list[Record]) -> None:
        """All or none of several records, as one write."""
        loaded = self._spool._load(queue)
        for record in records:
            there = loaded.records.get(record.gid)
            if there is not None and there.age > record.age:
                raise StaleRecordError(
                    f"{self._spool.home / queue.value}: {record.gid}: attempt {there.attempt}, rev {there.rev} is "
                    f"newer than attempt {record.attempt}, rev {record.rev}"
                )
        changed, lines = with_records(loaded, records)
        if lines != loaded.lines:
            self._spool._save(queue, changed, lines)

    def move(self, old: Queue, new: Queue, record: Record) -> None:
        """Put the record into ``new``, then take the job out of ``old``."""
        self.put(new, record)
        self.remove(old, record.gid)

    def move_all(self, old: Queue, new: Queue, records: list[Record]) -> None:
        """Put the records into ``new``, then take their jobs out of ``old``: two writes, however many there are."""
        self.put_all(new, records)
        self.remove(old, *(record.gid for record in records))

    def remove(self, queue: Queue, *gids: str) -> None:
        """Take jobs out of a file; those that are not there are no error."""
        loaded = self._spool._load(queue)
        if any(gid in loaded.records for gid in gids):
            self._spool._save(queue, *without_records(loaded, gids))

    def next_gids(self, source: str, count: int) -> list[str]:
        """New job ids; their serials are on disk before they are given out, and are never given out again."""
        path = self._spool.home / _SERIAL
        try:
            last = int(path.read_text("ascii"))
        except FileNotFoundError:
            last = self._lost_serial() if any(map(self._spool.read, Queue)) else 0
        except (OSError, ValueError):
            last = self._lost_serial()
        try:
            replace_file(path, f"{last + count}\n".encode("ascii"), mode=MODE)
        except OSError as error:
            raise SpoolError(f"{path}: {error.strerror}") from error
        return [f"{source}.{last + number}" for number in range(1, count + 1)]

    def _lost_serial(self) -> int:
        """Where to go on when the serial file is gone: above every serial in a file, and above those of records that
        are no longer kept, since no cluster gives out one a second from 1970 on."""
        ids = [split_gid(record.gid)[1] for queue in Queue for record in self._spool.read(queue)]
        return max(int(time.time()), *ids, 0)

    def mend(self) -> None:
        """Put bad lines aside, write copies that are old, and take jobs that a crash left in two files out of the older
        one.
        """
        for queue in Queue:
            loaded = self._spool._load(queue)
            path = self._spool.home / queue.value
            if loaded.bad:
                self._spool._save(queue, loaded.records, loaded.lines)
            elif is_stale(path):
                write_shown(path, loaded.lines.values())
        for earlier, later in combinations(Queue, 2):
            first, second = self._spool._load(earlier).records, self._spool._load(later).records
            twice = first.keys() & second.keys()
            older = [gid for gid in twice if first[gid].age > second[gid].age]
            self.remove(later, *older)
            self.remove(earlier, *twice.difference(older))
