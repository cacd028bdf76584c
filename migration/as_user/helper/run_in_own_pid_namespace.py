"""Runs an operation in a PID namespace of its own, so that its end ends every process that it has started.

The namespace's first process belongs to root: the user cannot stop it, and when it ends the kernel kills all others.
Where the kernel refuses a namespace, this process becomes the parent of orphans (a subreaper) and kills them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import Callable

LATE = 254
"""The exit status of an operation that was ended before its time."""
_TERM_FOR_S = 10.0
_KILL_FOR_S = 5.0
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER = 1, 4, 36
_NO_CHILD_LEFT = ChildProcessError
_NEW_MOUNTS, _NEW_PIDS = 0x0002_0000, 0x2000_0000
_NO_SETUID, _NO_DEVICES, _NO_PROGRAMS, _WITH_ALL_BELOW, _SLAVE = 2, 4, 8, 1 << 14, 1 << 19
_DETACH = 2
_MOST_SAID = 500
_STANDARD = 3
"""Descriptors below this are standard input, output and error."""
_LIBC = ctypes.CDLL(None, use_errno=True)


def supervise(operation: Callable[[], int], given: int | None, limit_s: float) -> int:
    """The exit status of the operation, 128 and the number for a signal, LATE at the limit; a limit of 0 is none.

    ``given`` is the operation's standard input; this process's own is then a lifeline, and the operation ends with it.
    With None the operation has the standard input itself.
    """
    _prctl(_SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    sys.stdout.flush()
    is_first = _LIBC.unshare(_NEW_PIDS) == 0

    def prepare() -> None:
        os.setsid()
        if given is not None:
            os.dup2(given, 0)
        _close_all_but_standard()

    child = fork_for_operation((lambda: _run_below(operation)) if is_first else operation, prepare)
    try:
        until_s = time.monotonic() + limit_s if limit_s else None
        return _wait(child, woken, until_s, has_lifeline=given is not None)
    finally:
        _kill_all(child)


def fork_for_operation(operation: Callable[[], int], prepare: Callable[[], None]) -> int:
    """The process id of a child that calls ``prepare``, then the operation, and ends with its exit status.

    The child has none of its parent's handlers of signals. It writes an error as one line and ends with 1.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            prepare()
            with _errors_said():
                status = operation()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
    return child


@contextlib.contextmanager
def _errors_said() -> Iterator[None]:
    """Writes an error to standard error as one line, in a process that ends with it."""
    try:
        yield
    except Exception as error:
        sys.stderr.write(f"mguser: {type(error).__name__}: {ascii(str(error))[:_MOST_SAID]}\n")
        sys.stderr.flush()
        raise


def end_with_parent() -> None:
    """Have this process killed when the one that supervises it is gone; called after it has become the user."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def has_own_namespace() -> bool:
    """Whether this, an operation's process, is in a PID namespace of its own."""
    return os.getppid() == 1


def hide_from_users() -> None:
    """Let no user trace this process, or open its memory and files by way of /proc, until it becomes a program."""
    _prctl(_SET_DUMPABLE, 0)


def _run_below(operation: Callable[[], int]) -> int:
    """As the first process of the namespace: the operation's exit status, 128 and the number for a signal."""
    end_with_parent()
    _mount_proc()
    child = os.fork()
    if child == 0:
        return operation()
    while True:
        pid, ended = os.wait()
        if pid == child:
            status = os.waitstatus_to_exitcode(ended)
            return status if status >= 0 else 128 - status


def _mount_proc() -> None:
    """Have /proc show the namespace's own processes, as ``pkill`` and others expect. It is mounted for these processes
    alone, and not at all where they cannot be kept apart from the host's mounts.
    """
    if keep_mounts_apart():
        _LIBC.mount(b"proc", b"/proc", b"proc", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS, None)


def keep_mounts_apart() -> bool:
    """Have what this process and those that it starts mount be seen by them alone; False where the kernel refuses."""
    return not (_LIBC.unshare(_NEW_MOUNTS) or _LIBC.mount(b"none", b"/", None, _WITH_ALL_BELOW | _SLAVE, None))


def mount_in_memory(folder: str, options: str) -> bool:
    """Mount an empty file system in memory over the folder, without programs; returns whether that worked."""
    flags = _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS
    return not _LIBC.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", flags, options.encode("ascii"))


def unmount(folder: str) -> None:
    """Unmount what was mounted there last, also where a process still has a file of it open."""
    _LIBC.umount2(os.fsencode(folder), _DETACH)


def _close_all_but_standard() -> None:
    """Close what this process has inherited, so that no file of root's reaches a user's program."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= _STANDARD:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _wait(child: int, woken: int, until_s: float | None, *, has_lifeline: bool) -> int:
    watched = [woken, 0] if has_lifeline else [woken]
    while True:
        status = _find_status(child)
        if status is not None:
            return status
        left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
        readable = select.select(watched, [], [], left_s)[0]
        if woken in readable:
            os.read(woken, 512)
        elif (0 in readable and not os.read(0, 4096)) or left_s == 0:
            _end(child)
            return LATE


def _find_status(child: int) -> int | None:
    """The exit status of a child that has ended. It stays a zombie, so that no other process gets its number."""
    ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return int(ended.si_status) + (0 if ended.si_code == os.CLD_EXITED else 128)


def _end(child: int) -> None:
    """Ask the operation's group to end, and wait some time for it."""
    until_s = time.monotonic() + _TERM_FOR_S
    _signal(lambda: os.killpg(child, signal.SIGTERM))
    _signal(lambda: os.killpg(child, signal.SIGCONT))
    while _find_status(child) is None and time.monotonic() < until_s:
        time.sleep(0.05)


def _kill_all(child: int) -> None:
    """Kill the operation's group, then every process that it has left, as those become children of this one. A process
    that waits for a disk that does not answer cannot be killed: it is left after a few seconds.
    """
    until_s = time.monotonic() + _KILL_FOR_S
    _signal(lambda: os.killpg(child, signal.SIGKILL))
    with contextlib.suppress(_NO_CHILD_LEFT):
        while time.monotonic() < until_s:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
            for pid in _find_children():
                _kill(pid)
            time.sleep(0.01)


def _kill(pid: int) -> None:
    """Kill a child of this process, which alone can free its number."""
    _signal(lambda: os.kill(pid, signal.SIGKILL))


def _signal(send: Callable[[], None]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send()


def _find_children() -> list[int]:
    own, found = str(os.getpid()), []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[1] == own:
                    found.append(int(name))
    return found


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")
