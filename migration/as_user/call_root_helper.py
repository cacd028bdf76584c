"""Starts the root helper for one operation: a program of the schedulers, or work on a user's files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Callable

from migration.as_user import root_helper_command
from migration.as_user.helper.run_in_own_pid_namespace import LATE
from migration.programs.run_external_program_with_limits import NOT_STARTED, TIMED_OUT, Finished, run, run_with_lifeline

GRACE_S = 30.0
"""Seconds beyond the operation's own limit, in which the helper ends what the operation started."""


def run_as(
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
    """Run a program (:class:`~migration.programs.run_external_program_with_limits.Run`): without a user as this
    process, else as the user, by the helper.

    A user's program has a clean environment of its own, so ``env`` is for programs without a user alone.
    """
    if user is None:
        return run(argv, cwd=cwd, stdin=stdin, timeout_s=timeout_s, env=env)
    if aside:
        return Finished(NOT_STARTED, b"", b"only a session of the root helper does something aside")
    if env is not None:
        raise ValueError("env: the root helper gives a user's program its environment")
    words = [*root_helper_command.helper_argv(), *operation_words(argv, user, cwd, len(stdin), timeout_s)]
    done = run_with_lifeline(words, stdin=stdin, timeout_s=timeout_s + GRACE_S, stopped=stopped)
    return finish_late(done, timeout_s)


def operation_words(argv: Sequence[str], user: str, cwd: str | None, size: int, timeout_s: float) -> list[str]:
    """The arguments of the helper for one operation, whose input has ``size`` bytes."""
    return [user, str(max(1, int(timeout_s))), str(size), cwd or "/", *argv]


def finish_late(done: Finished, timeout_s: float) -> Finished:
    """The result, where the helper ended the operation at its limit."""
    if done.status == LATE:
        return Finished(TIMED_OUT, done.out, done.err + f"\nkilled after {timeout_s:g} s".encode())
    return done
