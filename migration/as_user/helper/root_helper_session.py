"""Serves several operations of the root helper to one caller, one after the other, to save the start of sudo and
Python: ``mguser session``.

Each operation is checked and run like a single one, in a process forked for it; the end of standard input ends the
session and what it runs. Output comes through bounded pipes: no user's process gets a file of root's.
"""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Sequence
from typing import Callable, NamedTuple

from migration.as_user.helper.private_folder_for_connection import PrivatePlace
from migration.as_user.helper.run_in_own_pid_namespace import fork_for_operation
from migration.programs.run_external_program_with_limits import MOST_OUTPUT

SESSION = "session"
"""Takes the place of a user: the operations come on standard input."""
NOTHING = "nothing"
"""Takes the place of an operation's name, when the caller wants none aside any longer."""
MOST_WORDS = 8 << 20
"""Bytes of one operation's arguments."""
MOST_INPUT = 256 << 20
TOO_MUCH = "too much"
"""The cause of an end: the operation wrote more than the caller takes."""
_LEFT = "left"
"""The cause of an end: the caller is gone or stopped the operation, so no answer is sent."""
_HEAD = 10
_FEWEST = 5
_LOOK_EVERY_S = 0.25
_COPY = 1 << 20

Do = Callable[[Sequence[str], int, str], int]
"""Does one operation: the words of its command line, a file with its input, and the job that it is about. Standard
input is its lifeline."""


def write_request(words: Sequence[str], most_output: int, *, aside: bool = False, job: str = "") -> bytes:
    """One operation as it is sent: the length of the JSON that follows, then the JSON; its input comes after it. One
    ``aside`` replaces the one that goes on beside the others; without words there is none afterwards. ``job`` is for
    the log."""
    data = json.dumps([most_output, aside, job, *words]).encode("ascii")
    return f"{len(data):{_HEAD}d}".encode("ascii") + data


def serve(do: Do) -> int:
    """Do the requested operations until standard input ends. The answer to each is a line ``[status, why, bytes of
    output, bytes of errors]`` as JSON, followed by these bytes."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    beside: _Child | None = None
    place = PrivatePlace()
    while head := _read(_HEAD):
        request = json.loads(_read(_whole("bytes", head.decode("ascii", "replace").strip(), MOST_WORDS)))
        if not isinstance(request, list) or [*map(type, request[:3])] != [int, bool, str]:
            raise ValueError("request: must be a number, whether it is aside, a job, and the words of an operation")
        most, aside, job = request[:3]
        words = [*map(str, request[3:])]
        if not 0 < most <= MOST_OUTPUT:
            raise ValueError(f"request: {most!r:.40} bytes of output: must be from 1 to {MOST_OUTPUT}")
        if aside:
            _end_aside(beside)
            beside = None
            if not words:
                _answer(0, "")
                continue
        if len(words) < _FEWEST:
            raise ValueError("request: must have the words of an operation")
        given = keep_input(_whole("bytes", words[2], MOST_INPUT))
        try:
            if aside:
                begun = place.renew()
                beside = _begin_aside(lambda: do(words, given, job)) if begun else None  # noqa: B023 - called at once
                _answer(0 if begun else 1, "")
                continue
            status, why, out, err = _do(lambda: do(words, given, job), most, woken)  # noqa: B023 - called at once
        finally:
            os.close(given)
        if why == _LEFT:
            break
        _answer(status, why, out, err)
    return 0


class _Output:
    """The output from an operation's pipe, up to ``most`` bytes. The rest is not read."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._has_ended = False
        self.data = bytearray()
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)

    @property
    def is_full(self) -> bool:
        return len(self.data) >= self._most

    @property
    def is_open(self) -> bool:
        return not self.is_full and not self._has_ended

    def read(self) -> None:
        """Take what is there now."""
        while self.is_open:
            try:
                more = os.read(self.reader, min(_COPY, self._most - len(self.data)))
            except BlockingIOError:
                return
            self.data += more
            self._has_ended = not more


def _do(operation: Callable[[], int], most: int, woken: int) -> tuple[int, str, bytes, bytes]:
    """The operation's exit status, why it was ended, its output and its errors."""
    out, err = _Output(most), _Output(most)
    try:
        child, held = _fork(operation, out.writer, err.writer)
        os.close(out.writer)
        os.close(err.writer)
        why, is_over = "", False
        while True:
            pid, ended = os.waitpid(child, os.WNOHANG)
            if pid:
                break
            watched = [woken] if is_over else [woken, 0, *(one.reader for one in (out, err) if one.is_open)]
            readable = select.select(watched, [], [], _LOOK_EVERY_S)[0]
            if woken in readable:
                os.read(woken, 512)
            if is_over:
                continue
            out.read()
            err.read()
            if 0 in readable or out.is_full or err.is_full:
                # Nothing is asked while an operation is under way: what can be read is the end.
                why, is_over = (_LEFT if 0 in readable else TOO_MUCH), True
                os.close(held)
        if not is_over:
            os.close(held)
        # All that the operation has started is over with it, so what it wrote is in the pipes by now.
        out.read()
        err.read()
        if not why and (out.is_full or err.is_full):
            why = TOO_MUCH
        status = os.waitstatus_to_exitcode(ended)
        return (status if status >= 0 else 128 - status), why, bytes(out.data), bytes(err.data)
    finally:
        os.close(out.reader)
        os.close(err.reader)


class _Child(NamedTuple):
    """A process that does an operation, and the end of its lifeline that is held here."""

    pid: int
    held: int


def _fork(operation: Callable[[], int], out: int, err: int) -> _Child:
    lifeline, held = os.pipe()

    def prepare() -> None:
        for old, new in ((lifeline, 0), (out, 1), (err, 2)):
            os.dup2(old, new)
        os.close(held)

    child = fork_for_operation(operation, prepare)
    os.close(lifeline)
    return _Child(child, held)


def _begin_aside(operation: Callable[[], int]) -> _Child:
    """The operation's output goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        return _fork(operation, nowhere, nowhere)
    finally:
        os.close(nowhere)


def _end_aside(beside: _Child | None) -> None:
    if beside is not None:
        os.close(beside.held)
        os.waitpid(beside.pid, 0)


def _answer(status: int, why: str, out: bytes = b"", err: bytes = b"") -> None:
    _write(1, json.dumps([status, why, len(out), len(err)]).encode("ascii") + b"\n")
    _write(1, out)
    _write(1, err)


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def keep_input(count: int) -> int:
    """So many bytes of standard input as a file of their own in memory, at its beginning. Raises ValueError."""
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC)
    os.fchmod(descriptor, 0o600)
    left = count
    while left:
        data = os.read(0, min(left, _COPY))
        if not data:
            raise ValueError(f"standard input ended {left} bytes before its {count}")
        left -= len(data)
        _write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _whole(name: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > most:
        raise ValueError(f"{name} {text!r:.40}: must be a whole number of at most {most}")
    return int(text)


def _read(count: int) -> bytes:
    """So many bytes of standard input; none where it has ended before the first. Raises ValueError."""
    data = b""
    while len(data) < count:
        more = os.read(0, count - len(data))
        if not more:
            if data:
                raise ValueError("standard input ended within a request")
            return b""
        data += more
    return data
