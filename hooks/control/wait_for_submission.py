"""Waits until a submission wakes this process, for a time limit: the reading end of the wake-up FIFO.

Without a FIFO that may be used it only sleeps, and early passes go by their polls.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path

from hooks.store.wake_up_fifo import FIFO, open_fifo

_MOST_BYTES = 1 << 16
"""All that a FIFO holds: however many submissions there were, they wake the process once."""


class SubmissionWait:
    """The FIFO in pbsteer's folder, from :meth:`open` on."""

    def __init__(self) -> None:
        self._descriptor: int | None = None

    def open(self, folder: Path) -> None:
        """Open the FIFO, and make it if missing; the caller holds the folder's lock. A FIFO that cannot be made is no
        error."""
        if self._descriptor is None:
            with contextlib.suppress(OSError):
                os.mkfifo(folder / FIFO, 0o600)
            self._descriptor = open_fifo(str(folder))

    def close(self) -> None:
        """Close the FIFO; it stays for the next process."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def wait(self, seconds: float) -> bool:
        """Whether a submission woke this process within so many seconds, or has written since the last call."""
        if self._descriptor is None:
            time.sleep(seconds)
            return False
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return False
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, _MOST_BYTES)
        return True
