"""A child process that answers through a pipe, for requests to the server: PBS's client cannot be interrupted."""

from __future__ import annotations

import os
import select
import signal
import time
from typing import Callable, NamedTuple

_PIECE = 65536


class Child(NamedTuple):
    """A child: its process id, and the pipe that its answer is read from."""

    pid: int
    pipe: int


def start_child(answer: Callable[[], bytes]) -> Child:
    """Start a child that calls ``answer`` and ends; no answer comes from one in which it raises."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writable)
        return Child(pid, readable)
    try:
        os.write(writable, answer())
    finally:
        # The child is a copy of a process of the server: it must not run any of that process's code.
        os._exit(0)


def read_piece(child: Child) -> bytes:
    """The next piece of the answer; empty at its end, when the child has ended and is no more."""
    piece = os.read(child.pipe, _PIECE)
    if not piece:
        os.close(child.pipe)
        os.waitpid(child.pid, 0)
    return piece


def read_answer(child: Child, within_s: float) -> bytes:
    """The answer, or what there is of it after ``within_s`` seconds; the child is ended then."""
    answer = b""
    deadline = time.monotonic() + within_s
    while select.select([child.pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = read_piece(child)
        if not piece:
            return answer
        answer += piece
    os.close(child.pipe)
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    return answer
