"""An unexpected exception of one message, action, timer or thread ends what it happened in, not the console.

The message line says so and the traceback goes to a file of the user's own. Where exceptions do not stop coming, the
console ends as any Textual application does: one that fails at every frame can be neither read nor left.
"""

from __future__ import annotations

import os
import stat
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path

from textual.message import Message
from textual.message_pump import MessagePump

from policy.model.printable_text import printable_lines

FILE = "console-faults.log"
MOST = 20
WITHIN_S = 10.0
_LARGEST = 1 << 20
_dispatch = MessagePump._dispatch_message


class Faults:
    """The unexpected exceptions of one user's consoles, in the file at ``path``; ``elapsed`` is a monotonic clock."""

    def __init__(
        self, path: Path, clock: Callable[[], float] = time.time, elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        self._path, self._clock, self._elapsed = path, clock, elapsed
        self._lately: deque[float] = deque(maxlen=MOST)

    def note(self, error: BaseException) -> str:
        """Write down an exception; returns the sentence for the screen, an empty one where there are too many."""
        now_s = self._elapsed()
        if len(self._lately) == MOST and now_s - self._lately[0] < WITHIN_S:
            return ""
        self._lately.append(now_s)
        return f"unexpected {type(error).__name__}: {self._written(error)}: {error}"

    def _written(self, error: BaseException) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(self._clock()))
        lines = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        # Users' texts are in it, and whoever reads the file does so on a terminal.
        text = f"{when}\n{printable_lines(lines)}\n\n"
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._append(text.encode("utf-8"))
        except OSError as problem:
            return f"{self._path}: not written: {problem.strerror}"
        return f"please report {self._path}"

    def _append(self, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise OSError(0, "allowed is a regular file of your own")
            os.fchmod(descriptor, 0o600)
            if found.st_size > _LARGEST:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, data)
        finally:
            os.close(descriptor)


def survive_failed_messages() -> None:
    """For the whole process: a message that fails ends neither its widget nor, where the application knows better (a
    method ``take_fault``), the application. Textual stops the widget's messages for good before it tells anybody."""
    MessagePump._dispatch_message = _guarded  # type: ignore[method-assign, assignment]


async def _guarded(pump: MessagePump, message: Message) -> None:
    try:
        await _dispatch(pump, message)
    except Exception as error:
        take = getattr(pump.app, "take_fault", None)
        if take is None or not take(error, pump):
            raise
