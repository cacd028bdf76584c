"""Locks for the processes of jobs: the lease, by which one process at a time works on a job, and slots, which limit
transfers at one time.

Both end with their process, so a dead one is replaced; the lease names its holder by process id, boot id and start
time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

LEASE = "lease"
_SLOTS = "slots"
_LOOK_EVERY_S = 0.02
_LOOKED_AT_FOR_S = 0.3
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@contextlib.contextmanager
def hold_lease(folder: Path) -> Iterator[bool]:
    """Whether this process has the lease of the job with this folder, for as long as the block lasts. It tries for a
    moment: one that only looks is in the way for as long as a look takes.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / LEASE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until_s = time.monotonic() + _LOOKED_AT_FOR_S
        while not (held := _lock(descriptor)) and time.monotonic() < until_s:
            time.sleep(_LOOK_EVERY_S)
        if held:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"pid={os.getpid()}\tboot={_boot_id()}\tstart={_start_time()}\n".encode("ascii"), 0)
        yield held
    finally:
        os.close(descriptor)


def is_leased(folder: Path) -> bool:
    """Whether a living process has the lease."""
    try:
        descriptor = os.open(folder / LEASE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two that look do not see each other.
        return not _lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def take_slot(home: Path, kind: str, count: int) -> Iterator[bool]:
    """Whether one of ``count`` slots of this kind is free; it is taken for as long as the block lasts."""
    folder = home / _SLOTS
    folder.mkdir(exist_ok=True)
    for number in range(count):
        descriptor = os.open(folder / f"{kind}.{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if _lock(descriptor):
            try:
                yield True
            finally:
                os.close(descriptor)
            return
        os.close(descriptor)
    yield False


@contextlib.contextmanager
def take_share(home: Path, kind: str, count: int, user: str, share: int) -> Iterator[bool]:
    """Whether one of ``count`` slots of this kind is free for the user, whose limit is ``share`` of them."""
    with take_slot(home, f"{kind}.{quote(user, safe='')}", min(share, count)) as mine:
        if not mine:
            yield False
            return
        with take_slot(home, kind, count) as taken:
            yield taken


def _lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return "unknown"


def _start_time() -> str:
    """When this process started, in ticks since the boot: with the process id it is never that of another one."""
    try:
        return Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "unknown"
