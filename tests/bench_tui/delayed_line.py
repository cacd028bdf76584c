"""``python -m tests.bench_tui.delayed_line SECONDS PROGRAM...``: a program at the far end of a slow line.

It runs on a pseudo-terminal of its own; every byte that it writes, and every one that is typed to it, arrives so many
seconds later, and in the order in which it was sent: as over SSH to a host that is far away, whatever this machine can
do to its network. The size of the terminal is passed on at once.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import sys
import termios
import time
import tty
from collections import deque
from collections.abc import Sequence
from fcntl import ioctl
from types import FrameType

_CHUNK = 1 << 16
_NO_SIZE = struct.pack("HHHH", 0, 0, 0, 0)


class Line:
    """One direction: what was read from ``backend`` is due at ``sink`` after the delay."""

    def __init__(self, backend: int, sink: int, delay_s: float) -> None:
        self.backend, self._sink, self._delay_s = backend, sink, delay_s
        self._on_its_way: deque[tuple[float, bytes]] = deque()
        self.is_open = True

    def take(self) -> None:
        """Read what there is."""
        try:
            part = os.read(self.backend, _CHUNK)
        except OSError:
            part = b""
        self.is_open = bool(part)
        if part:
            self._on_its_way.append((time.monotonic() + self._delay_s, part))

    def deliver(self) -> float | None:
        """Write what has arrived; gives the seconds until the next does, None where nothing is on its way."""
        while self._on_its_way:
            due_s, part = self._on_its_way[0]
            left_s = due_s - time.monotonic()
            if left_s > 0:
                return left_s
            self._on_its_way.popleft()
            while part:
                part = part[os.write(self._sink, part) :]
        return None


def run(argv: Sequence[str], delay_s: float) -> int:
    """Run a program at the far end until it ends; gives its exit status."""
    pid, far = pty.fork()
    if pid == 0:
        os.execvp(argv[0], list(argv))  # noqa: S606 - an argument list
    here = sys.stdin.fileno()
    # At once: what was typed before is not thrown away.
    tty.setraw(here, termios.TCSANOW)

    def pass_size_on(_number: int = 0, _frame: FrameType | None = None) -> None:
        ioctl(far, termios.TIOCSWINSZ, ioctl(here, termios.TIOCGWINSZ, _NO_SIZE))

    signal.signal(signal.SIGWINCH, pass_size_on)
    pass_size_on()
    typed, written = Line(here, far, delay_s), Line(far, sys.stdout.fileno(), delay_s)
    while True:
        waits = [left_s for left_s in (typed.deliver(), written.deliver()) if left_s is not None]
        if not written.is_open and not waits:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        lines = {line.backend: line for line in (typed, written) if line.is_open}
        for backend in select.select(list(lines), [], [], min(waits, default=None))[0]:
            lines[backend].take()


if __name__ == "__main__":
    sys.exit(run(sys.argv[2:], float(sys.argv[1])))
