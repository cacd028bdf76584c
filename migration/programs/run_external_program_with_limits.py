"""Runs a program with an argument list, a time limit and bounded output: its exit status is part of the result.

A program that cannot be started, or is killed at its time limit, has a status that no program can return. ``sh`` is
imported here alone, inside functions, as that is slow and many of our programs run no other.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Callable, NamedTuple, Protocol

from policy.model.printable_text import replace_unprintable

if TYPE_CHECKING:
    import sh

NOT_STARTED = -1000
TIMED_OUT = -1001
STOPPED = -1002
TOO_MUCH = -1003
"""The program wrote more than MOST_OUTPUT bytes to standard output or to standard error."""
MOST_OUTPUT = 64 << 20
TOO_MUCH_TEXT = f"ended: more than {MOST_OUTPUT >> 20} MiB of output"
_END_WITHIN_S = 20.0
_LOOK_EVERY_S = 1.0
_FEED_LOOK_MS = 200


class Finished(NamedTuple):
    """How a program ended. ``status`` is negative for a signal, NOT_STARTED, TIMED_OUT, STOPPED or
    TOO_MUCH; output as bytes."""

    status: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are no UTF-8 are kept as surrogates."""
        return self.out.decode("utf-8", "surrogateescape")

    @property
    def problem(self) -> str:
        """The last line of standard error, or the exit status; for a message."""
        lines = self.err.decode("utf-8", "replace").strip().splitlines()
        shown = replace_unprintable(lines[-1], lambda _: "?") if lines else ""
        return shown[:300] or f"exit status {self.status}"


class Run(Protocol):
    """Runs ``argv``; with a ``user``, as that user."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        user: str | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        """The result; never an exception for what the program did."""


def run(
    argv: Sequence[str],
    *,
    user: str | None = None,
    cwd: str | None = None,
    stdin: bytes = b"",
    timeout_s: float = 60,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run ``argv`` as this process's own user. Another ``user`` is refused: that takes the root helper."""
    import sh  # noqa: PLC0415 - see above

    if user is not None:
        raise ValueError(f"user {user!r}: this runs programs as its own user only")
    if any("\0" in word for word in argv):
        return Finished(NOT_STARTED, b"", b"an argument contains a NUL")
    if cwd is not None and not os.path.isdir(cwd):  # noqa: PTH112 - sh would start it in another folder
        return Finished(NOT_STARTED, b"", f"{cwd}: no such folder".encode("utf-8", "replace"))
    with tempfile.TemporaryFile() as stdin_file, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        stdin_file.write(stdin)
        stdin_file.seek(0)
        try:
            # Files instead of pipes: nothing is lost, and a grandchild that keeps them open delays nothing.
            process = sh.Command(argv[0])(
                *map(_as_latin1, argv[1:]), _encoding="latin-1", _in=stdin_file, _out=out, _err=err, _cwd=cwd,
                _env=dict(os.environ if env is None else env), _ok_code=list(range(256)), _new_group=True, _bg=True,
                _bg_exc=False, _return_cmd=True, _preexec_fn=_bound_files,
            )  # fmt: skip
            status = _wait(process, timeout_s)
        except sh.CommandNotFound:
            return Finished(NOT_STARTED, b"", f"{argv[0]}: not found".encode("utf-8", "replace"))
        except sh.ForkException as error:
            return Finished(
                NOT_STARTED, b"", f"{argv[0]}: cannot be started: {error}".encode("utf-8", "replace")[:1000]
            )
        if _is_too_much(out, err):
            status = TOO_MUCH
        return _finish(status, out, err, timeout_s)


