"""Runs work in a process of its own that outlives the pass: a copy of this process, with nothing of the server's.

A pass never waits for it. The copy has no open file, socket, alarm or lock of the process that it was copied from.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Callable

_HEARD = ("SIGALRM", "SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGCHLD", "SIGUSR1", "SIGUSR2")


def start_detached(work: Callable[[], None]) -> None:
    """Call ``work`` in the background. Raises OSError if no process can be made."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        # This process need not wait for a child of its child: no dead process is left, however long this one lives.
        os.setsid()
        if not os.fork():
            _close_inherited_files()
            work()
    finally:
        # The child is a copy of a process of the server: it must not run any of that process's code.
        os._exit(0)


def _close_inherited_files() -> None:
    """Keep nothing of the process that this one was copied from: the server's sockets, its files, its alarm."""
    close_from(0)
    for _ in range(3):
        os.open(os.devnull, os.O_RDWR)
    os.chdir("/")
    reset_signals()


def reset_signals() -> None:
    """Let this process end by the usual signals, blocking none."""
    for name in _HEARD:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def close_from(first: int) -> None:
    """Close all descriptors from this one on."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 - names of numbers, not paths
    except OSError:
        numbers = list(range(os.sysconf("SC_OPEN_MAX")))
    for number in numbers:
        if number >= first:
            with contextlib.suppress(OSError):
                os.close(number)
