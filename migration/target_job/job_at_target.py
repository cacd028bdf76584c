"""One job at its target: its record, which only changes under the lock, and its files here."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hooks.store.atomic_file import replace_file
from migration.protocol.message_lines_and_fields import MOST_TEXT
from migration.spool.file_lock import is_path_locked
from migration.spool.queue_file import Queue
from migration.target_job.read_exit_status import read_exit_status
from migration.target_job.service_context import Site
from migration.transfer.ssh_and_rsync_to_source import Connection, TransferError
from migration.transfer.upload_manifest_and_changed_files import Manifest, read_manifest
from policy.migration.job_record_and_copy_updates import Record, advance, amend
from policy.migration.job_states_and_transitions import ABORTED, DOWNLOADING, REQUESTED, UPLOADING
from policy.model.printable_text import printable

DISCARD = "discard"
MANIFEST = "manifest"
SHARED = "shared"
GONE = "gone"
_DUE = "due"
_RETURNING = "returning"
_ARRIVED = "arrived"
_AWAITED = "awaited"
_APART = "apart"
_UNCLEAR = "unclear"
_LOG = "upload.log"
GAVE_UP = "results could not be brought back: "
_PASSING = "tried again: "
_MOST_LOG = 1 << 20


class GoneError(Exception):
    """The job is no longer this cluster's, or no longer in the state in which it was read."""


def key_path(site: Site, record: Record) -> Path:
    """The private key for the data of this attempt."""
    return site.spool.job_folder(record.gid) / f"datakey.{record.attempt}"