def run_with_lifeline(
    argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float, stopped: Callable[[], bool] = lambda: False
) -> Finished:
    """Run a program that ends when its standard input does: at its time limit, when ``stopped`` says so, and also when
    this process is killed. For programs of another user, to which this one cannot send signals.
    """
    import sh  # noqa: PLC0415 - see above

    if any("\0" in word for word in argv):
        return Finished(NOT_STARTED, b"", b"an argument contains a NUL")
    reader, writer = os.pipe()
    lifeline = contextlib.ExitStack()
    lifeline.callback(os.close, writer)
    with lifeline, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with os.fdopen(reader, "rb") as read_end:
            try:
                process = sh.Command(argv[0])(
                    *map(_as_latin1, argv[1:]), _encoding="latin-1", _in=read_end, _out=out, _err=err,
                    _env=dict(os.environ), _ok_code=list(range(256)), _new_group=True, _bg=True, _bg_exc=False,
                    _return_cmd=True,
                )  # fmt: skip
            except sh.CommandNotFound:
                return Finished(NOT_STARTED, b"", f"{argv[0]}: not found".encode("utf-8", "replace"))
            except sh.ForkException as error:
                return Finished(NOT_STARTED, b"", f"{argv[0]}: cannot be started: {error}".encode()[:1000])
        ended = threading.Event()
        feeder = threading.Thread(target=_feed, args=(writer, stdin, ended), daemon=True)
        feeder.start()
        status = _watch(process, time.monotonic() + timeout_s, lambda: _find_end(stopped, out, err))
        # The program's reader may be a process that its user has stopped: nothing waits for it to read on.
        ended.set()
        feeder.join()
        lifeline.close()
        if status in _ENDED_EARLY:
            _wait_or_kill(process)
        return _finish(status, out, err, timeout_s)


def _wait_or_kill(process: sh.RunningCommand) -> None:
    """Wait until the program has ended by its lifeline; one that has not is killed if this process may."""
    import sh  # noqa: PLC0415 - see above

    try:
        process.wait(timeout=_END_WITHIN_S)
    except sh.TimeoutException:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            process.kill_group()
    except sh.SignalException:
        return


_ENDED_EARLY = (TIMED_OUT, STOPPED, TOO_MUCH)


def _find_end(stopped: Callable[[], bool], out: IO[bytes], err: IO[bytes]) -> int | None:
    """Why the program is to end before its time; None if it is not."""
    if _is_too_much(out, err):
        return TOO_MUCH
    return STOPPED if stopped() else None


def _finish(status: int, out: IO[bytes], err: IO[bytes], timeout_s: float) -> Finished:
    why = {
        TIMED_OUT: f"\nkilled after {timeout_s:g} s",
        STOPPED: "\nstopped",
        TOO_MUCH: f"\n{TOO_MUCH_TEXT}",
    }.get(status, "")
    out.seek(0)
    err.seek(0)
    return Finished(status, out.read(MOST_OUTPUT), err.read(MOST_OUTPUT) + why.encode())


def _is_too_much(out: IO[bytes], err: IO[bytes]) -> bool:
    return any(os.fstat(file.fileno()).st_size >= MOST_OUTPUT for file in (out, err))


def _bound_files() -> None:
    """In the program's process: no file that it writes, its output among them, grows larger than the bound."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    most = MOST_OUTPUT if hard == resource.RLIM_INFINITY else min(MOST_OUTPUT, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def _watch(process: sh.RunningCommand, until_s: float, find_end: Callable[[], int | None]) -> int:
    import sh  # noqa: PLC0415 - see above

    while True:
        left_s = until_s - time.monotonic()
        try:
            process.wait(timeout=max(0.0, min(_LOOK_EVERY_S, left_s)))
        except sh.TimeoutException:
            if left_s <= 0:
                return TIMED_OUT
            why = find_end()
            if why is not None:
                return why
        except sh.SignalException as error:
            return int(error.exit_code)
        else:
            return int(process.exit_code)


def _feed(writer: int, data: bytes, ended: threading.Event) -> None:
    """Write the input until all is written, or ``ended`` is set. A reader that does not read blocks nothing."""
    os.set_blocking(writer, False)
    view = memoryview(data)
    waiter = select.poll()
    waiter.register(writer, select.POLLOUT)
    with contextlib.suppress(BrokenPipeError):
        while view and not ended.is_set():
            if waiter.poll(_FEED_LOOK_MS):
                with contextlib.suppress(BlockingIOError):
                    view = view[os.write(writer, view) :]


def _wait(process: sh.RunningCommand, timeout_s: float) -> int:
    """The exit status; a program that takes too long is killed with everything that it has started."""
    import sh  # noqa: PLC0415 - see above

    try:
        process.wait(timeout=timeout_s)
    except sh.TimeoutException:
        with contextlib.suppress(ProcessLookupError):
            process.kill_group()
        with contextlib.suppress(sh.SignalException):
            process.wait()
        return TIMED_OUT
    except sh.SignalException as error:
        return int(error.exit_code)
    return int(process.exit_code)


def _as_latin1(word: str) -> str:
    """The word in a form that ``sh`` encodes to the very bytes of the word, UTF-8 or not."""
    return word.encode("utf-8", "surrogateescape").decode("latin-1")
