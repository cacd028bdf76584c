"""The processes of a job's session, from /proc; signalled through descriptors, since process numbers are reused.

A user's process may have shaped everything that is read here, so every read has a bound.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
from pathlib import Path
from typing import NamedTuple

POLL_S = 0.2
TRIES = 50
"""Seconds between two checks of processes that are to end, and the number of checks."""

_MOST_BYTES = 2 << 20
"""Limit for a process's environment or command: by default a kernel starts no program with more."""


class Process(NamedTuple):
    """A process, with a descriptor that never refers to a later process of the same number."""

    pid: int
    descriptor: int


def open_session(sid: int) -> list[Process]:
    """The processes of a session that have not ended."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    found = []
    for pid in list_session(sid):
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        # The number may have gone to another process since it was listed; from here on it cannot.
        if read_stat(pid)[1] == str(sid) and is_alive(pid):
            found.append(Process(pid, descriptor))
        else:
            os.close(descriptor)
    return found


def list_session(sid: int) -> list[int]:
    """The numbers of the processes of a session that have not ended."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in numbers if read_stat(pid)[1] == str(sid) and is_alive(pid)]


def send(process: Process, number: int) -> None:
    """Send a signal to a process; nothing happens if it is gone."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(process.descriptor, number)


def has_ended(process: Process) -> bool:
    """Whether a process has ended, even if its parent has not reaped it."""
    poll = select.poll()
    poll.register(process.descriptor, select.POLLIN)
    return bool(poll.poll(0))


def is_alive(pid: int) -> bool:
    """Whether the process exists and has not ended."""
    return read_stat(pid)[0] not in ("", "Z", "X")


def is_login_shell(pid: int) -> bool:
    """Whether this is the login shell in which PBS runs a job's script; the signal would kill it."""
    with Path(f"/proc/{pid}/cmdline").open("rb", buffering=0) as file:
        return file.read(1) == b"-"


def read_stat(pid: int) -> list[str]:
    """A process's state, session and parent; all empty if it is gone. (Its command's name may contain anything.)"""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    except OSError:
        return ["", "", ""]
    return [words[0], words[3], words[1]]


def read_status(pid: int, name: str) -> list[str]:
    """The words of one line of a process's status, for example the four user ids of ``Uid``; empty if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="latin-1").splitlines()
    except OSError:
        return []
    return next((line.split()[1:] for line in lines if line.startswith(f"{name}:")), [])


def read_users(pid: int) -> set[int]:
    """The user ids whose rights a process has, in any of the four fields."""
    return {int(word) for word in read_status(pid, "Uid")}


def read_strings(path: Path) -> list[str]:
    """The NUL-terminated strings of a file of a process. Raises ValueError above 2 MiB: a process may declare any part
    of its memory to be its environment (``PR_SET_MM``)."""
    with path.open("rb") as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError(f"{path} has more than {_MOST_BYTES >> 20} MiB")
    return [os.fsdecode(string) for string in text.split(b"\0")[:-1]]
