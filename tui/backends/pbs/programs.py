"""Running one of PBS's programs within a bound: argument list in, what it said out.

Programs are started by :mod:`subprocess`, which forks without running Python in the child: the console has several
threads, and a child that needed one of their locks would never get as far as the program.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tui.backends.base import SourceError


class Said(NamedTuple):
    """What a program wrote, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What it said, errors first, in one line."""
        return " ".join((self.err.strip() or self.out.strip() or f"exit status {self.status}").split())


def run(argv: Sequence[str], timeout_s: float, more_environment: Mapping[str, str] | None = None) -> Said:
    """Run a program to its end. Raises :class:`SourceError` where it cannot be started or outstays its time."""
    name = os.path.basename(argv[0])  # noqa: PTH119 - a name for messages, not a path to follow
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            env={**os.environ, **(more_environment or {})},
        )
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"{name} did not answer within {timeout_s:g} s") from error
    except OSError as error:
        raise SourceError(f"cannot run {argv[0]}: {error.strerror}") from error
    return Said(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
