"""A program on a real pseudo-terminal of which we are the screen: keys go in, what it writes is shown, timed, counted.

What comes in is time-stamped as it is read, before the emulator (pyte) works on it, so the emulator's own time counts
for nothing.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from fcntl import ioctl

import pyte

PATIENCE_S = 120.0
_CHUNK = 1 << 16
_KEPT = 4000
_TYPED = 64


class SilentError(AssertionError):
    """What was waited for did not come; the message shows the screen."""


class Terminal:
    """A child process, started in a folder, and its screen. ``written`` counts the bytes that it has written so far,
    ``last`` has the last of them. Where it is not ``emulated``, nothing is shown."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        lines: int = 40,
        columns: int = 140,
        folder: str = "/",
        emulated: bool = True,
    ) -> None:
        self.written = 0
        self.alive = True
        self.last = b""
        self._unread = b""
        self._emulated = emulated
        self._status: int | None = None
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(argv[0], list(argv), {**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"})  # noqa: S606 - an argument list
        self.resize(lines, columns)

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(self._screen.display)

    def press(self, keys: str | bytes) -> float:
        """Type; gives the moment. What is written meanwhile is kept, since a terminal that does not read gets stuck."""
        began_s = time.monotonic()
        left = keys.encode() if isinstance(keys, str) else keys
        while left and self.alive:
            readable, writable, _ = select.select([self._descriptor], [self._descriptor], [], PATIENCE_S)
            if readable:
                self._unread += self._read()
            elif writable:
                with contextlib.suppress(OSError):
                    left = left[os.write(self._descriptor, left[:_TYPED]) :]
            else:
                raise SilentError(f"it takes no keys; the screen shows:\n{self.text}")
        return began_s

    def resize(self, lines: int, columns: int) -> None:
        """Another size of the screen, in the middle of everything."""
        if self._emulated:
            self._screen.resize(lines, columns)
        with contextlib.suppress(OSError):
            ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, wait_s: float) -> bytes:
        """What is written next, empty where nothing was for so long."""
        if self._unread:
            part, self._unread = self._unread, b""
            return part
        if not self.alive or not select.select([self._descriptor], [], [], max(0.0, wait_s))[0]:
            return b""
        return self._read()

    def _read(self) -> bytes:
        try:
            part = os.read(self._descriptor, _CHUNK)
        except OSError:
            part = b""
        self.alive = bool(part)
        self.written += len(part)
        self.last = (self.last + part)[-_KEPT:]
        return part

    def show(self, part: bytes) -> None:
        """Put what was read on the screen."""
        self._stream.feed(part)

    def settle(self, quiet_s: float, most_s: float = PATIENCE_S) -> bytes:
        """Read and show until nothing came for so long; gives all that did."""
        parts = []
        deadline_s = time.monotonic() + most_s
        while time.monotonic() < deadline_s:
            part = self.read(quiet_s)
            if not part:
                break
            self.show(part)
            parts.append(part)
        return b"".join(parts)

    def until(self, holds: Callable[[str], bool], what: str, patience_s: float = PATIENCE_S) -> float:
        """Read until the screen's text is so; gives the moment at which that had arrived."""
        moment_s = time.monotonic()
        deadline_s = moment_s + patience_s
        while not holds(self.text):
            part = self.read(deadline_s - time.monotonic())
            moment_s = time.monotonic()
            if not part:
                raise SilentError(f"waited in vain for {what}; the screen shows:\n{self.text}")
            self.show(part)
        return moment_s

    def end(self) -> None:
        """End the child."""
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        os.close(self._descriptor)

    def ended(self) -> int | None:
        """The exit status of a child that has ended, None of one that has not."""
        if self._status is None and not self.alive:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status
