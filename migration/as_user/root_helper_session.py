"""Several operations of the root helper one after the other, for one caller: ``mguser session``.

Each operation is checked and done as one of its own would be, in a process forked for it. What is saved is the start of
sudo and Python. One operation may go on beside the others, until it is replaced. The session ends with its standard
input, and ends what is under way then.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Sequence
from typing import Callable, NamedTuple

SESSION = "session"
"""In the place of a user: the operations come by standard input."""
NOTHING = "nothing"
"""In the place of an operation's name, where a caller wants none aside any more."""
MOST_WORDS = 8 << 20
"""Bytes of one operation's arguments."""
MOST_INPUT = 256 << 20
TOO_MUCH = "too much"
"""Why an operation was ended: it wrote more than the caller takes."""
_LEFT = "left"
"""The same, where the caller is gone or wants no more: there is no answer."""
_HEAD = 10
_FEWEST = 5
_LOOK_EVERY_S = 0.25
_COPY = 1 << 20

Do = Callable[[Sequence[str], int], int]
"""Does one operation: the words of its command line, and a file with its input. Standard input is its lifeline."""


def write_request(words: Sequence[str], most_output: int, *, aside: bool = False) -> bytes:
    """What is sent for one operation: the length of what follows, then JSON. Its input comes after it. One ``aside``
    replaces the one that goes on beside the others; without words there is none afterwards.
    """
    data = json.dumps([most_output, aside, *words]).encode("ascii")
    return f"{len(data):{_HEAD}d}".encode("ascii") + data


def serve(do: Do) -> int:
    """Do what is asked until standard input ends. The answer to each operation is a line ``[status, why, bytes of
    output, bytes of errors]`` as JSON, and these bytes.
    """
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    beside: _Child | None = None
    while head := _read(_HEAD):
        request = json.loads(_read(_whole("bytes", head.decode("ascii", "replace").strip(), MOST_WORDS)))
        if not isinstance(request, list) or [*map(type, request[:2])] != [int, bool]:
            raise ValueError("request: must be a number, whether it is aside, and the words of an operation")
        most, aside, *words = request[0], request[1], *map(str, request[2:])
        if aside:
            _end_aside(beside)
            beside = None
            if not words:
                _write_answer(0, "", 0, 0)
                continue
        if len(words) < _FEWEST:
            raise ValueError("request: must have the words of an operation")
        given = keep_input(_whole("bytes", words[2], MOST_INPUT))
        try:
            if aside:
                beside = _begin_aside(do, words, given)
                _write_answer(0, "", 0, 0)
                continue
            status, why, out, err = _do(do, words, given, most, woken)
        finally:
            os.close(given)
        if why == _LEFT:
            break
        _answer(status, why, out, err)
    return 0


def _do(do: Do, words: Sequence[str], given: int, most: int, woken: int) -> tuple[int, str, int, int]:
    """The operation's exit status, why it was ended, and the files with its output and errors."""
    out, err = os.memfd_create("out", os.MFD_CLOEXEC), os.memfd_create("err", os.MFD_CLOEXEC)
    child, held = _fork(do, words, given, out, err)
    why, is_over = "", False
    while True:
        pid, ended = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        readable = select.select([woken] if is_over else [woken, 0], [], [], _LOOK_EVERY_S)[0]
        if woken in readable:
            os.read(woken, 512)
        if not is_over and (0 in readable or max(os.fstat(out).st_size, os.fstat(err).st_size) >= most):
            # Nothing is asked while an operation is under way: what can be read is the end.
            why, is_over = (_LEFT if 0 in readable else TOO_MUCH), True
            os.close(held)
    if not is_over:
        os.close(held)
    status = os.waitstatus_to_exitcode(ended)
    return (status if status >= 0 else 128 - status), why, out, err


class _Child(NamedTuple):
    """A process that does an operation, and the end of its lifeline that is held here."""

    pid: int
    held: int


def _fork(do: Do, words: Sequence[str], given: int, out: int, err: int) -> _Child:
    lifeline, held = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for old, new in ((lifeline, 0), (out, 1), (err, 2)):
                os.dup2(old, new)
            os.close(held)
            status = do(words, given)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
    os.close(lifeline)
    return _Child(child, held)


def _begin_aside(do: Do, words: Sequence[str], given: int) -> _Child:
    """The operation's output goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        return _fork(do, words, given, nowhere, nowhere)
    finally:
        os.close(nowhere)


def _end_aside(beside: _Child | None) -> None:
    if beside is not None:
        os.close(beside.held)
        os.waitpid(beside.pid, 0)


def _answer(status: int, why: str, out: int, err: int) -> None:
    sizes = [os.fstat(file).st_size for file in (out, err)]
    _write_answer(status, why, *sizes)
    for file, size in zip((out, err), sizes):
        os.lseek(file, 0, os.SEEK_SET)
        left = size
        while left and (data := os.read(file, min(left, _COPY))):
            _write(1, data)
            left -= len(data)
        os.close(file)


def _write_answer(status: int, why: str, out: int, err: int) -> None:
    _write(1, json.dumps([status, why, out, err]).encode("ascii") + b"\n")


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
