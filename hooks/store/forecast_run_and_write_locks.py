"""Two locks of forecasts in the passes' folder: one forecast is made at a time, and none is written during a removal.

The first is held as long as a forecast is made, the second only for each write. Their files are made by a pass: a
process that still forecasts while the folder is removed finds none, and writes nothing more.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

MAKING = "forecast.lock"
WRITING = "forecast-write.lock"


def make_lock_files(folder: Path) -> None:
    """Make both files; called by a pass, which has locked the folder. Raises OSError."""
    for name in (MAKING, WRITING):
        os.close(os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def open_lock_file(folder: Path, name: str) -> int:
    """Open one of them. Raises FileNotFoundError once the folder was removed."""
    return os.open(folder / name, os.O_RDWR | os.O_CLOEXEC)


@contextlib.contextmanager
def writing(descriptor: int) -> Iterator[None]:
    """Lock for a write, as soon as no other process has the lock. Raises FileNotFoundError if the folder was removed
    meanwhile."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        if not os.fstat(descriptor).st_nlink:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), WRITING)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextlib.contextmanager
def no_forecast_written(folder: Path) -> Iterator[None]:
    """No forecast is written to the folder meanwhile."""
    try:
        descriptor = open_lock_file(folder, WRITING)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # Unlock explicitly: a child process may hold a copy of the descriptor.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
