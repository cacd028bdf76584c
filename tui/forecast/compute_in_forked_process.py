"""Computes in a copy of the console's process that sends lines, so that no key waits for what takes long.

The copy has the lowest priority, a limit on its processor time, a session of its own and no file of the console's; it
runs no code of the console beyond what it was made for.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress

from hooks.store.detached_process import close_from, reset_signals

_PIECE = 1 << 20
_MOST_BYTES = 256 << 20
_NICE = 19


class Worker:
    """The process, which sends each of the ``lines`` as it is computed. Raises OSError if none can be made."""

    def __init__(self, lines: Callable[[], Iterable[bytes]], cpu_s: float) -> None:
        readable, writable = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            os.close(readable)
            os.close(writable)
            raise
        if not pid:
            try:
                _work(lines, writable, cpu_s)
            finally:
                os._exit(0)
        os.close(writable)
        os.set_blocking(readable, False)
        self.pid = pid
        self._readable = readable
        self._rest = b""
        self.has_ended = False

    def read(self, within_s: float = 0.0) -> list[bytes]:
        """The whole lines that have come; waits for some for so long. ``has_ended`` is set once no more will come."""
        while not self.has_ended and select.select([self._readable], [], [], within_s)[0]:
            piece = os.read(self._readable, _PIECE)
            self._rest += piece
            within_s = 0.0
            if not piece or len(self._rest) > _MOST_BYTES:
                self.end()
        *lines, self._rest = self._rest.split(b"\n")
        return lines

    def end(self) -> None:
        """End it, if it has not ended."""
        if self.has_ended:
            return
        self.has_ended = True
        os.close(self._readable)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _work(lines: Callable[[], Iterable[bytes]], writable: int, cpu_s: float) -> None:
    os.setsid()
    gc.freeze()
    os.nice(_NICE)
    os.dup2(writable, 0)
    close_from(1)
    for _ in range(2):
        os.open(os.devnull, os.O_RDWR)
    reset_signals()
    hard_s = int(4 * cpu_s) + 10
    resource.setrlimit(resource.RLIMIT_CPU, (hard_s, hard_s))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in lines():
        left = memoryview(line + b"\n")
        while left:
            left = left[os.write(0, left) :]
