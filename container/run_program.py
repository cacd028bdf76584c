"""Runs a program to its end within a time limit: argument list in, output and exit status out.

Output goes through files, not pipes, because daemons keep inherited descriptors and a pipe would never close; a program
that exceeds its time is killed with everything that it started. Both are why this is subprocess and not the sh library.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from container.testbed_spec import TestbedError

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Finished:
    """A program that has ended. ``status`` is its exit status, or minus the signal that ended it."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str

    def demand_success(self) -> Finished:
        """Return self if the program succeeded, else raise `TestbedError` with the program's own message."""
        if self.status != 0:
            message = (self.stderr.strip() or self.stdout.strip() or "it said nothing")[-2000:]
            raise TestbedError(f"{' '.join(self.argv)} ended with status {self.status}: {message}")
        return self


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str = "",
    called: Sequence[str] = (),
) -> Finished:
    """Run ``argv`` and wait for its end, at most ``timeout_s``; `TestbedError` if it does not end or does not exist.

    ``env`` is the whole environment (default: only PATH). ``called`` is the command's name in messages, where ``argv``
    is only the way to run it. Output is decoded as UTF-8, with what is not UTF-8 replaced.
    """
    shown = tuple(called or argv)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=given,
                stdout=out,
                stderr=err,
                cwd=cwd,
                env=dict(env) if env is not None else {"PATH": SYSTEM_PATH},
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise TestbedError(f"cannot run {argv[0]!r}: {error.strerror} ({error.filename})") from error
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise TestbedError(f"{' '.join(shown)} did not end within {timeout_s:g} s") from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        out.seek(0)
        err.seek(0)
        return Finished(shown, status, out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace"))