class Job:
    """A job in received.q."""

    def __init__(self, site: Site, gid: str) -> None:
        self.site = site
        self.folder = site.spool.job_folder(gid)
        self.record = self._read(gid)
        self._is_unsubmitted = False

    def _read(self, gid: str) -> Record:
        for record in self.site.spool.read(Queue.RECEIVED):
            if record.gid == gid:
                return record
        raise GoneError(gid)

    def refresh(self) -> Record:
        """The record as it stands now. Raises :class:`GoneError`."""
        self.record = self._read(self.record.gid)
        return self.record

    def is_stopped(self) -> bool:
        """Whether the user has stopped it, or it is gone from here."""
        try:
            return bool(self.refresh().stop)
        except GoneError:
            return True

    def advance(self, event: str, **changes: Any) -> Record:
        """Change the state; a job that is over here goes to done.q. Raises :class:`GoneError`."""
        return self._change(event, changes)

    def amend(self, **changes: Any) -> Record:
        """Change other facts. Raises :class:`GoneError`."""
        return self._change("", changes)

    def _change(self, event: str, changes: dict[str, Any]) -> Record:
        before, now_s = self.record, self.site.now()
        if "reason" in changes:
            # It names users' files, and the source takes no reply with a longer one.
            changes["reason"] = printable(changes["reason"])[:MOST_TEXT]
        with self.site.spool.change() as change:
            found = change.find(before.gid)
            if found is None or found[0] is not Queue.RECEIVED:
                raise GoneError(before.gid)
            there = found[1]
            if (there.state, there.attempt) != (before.state, before.attempt):
                raise GoneError(before.gid)
            after = advance(there, event, now_s, **changes) if event else amend(there, **changes)
            if after.final or after.state == REQUESTED:
                change.move(Queue.RECEIVED, Queue.DONE, after)
            else:
                change.put(Queue.RECEIVED, after)
        self.record = after
        self._is_unsubmitted = event == "submit"
        if event:
            self.log(f"{before.state} -> {after.state}{f': {after.reason}' if after.reason else ''}")
        return after

    def take_first_submission(self) -> bool:
        """Whether no local job can be there yet, since this process has just led the job to Submitted; true once."""
        first, self._is_unsubmitted = self._is_unsubmitted, False
        return first

    def give_back(self, reason: str, *, excluded: bool = False) -> None:
        """Return the job to its source: it has not run here, and this cluster comes last, or not at all."""
        this = self.site.file.this.name
        avoid = (*self.record.avoid, this) if excluded and this not in self.record.avoid else self.record.avoid
        self.advance("given-back", reason=reason, last=this, avoid=avoid, localid="")

    def fail(self, reason: str) -> None:
        """Processing has failed: what there is comes back first."""
        self.advance("failed", reason=reason, then=ABORTED, tries=0)
        self.set_due(0)

    def retry(self, reason: str, in_s: float) -> None:
        """Record a failure that may pass, and when the step is tried again. The reason for a job's return is kept."""
        self.set_due(in_s)
        shown = "; ".join(filter(None, (self.lasting_reason, f"{_PASSING}{reason}")))
        self.amend(reason=shown, tries=self.record.tries + 1)
        self.log(f"{self.record.state}: {reason}; tried again in {in_s:.0f} s")

    def count_unclear(self) -> int:
        """Count one more submission of this state that has ended without an answer of the scheduler. Other failures are
        tries too."""
        name = f"{_UNCLEAR}-{self.record.state}"
        counted = int(_number(self._path(name))) + 1
        self._write(name, f"{counted}\n".encode("ascii"))
        return counted

    @property
    def lasting_reason(self) -> str:
        """The record's reason without the step that is tried again."""
        return find_lasting(self.record.reason)

    def set_due(self, in_s: float) -> None:
        """When the next step is due."""
        self._write(_DUE, f"{self.site.now() + in_s:.0f}\n".encode("ascii"))

    @property
    def rests(self) -> bool:
        """Whether the next step is not to be done yet."""
        return rests(self.site, self.record)

    def set_awaited(self, path: str) -> None:
        """Let the next step be due once no process holds the lock of this path. An empty one is awaited no more."""
        if path:
            self._write(_AWAITED, path.encode("utf-8", "surrogateescape"))
        else:
            self._path(_AWAITED).unlink(missing_ok=True)

    @contextlib.contextmanager
    def connection(self) -> Iterator[Connection]:
        """The way to the job's source, which is closed at the end of the block. Raises OSError without its key."""
        source = self.site.file.other(self.record.src)
        if source is None or not source.ssh:
            raise OSError(f"cluster {self.record.src}: is no longer in the cluster file")
        limit = source.bwlimit_kib or self.site.file.limits.bwlimit_kib
        key = key_path(self.site, self.record).read_bytes()
        connection = Connection(self.site.run, self.record.account, source.ssh, key, limit, self._look_for_stop)
        try:
            yield connection
        finally:
            connection.close()

    def _look_for_stop(self) -> bool:
        """A download goes on after mgstop, since it is what mgstop waits for; --discard cuts it."""
        record = self.record
        try:
            now = self._read(record.gid)
        except GoneError:
            return True
        self.record = replace(record, stop=now.stop) if now.state == record.state else record
        return now.stop == DISCARD or (bool(now.stop) and now.state != DOWNLOADING)

    def look_here(self, timeout_s: float) -> bytes:
        """The manifest of the job's folder as it is now. Raises TransferError."""
        done = self.site.run(["manifest", self.record.dstdir], user=self.record.account, timeout_s=timeout_s)
        if done.status:
            raise TransferError(f"{self.record.dstdir}: {done.problem}")
        return done.out

    def read_status(self, path: str) -> str:
        """The exit status that a script has left there; empty without one. Raises HungError, UnreadableError."""
        return read_exit_status(self.site.run, path, self.record.account)

    def read_manifest(self) -> Manifest | None:
        """The manifest of the upload; None if it never was complete."""
        try:
            return read_manifest(self._path(MANIFEST).read_bytes())
        except FileNotFoundError:
            return None

    def write_manifest(self, data: bytes) -> None:
        """Store the manifest of the upload."""
        self._write(MANIFEST, data)

    def read_arrived(self) -> bytes | None:
        """The note made when the job's own folder had arrived whole; None if it has not."""
        try:
            return self._path(_ARRIVED).read_bytes()
        except FileNotFoundError:
            return None

    def write_arrived(self, data: bytes | None) -> None:
        """Note that the job's own folder has arrived whole, or with None that it is to be copied anew."""
        if data is None:
            self._path(_ARRIVED).unlink(missing_ok=True)
        else:
            self._write(_ARRIVED, data)

    def set_apart(self) -> None:
        """Note that the folder is not to come with those of other jobs."""
        self._write(_APART, b"")

    @property
    def is_apart(self) -> bool:
        """Whether the job's folder comes by itself."""
        return self._path(_APART).exists()

    def note_shared(self, paths: list[str]) -> None:
        """Note the shared files that the job names, before they are used."""
        self._write(SHARED, json.dumps(paths).encode("ascii"))

    def log(self, text: str) -> None:
        """Add a line to the job's log."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.site.now()))
        path = self.folder / _LOG
        with contextlib.suppress(OSError):
            if not path.exists() or path.stat().st_size < _MOST_LOG:
                with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(f"{stamp} {text}\n")

    def gone_for_s(self) -> float:
        """Seconds since the job was first seen to be gone from the scheduler."""
        path = self._path(GONE)
        if not path.exists():
            self._write(GONE, f"{self.site.now():.0f}\n".encode("ascii"))
        return self.site.now() - _number(path)

    def is_back(self) -> None:
        """The scheduler knows the job after all."""
        self._path(GONE).unlink(missing_ok=True)

    def set_returning(self) -> None:
        """Note that the local job is about to be deleted since it has not started."""
        self._write(_RETURNING, b"")

    @property
    def is_returning(self) -> bool:
        """Whether the local job was deleted, or was about to be, since it had not started."""
        return self._path(_RETURNING).exists()

    def _path(self, name: str) -> Path:
        """A file of this attempt; files of earlier attempts do not count."""
        return self.folder / f"{name}.{self.record.attempt}"

    def _write(self, name: str, data: bytes) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._path(name), data)


def find_lasting(reason: str) -> str:
    """The part of a reason that still holds when the failed step is tried again."""
    for mark in (_PASSING, GAVE_UP):
        reason = reason.partition(mark)[0].rstrip("; ")
    return reason


def rests(site: Site, record: Record) -> bool:
    """Whether the job's next step is not to be done yet: it is tried again later, or the shared file that its upload
    needs is being brought by another job's process. That holds for no longer than an upload may take.
    """
    folder = site.spool.job_folder(record.gid)
    return _number(folder / f"{_DUE}.{record.attempt}") > site.now() or awaits_shared(site, record)


def awaits_shared(site: Site, record: Record) -> bool:
    """Whether the upload only waits for a shared file that another job's process is bringing."""
    folder = site.spool.job_folder(record.gid)
    if record.state != UPLOADING or site.now() - record.since >= site.file.limits.upload_timeout_s:
        return False
    try:
        awaited = (folder / f"{_AWAITED}.{record.attempt}").read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return False
    return is_path_locked(site.home, awaited)


def _number(path: Path) -> float:
    try:
        return float(path.read_text("ascii"))
    except (OSError, ValueError):
        return 0.0
