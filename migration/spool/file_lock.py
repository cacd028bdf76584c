"""A lock tied to a file, taken within a time limit. It ends with the process that holds it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

_LOOK_EVERY_S = 0.01
_PATHS = "locks"


class LockHeldError(Exception):
    """Another process holds the lock; the message names the file and how long this one has waited."""


@contextlib.contextmanager
def file_lock(path: Path, within_s: float) -> Iterator[None]:
    """Hold the lock. Raises :class:`LockHeldError` if another process holds it for ``within_s``, and OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        until_s = time.monotonic() + within_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until_s:
                    raise LockHeldError(f"{path}: another process has held it for {within_s:g} s") from None
                time.sleep(_LOOK_EVERY_S)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def path_lock(home: Path, path: str, within_s: float) -> Iterator[None]:
    """Hold the lock that stands for a path of some user: a file of the service's, so that no user can keep it. Raises
    :class:`LockHeldError` and OSError.
    """
    (home / _PATHS).mkdir(exist_ok=True)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(file_lock(_file_of(home, path), within_s))
            held = stack.pop_all()
    except LockHeldError:
        raise LockHeldError(f"{path}: another process has worked on it for {within_s:g} s") from None
    with held:
        yield


def is_path_locked(home: Path, path: str) -> bool:
    """Whether a process holds the lock of the path now."""
    try:
        descriptor = os.open(_file_of(home, path), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two that look do not see each other.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def _file_of(home: Path, path: str) -> Path:
    return home / _PATHS / hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:32]
