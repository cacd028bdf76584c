"""The last lines of what a job has written, where this host can see it and the console's user may read it.

While a job runs its output is in PBS's spool on its host, unless it asked for its files to be written in place; when
it has ended, where ``Output_Path`` says. A bounded end of the file is read, and nothing but a regular file is opened:
users choose these paths.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from tui.model.typed_attributes import RUNNING_STATES, Attributes, is_array

TAIL_BYTES = 16 << 10
TAIL_LINES = 40
_SUFFIXES = {"Output_Path": ".OU", "Error_Path": ".ER"}


class Tail(NamedTuple):
    """The end of a file, oldest line first; or why there is none."""

    path: str
    lines: tuple[str, ...] = ()
    problem: str = ""


def tail_of(job_id: str, attributes: Attributes, spool: Path | None) -> Tail:
    """The end of a job's standard output; without a spool no job writes anything."""
    if spool is None:
        return Tail("", problem="jobs of a simulated cluster write nothing")
    path = attributes.get("Output_Path", "").partition(":")[2]
    if not path:
        return Tail("", problem="the server does not say where its output is (to this user)")
    if is_array(job_id):
        return Tail(path, problem="each subjob writes its own")
    state = attributes.get("job_state", "")
    if state not in RUNNING_STATES and state not in ("F", "X"):
        return Tail(path, problem="it does not run now")
    spooled = spool / (job_id + _SUFFIXES["Output_Path"])
    candidates = [Path(path)] if state in ("F", "X") else [spooled, Path(path)]
    problems = []
    for candidate in candidates:
        tail = _tail(candidate)
        if not tail.problem:
            return tail
        problems.append(tail.problem)
    return Tail(path, problem="; ".join(problems) + " on this host")


def _tail(path: Path) -> Tail:
    try:
        return Tail(str(path), _last_lines(path))
    except OSError as error:
        return Tail(str(path), problem=f"{path}: {error.strerror or error}")


def _last_lines(path: Path) -> tuple[str, ...]:
    """The last whole lines of a regular file. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "no regular file")
        start = max(0, found.st_size - TAIL_BYTES)
        data = os.pread(descriptor, TAIL_BYTES, start)
    finally:
        os.close(descriptor)
    lines = data.decode("utf-8", "replace").splitlines()
    return tuple(lines[1 if start and len(lines) > 1 else 0 :][-TAIL_LINES:])
