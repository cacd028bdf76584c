"""Runs programs as users, through the root helper: a ``Run`` for the schedulers, and the operations that touch
files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Callable

from migration.as_user.run_in_own_pid_namespace import LATE
from migration.programs.program_search_path import own_program
from migration.programs.run_external_program_with_limits import TIMED_OUT, Finished, run, run_with_lifeline

_GRACE_S = 30.0
"""What the helper has on top of its own limit, to end what it started."""


def helper_argv() -> list[str]:
    """The beginning of each command line of the helper."""
    helper = own_program("mguser")
    return [helper] if os.geteuid() == 0 else ["sudo", "-n", "--", helper]


def run_as(
    argv: Sequence[str],
    *,
    user: str | None = None,
    cwd: str | None = None,
    stdin: bytes = b"",
    timeout_s: float = 60,
    env: Mapping[str, str] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Finished:
    """Run a program (:class:`~migration.programs.run_external_program_with_limits.Run`): without a user as this
    process, else as the user, by the helper.

    A user's program has a clean environment of its own, so ``env`` is for programs without a user alone.
    """
    if user is None:
        return run(argv, cwd=cwd, stdin=stdin, timeout_s=timeout_s, env=env)
    if env is not None:
        raise ValueError("env: the root helper gives a user's program its environment")
    words = [*helper_argv(), user, str(max(1, int(timeout_s))), str(len(stdin)), cwd or "/", *argv]
    done = run_with_lifeline(words, stdin=stdin, timeout_s=timeout_s + _GRACE_S, stopped=stopped)
    if done.status == LATE:
        return Finished(TIMED_OUT, done.out, done.err + f"\nkilled after {timeout_s:g} s".encode())
    return done
