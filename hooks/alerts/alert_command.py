"""The site's program for alerts: checked, run without a shell, killed after ten seconds; a pass never waits for it.

It runs as root, so the file and every folder on the way to it, links followed, must belong to root and be writable by
root alone. It gets the text on its standard input, no descriptor of the server, and an environment of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from typing import Callable

from hooks.pbs.files_and_output.only_root_can_write import find_fault
from hooks.store.detached_process import close_from, reset_signals, start_detached

TIME_LIMIT_S = 10.0
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "LANG": "C"}
_LOOKS_PER_S = 20
_NOT_RUN = 127


def start_program(command: Sequence[str], text: str, report_outcome: Callable[[str], None]) -> None:
    """Run the command in the background; ``report_outcome`` is called there with a sentence on what went wrong, empty
    for nothing.

    Raises OSError if no process can be made.
    """
    start_detached(lambda: report_outcome(run_program(command, text)))


def run_program(command: Sequence[str], text: str, limit_s: float = TIME_LIMIT_S) -> str:
    """Run the command to its end or its time limit; returns a sentence on what went wrong, empty for nothing."""
    fault = find_fault(command[0])
    if fault:
        return f"not run: {fault}"
    readable, writable = os.pipe()
    with contextlib.suppress(BlockingIOError):
        # A pipe holds far more than an alert has; the write never blocks in any case.
        os.set_blocking(writable, False)
        os.write(writable, text.encode("utf-8", "backslashreplace"))
    os.close(writable)
    child = os.fork()
    if not child:
        try:
            os.setsid()
            os.chdir("/")
            os.umask(0o077)
            os.dup2(readable, 0)
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            close_from(3)
            reset_signals()
            os.execve(command[0], list(command), ENVIRONMENT)  # noqa: S606 - no shell, and root's own file
        finally:
            os._exit(_NOT_RUN)
    os.close(readable)
    return _wait(child, limit_s)


def _wait(child: int, limit_s: float) -> str:
    until_s = time.monotonic() + limit_s
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > until_s:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            # Killed by itself too: it may not have got beyond its fork.
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"killed, since it took longer than {limit_s:g} s"
        time.sleep(1 / _LOOKS_PER_S)
    if os.WIFSIGNALED(status):
        return f"ended by signal {os.WTERMSIG(status)}"
    code = os.WEXITSTATUS(status)
    return f"ended with {code}" if code else ""
