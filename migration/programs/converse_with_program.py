"""Asks one program several things, one after the other, over its standard input and output.

Each answer has a time limit. A program that misses it is ended, since its late answer would be taken for the answer to
the next question.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Callable

from migration.programs.run_external_program_with_limits import NOT_STARTED, STOPPED, TIMED_OUT

_LOOK_EVERY_S = 1.0
_END_WITHIN_S = 20.0
_KILLED_WITHIN_S = 1.0
_MOST_SAID = 4096
_CHUNK = 1 << 20
_MOST_CHUNKS = 64
_LOOK_AGAIN_S = 0.02
_ENDED = "the program ended"


class NoAnswerError(Exception):
    """No answer came; ``status`` is that of :class:`~migration.programs.run_external_program_with_limits.Finished`,
    and the message is the end of what the program wrote to standard error, or what happened to it.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Conversation:
    """The program of the argument list, started by this call. Raises :class:`NoAnswerError` if it cannot be started."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        (their_in, self._asked), (self._answers, their_out), (self._errors, their_err) = (os.pipe() for _ in range(3))
        os.set_blocking(self._asked, False)
        os.set_blocking(self._errors, False)
        self._ahead, self._said, self._says_more = b"", b"", True
        try:
            self._process = subprocess.Popen(
                argv, stdin=their_in, stdout=their_out, stderr=their_err, start_new_session=True, cwd="/",
                env=dict(os.environ if env is None else env),
            )  # fmt: skip
        except OSError as error:
            for own in (self._asked, self._answers, self._errors):
                os.close(own)
            raise NoAnswerError(NOT_STARTED, f"{argv[0]}: cannot be started: {error.strerror}") from error
        finally:
            for theirs in (their_in, their_out, their_err):
                os.close(theirs)

    @property
    def has_ended(self) -> bool:
        """Whether the program runs no more."""
        return self._process.poll() is not None

    def send(self, data: bytes, until_s: float) -> None:
        """Write to the program until ``until_s`` of the monotonic clock. Raises :class:`NoAnswerError`."""
        view = memoryview(data)
        while view:
            wait_s = until_s - time.monotonic()
            if wait_s <= 0:
                raise NoAnswerError(TIMED_OUT, "does not read its input")
            try:
                if self._wait(wait_s, writing=True):
                    view = view[os.write(self._asked, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise NoAnswerError(NOT_STARTED, _ENDED) from None

    def read_line(self, most: int, until_s: float, stopped: Callable[[], bool] = lambda: False) -> bytes:
        """Up to the end of a line, or so many bytes. Raises :class:`NoAnswerError`."""
        while (at := self._ahead.find(b"\n")) < 0 and len(self._ahead) < most:
            self._read_more(until_s, stopped)
        return self._take(at + 1 if at >= 0 else most)

    def read(self, count: int, until_s: float, stopped: Callable[[], bool] = lambda: False) -> bytes:
        """So many bytes. Raises :class:`NoAnswerError`."""
        parts, left = [self._take(count)], count
        left -= len(parts[0])
        while left:
            self._read_more(until_s, stopped)
            parts.append(self._take(left))
            left -= len(parts[-1])
        return b"".join(parts)

    def close(self, within_s: float = _END_WITHIN_S) -> str:
        """Let the program end by the end of its input, and kill it if it does not in time; the last line that it
        wrote to standard error.
        """
        os.close(self._asked)
        os.close(self._answers)
        until_s = time.monotonic() + within_s
        while self._process.poll() is None and time.monotonic() < until_s:
            if self._says_more:
                select.select([self._errors], [], [], _LOOK_AGAIN_S)
                self._keep_said()
            else:
                time.sleep(_LOOK_AGAIN_S)
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
                self._process.kill()
                self._process.wait(_KILLED_WITHIN_S)
        self._keep_said()
        os.close(self._errors)
        lines = self._said.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _wait(self, wait_s: float, *, writing: bool) -> bool:
        """Whether the program reads, or has answered, within this time. What it says on standard error is taken."""
        errors = [self._errors] if self._says_more else []
        reading = errors if writing else [self._answers, *errors]
        readable, writable, _ = select.select(reading, [self._asked] if writing else [], [], wait_s)
        if self._errors in readable:
            self._keep_said()
        return bool(writable) if writing else self._answers in readable

    def _keep_said(self) -> None:
        """Take what is on standard error now, and keep its end; of one that writes on, so much."""
        for _ in range(_MOST_CHUNKS):
            try:
                more = os.read(self._errors, _CHUNK)
            except BlockingIOError:
                return
            self._says_more = bool(more)
            if not more:
                return
            self._said = (self._said + more)[-_MOST_SAID:]

    def _take(self, count: int) -> bytes:
        taken, self._ahead = self._ahead[:count], self._ahead[count:]
        return taken

    def _read_more(self, until_s: float, stopped: Callable[[], bool]) -> None:
        look_s = time.monotonic() + _LOOK_EVERY_S
        while True:
            wait_s = until_s - time.monotonic()
            if wait_s <= 0:
                raise NoAnswerError(TIMED_OUT, "no answer in time")
            if self._wait(min(wait_s, max(0.0, look_s - time.monotonic())), writing=False):
                break
            if time.monotonic() < look_s:
                continue
            look_s = time.monotonic() + _LOOK_EVERY_S
            if stopped():
                raise NoAnswerError(STOPPED, "stopped")
        data = os.read(self._answers, _CHUNK)
        if not data:
            raise NoAnswerError(NOT_STARTED, _ENDED)
        self._ahead += data
