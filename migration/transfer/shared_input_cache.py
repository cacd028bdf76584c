"""Shared input: a file that several jobs read is copied to the target once, and stays there read-only.

A version is (source, real path, size, time). The first job copies it under a lock and renames it into place when it is
whole; jobs that come meanwhile wait for the copy.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable, NamedTuple

from migration.as_user.user_files.fit_file_name import fit_path
from migration.spool.file_lock import LockHeldError, path_lock
from migration.transfer.json_from_source import check_path, check_size, check_text, check_time_ns
from migration.transfer.ssh_and_rsync_to_source import Connection, StoppedError, TransferError, shared_word

_PART = ".mg-part"
_LOOK_EVERY_S = 0.2
_LOCK_WITHIN_S = 0.5
"""The time in which another process sees that the copy is there."""
_VERSION = re.compile(r"(?:\.mg-[0-9]+)+$")


class SharedFile(NamedTuple):
    """A file of shared input at the source, and the link in the job's folder that leads to it ("" for none)."""

    link: str
    path: str
    size: int
    mtime_ns: int

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> SharedFile:
        """From a survey. Raises ValueError, KeyError or TypeError."""
        link, path, size, mtime_ns = (data[name] for name in cls._fields)
        if not check_text(path).startswith("/"):
            raise ValueError(f"shared file {path!r:.200}: must be an absolute path")
        check_path(path[1:])
        return cls(link if link == "" else check_path(link), path, check_size(size), check_time_ns(mtime_ns))


class ComingError(Exception):
    """Another job's process brings the file; ``lock`` is the path whose lock it holds until then."""

    def __init__(self, file: SharedFile, lock: str) -> None:
        super().__init__(f"{file.path} is being brought by another job")
        self.lock = lock


class Placed(NamedTuple):
    """A copy at the target, and the bytes that it took to have it there (0: it was there)."""

    path: str
    received_bytes: int


def bring_shared(
    connection: Connection,
    home: Path,
    landing: str,
    below: str,
    file: SharedFile,
    timeout_s: float,
    note: Callable[[str], None],
) -> Placed:
    """Copy this version of the file to below ``landing``/``below``, unless it is there. ``note`` gets its path before
    it can be used. Raises :class:`TransferError`, and :class:`ComingError` where another process works on the file."""
    mirrored = f"{below}{file.path}"
    lock = lock_of(f"{landing}/{mirrored}")
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(path_lock(home, lock, _LOCK_WITHIN_S))
        except LockHeldError:
            raise ComingError(file, lock) from None
        version = [str(file.size), str(file.mtime_ns)]
        done = connection.run(["shared", landing, mirrored, *version], user=connection.user)
        if done.status:
            raise TransferError(f"{file.path}: {done.problem}")
        path, is_there = json.loads(done.out)
        note(path)
        if is_there:
            return Placed(path, 0)
        folder, _, part = fit_path(path, _PART).rpartition("/")
        received = connection.fetch(shared_word(file.path), folder, timeout_s, name=part)
        done = connection.run(["place", f"{folder}/{part}", path, *version], user=connection.user)
        if done.status:
            raise TransferError(f"{file.path}: {done.problem}")
        return Placed(path, received)


def lock_of(path: str) -> str:
    """The path whose lock is that of a copy: all versions of a file have one."""
    return _VERSION.sub("", path)


@contextlib.contextmanager
def locked_path(home: Path, path: str, stopped: Callable[[], bool]) -> Iterator[None]:
    """Hold the lock of one path, however long another job's process has it, unless the job is stopped meanwhile."""
    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(path_lock(home, path, _LOOK_EVERY_S))
                break
            except LockHeldError:
                if stopped():
                    raise StoppedError from None
        yield
