"""Locks a folder by a file in it: for one process at a time, until that unlocks it or ends in whatever way.

The passes' folder and the folders in which consoles keep a user's files are locked so.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

LOCK = "lock"


def open_lock(folder: Path) -> int:
    """Open the folder's lock file, which is made if missing. Raises OSError."""
    return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextlib.contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Lock by an open lock file, which is closed in the end. Raises BlockingIOError at once if another process has
    locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        # Unlock explicitly: child processes hold copies of the descriptor, which closing alone would leave locked.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
