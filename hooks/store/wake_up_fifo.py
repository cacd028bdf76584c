"""The FIFO by which the hook of a submission wakes the process that waits for the next early pass.

Each end holds both ends open and never blocks: a write without a waiting process is lost, one into a full FIFO is
dropped, and neither ends the writer. Anything in its place but root's own FIFO, closed to all others, is not used.
"""

from __future__ import annotations

import contextlib
import os
import stat

FIFO = "wake-up"


def wake(folder: str) -> None:
    """Wake the process that waits, if there is one; never blocks and never fails."""
    descriptor = open_fifo(folder)
    if descriptor is None:
        return
    try:
        with contextlib.suppress(OSError):
            os.write(descriptor, b"\n")
    finally:
        os.close(descriptor)


def open_fifo(folder: str) -> int | None:
    """Open the FIFO of pbsteer's folder; None if there is none that may be used."""
    try:
        descriptor = os.open(f"{folder}/{FIFO}", os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    about = os.fstat(descriptor)
    if stat.S_ISFIFO(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077:
        return descriptor
    os.close(descriptor)
    return None
