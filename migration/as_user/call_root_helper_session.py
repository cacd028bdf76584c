"""Runs operations as users one after the other in one process of the root helper, which starts with the first of them.

If an operation is stopped, or its answer does not come, the helper ends with all that it has started; the next
operation starts another one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Callable

from migration.as_user import root_helper_command
from migration.as_user.call_root_helper import GRACE_S, finish_late, operation_words
from migration.as_user.helper.root_helper_session import MOST_WORDS, NOTHING, SESSION, TOO_MUCH, write_request
from migration.programs import run_external_program_with_limits as programs
from migration.programs.converse_with_program import Conversation, NoAnswerError
from migration.programs.run_external_program_with_limits import MOST_OUTPUT, NOT_STARTED, TIMED_OUT, Finished

_MOST_LINE = 1000


class HelperSession:
    """Runs a program: without a user as this process, else as the user, by the helper; as ``run_as`` does."""

    def __init__(self) -> None:
        self._helper: Conversation | None = None
        self.job = ""
        """The job that operations are about now, for the log."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        user: str | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60,
        env: Mapping[str, str] | None = None,
        stopped: Callable[[], bool] = lambda: False,
        aside: bool = False,
    ) -> Finished:
        """The result; never an exception for what the program did. An operation begun ``aside`` goes on beside later
        ones, until another one replaces it, none is wanted, or this process ends: its result says only that it has
        begun."""
        if user is None:
            return programs.run(argv, cwd=cwd, stdin=stdin, timeout_s=timeout_s, env=env)
        if env is not None:
            raise ValueError("env: the root helper gives a user's program its environment")
        if any("\0" in word for word in argv):
            return Finished(NOT_STARTED, b"", b"an argument contains a NUL")
        words = operation_words(argv, user, cwd, len(stdin), timeout_s) if argv != [NOTHING] else []
        request = write_request(words, MOST_OUTPUT, aside=aside, job=self.job)
        if len(request) > MOST_WORDS:
            return Finished(NOT_STARTED, b"", b"the arguments are too long")
        try:
            done = self._ask(request + stdin, time.monotonic() + timeout_s + GRACE_S, stopped)
        except NoAnswerError as none:
            message = self.close()
            text = f"killed after {timeout_s:g} s" if none.status == TIMED_OUT else message or str(none)
            return Finished(none.status, b"", text.encode("utf-8", "replace"))
        return finish_late(done, timeout_s)

    def close(self) -> str:
        """End the helper and its operation; returns what it wrote to standard error."""
        helper, self._helper = self._helper, None
        return "" if helper is None else helper.close()

    def _ask(self, request: bytes, until_s: float, stopped: Callable[[], bool]) -> Finished:
        if self._helper is not None and self._helper.has_ended:
            self.close()
        if self._helper is None:
            self._helper = Conversation([*root_helper_command.helper_argv(), SESSION])
        self._helper.send(request, until_s)
        status, why, *sizes = _read_answer(self._helper.read_line(_MOST_LINE, until_s, stopped))
        output, errors = (self._helper.read(size, until_s, stopped) for size in sizes)
        if why == TOO_MUCH:
            return Finished(programs.TOO_MUCH, output, errors + f"\n{programs.TOO_MUCH_TEXT}".encode())
        return Finished(status, output, errors)


def _read_answer(line: bytes) -> tuple[int, str, int, int]:
    """The status, why the operation was ended, and the sizes of what follows. Raises :class:`NoAnswerError`."""
    try:
        status, why, out, err = json.loads(line)
        answer = int(status), str(why), int(out), int(err)
    except (ValueError, TypeError):
        raise NoAnswerError(NOT_STARTED, "the answer of the root helper cannot be read") from None
    if not all(0 <= size <= MOST_OUTPUT for size in answer[2:]):
        raise NoAnswerError(NOT_STARTED, f"the root helper announced more than {MOST_OUTPUT} bytes")
    return answer
