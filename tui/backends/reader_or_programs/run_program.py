"""Runs one of a manager's programs from an argument list within a time limit.

It uses :mod:`subprocess`, whose child runs no Python code after the fork: the console has several threads, and a child
that needs a lock held by one of them would hang before it reaches the program.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tui.backends.interface.backend_protocol import BackendError, NotSentError


class ProgramOutput(NamedTuple):
    """A program's output, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Its messages in one line: standard error, else standard output, else the exit status."""
        return " ".join((self.err.strip() or self.out.strip() or f"exit status {self.status}").split())


def run(
    argv: Sequence[str], timeout_s: float, more_environment: Mapping[str, str] | None = None, given: str = ""
) -> ProgramOutput:
    """Run a program to its end, with ``given`` as its standard input. Raises :class:`BackendError` if it exceeds its
    time, :class:`NotSentError` if it cannot be started."""
    name = os.path.basename(argv[0])  # noqa: PTH119 - a name for messages, not a path to follow
    try:
        done = subprocess.run(
            list(argv),
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=timeout_s,
            check=False,
            env={**os.environ, **(more_environment or {})},
        )
    except subprocess.TimeoutExpired as error:
        raise BackendError(f"{name} did not answer within {timeout_s:g} s") from error
    except OSError as error:
        raise NotSentError(f"cannot run {argv[0]}: {error.strerror}") from error
    return ProgramOutput(
        done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    )
