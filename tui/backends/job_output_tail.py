"""The last lines of a job's output, if this host has it and the console's user may read it.

Users choose these paths, so only a limited end is read, and only of a regular file that belongs to the job's owner:
opening a FIFO or a device may block, or do something there.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import is_array
from tui.model.typed_attributes import RUNNING_STATES, Attributes

TAIL_BYTES = 16 << 10
TAIL_LINES = 40
OUTPUT, ERRORS = "Output_Path", "Error_Path"
_SUFFIXES = {OUTPUT: ".OU", ERRORS: ".ER"}


class Tail(NamedTuple):
    """The end of a file, oldest line first; ``problem`` says why there is none."""

    path: str
    lines: tuple[str, ...] = ()
    problem: str = ""


def tail_of(job_id: str, attributes: Attributes, spool: Path | None, stream: str = OUTPUT) -> Tail:
    """The end of a job's standard output, or of its errors: of a running job in PBS's ``spool``, unless it writes in
    place, else at ``Output_Path``. ``spool`` is None for a simulated cluster, whose jobs write nothing."""
    if spool is None:
        return Tail("", problem="jobs of a simulated cluster write nothing")
    path = attributes.get(stream, "").partition(":")[2]
    if not path:
        return Tail("", problem="the server does not say where its output is (to this user)")
    if is_array(job_id):
        return Tail(path, problem="each subjob writes its own")
    state = attributes.get("job_state", "")
    if state not in RUNNING_STATES and state not in ("F", "X"):
        return Tail(path, problem="it does not run now")
    spooled = spool / (job_id + _SUFFIXES[stream])
    candidates = [Path(path)] if state in ("F", "X") else [spooled, Path(path)]
    user = attributes.get("euser", "") or attributes.get("Job_Owner", "").partition("@")[0]
    problems = []
    for candidate in candidates:
        tail = _tail(candidate, user)
        if not tail.problem:
            return tail
        problems.append(tail.problem)
    host = attributes.get("exec_host", "").partition("/")[0]
    if state in RUNNING_STATES and host and not any(os.path.lexists(each) for each in candidates):
        return Tail(path, problem=f"while the job runs, PBS keeps it on {host}: S logs in there, {spooled}")
    return Tail(path, problem="; ".join(problems) + " on this host")


def find_uid(user: str) -> int | None:
    """The number of a user on this host; None if there is no such user."""
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


def _tail(path: Path, user: str) -> Tail:
    try:
        return Tail(str(path), _last_lines(path, user))
    except OSError as error:
        return Tail(str(path), problem=f"{path}: {error.strerror or error}")


def _last_lines(path: Path, user: str) -> tuple[str, ...]:
    """The last lines of a regular file of the user's; a first one that may be cut is dropped. Raises OSError."""
    # With O_PATH nothing is opened yet: the file behind the name is only held, so that it cannot be exchanged.
    held = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(held)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "no regular file")
        if found.st_uid != find_uid(user):
            raise OSError(0, f"it does not belong to {user}, the job's owner")
        descriptor = os.open(f"/proc/self/fd/{held}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    finally:
        os.close(held)
    try:
        start = max(0, found.st_size - TAIL_BYTES)
        data = os.pread(descriptor, TAIL_BYTES, start)
    finally:
        os.close(descriptor)
    lines = data.decode("utf-8", "replace").splitlines()
    return tuple(lines[1 if start and len(lines) > 1 else 0 :][-TAIL_LINES:])
