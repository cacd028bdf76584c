"""Shared input: a file that several jobs read is copied to the target once, and stays there unchanged.

A version is (source, real path, size, time). The first job copies it under a lock; others wait for the lock and find
the copy. A copy is renamed into place when it is whole, and is read-only.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple

from migration.transfer.connection import Connection, StoppedError, TransferError, shared_word

_LOCKS = "locks"
_PART = ".mg-part"


class SharedFile(NamedTuple):
    """A file of shared input at the source, and the link in the job's folder that leads to it ("" for none)."""

    link: str
    path: str
    size: int
    mtime_ns: int

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> SharedFile:
        """From a survey. Raises ValueError."""
        link, path, size, mtime_ns = (data.get(name) for name in cls._fields)
        if not (isinstance(link, str) and isinstance(path, str) and path.startswith("/")):
            raise ValueError(f"shared file {path!r:.200}: must be an absolute path")
        if not (isinstance(size, int) and isinstance(mtime_ns, int)):
            raise ValueError(f"shared file {path!r:.200}: size and time must be whole numbers")  # noqa: TRY004 - data
        return cls(link, path, size, mtime_ns)


class Placed(NamedTuple):
    """A copy at the target, and the bytes that it took to have it there (0: it was there)."""

    path: str
    received_bytes: int


def bring_shared(
    connection: Connection, home: Path, landing: str, below: str, file: SharedFile, timeout_s: float
) -> Placed:
    """Have this version of the file below ``landing``/``below``. Raises :class:`TransferError`."""
    mirrored = f"{below}{file.path}"
    with _locked(home, f"{landing}/{mirrored}", connection.stopped):
        version = [str(file.size), str(file.mtime_ns)]
        done = connection.run(["shared", landing, mirrored, *version], user=connection.user)
        if done.status:
            raise TransferError(f"{file.path}: {done.problem}")
        path, is_there = json.loads(done.out)
        if is_there:
            return Placed(path, 0)
        received = connection.fetch(shared_word(file.path), f"{path}{_PART}", timeout_s)
        done = connection.run(["place", f"{path}{_PART}", path, *version], user=connection.user)
        if done.status:
            raise TransferError(f"{file.path}: {done.problem}")
        return Placed(path, received)


def unnamed(paths: Sequence[str], others: Sequence[Sequence[str]]) -> list[str]:
    """The copies that none of the other jobs names."""
    named = {path for other in others for path in other}
    return [path for path in paths if path not in named]


@contextlib.contextmanager
def _locked(home: Path, path: str, stopped: Callable[[], bool]) -> Iterator[None]:
    """Hold the lock of one path: a file of the service's, so that no user can keep it. It ends with the process."""
    folder = home / _LOCKS
    folder.mkdir(exist_ok=True)
    name = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if stopped():
                    raise StoppedError from None
                time.sleep(0.2)
        yield
    finally:
        os.close(descriptor)
