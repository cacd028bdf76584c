"""What runs inside a hook under test: it counts steps and lines, and does the ordered harm at the ordered one.

It goes in front of the deployed hook, as source, so it uses the standard library alone. A step is a call of pbs_ifl or
of the operating system; a line is one of pbsteer's own. Before any harm is done a record of it is on disk: there is no
harm without that proof. In the server's main thread (every hook but periodic) nothing stays behind after the run.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
import select
import shutil
import signal
import sys
import time
from types import FrameType
from typing import Any, Callable

# The genuine calls: those below are counted, and may be made to fail.
_open, _write, _fsync, _close, _fork, _getpid = os.open, os.write, os.fsync, os.close, os.fork, os.getpid
_exists, _now = os.path.exists, time.time

_OS_STEPS = ("open", "write", "fsync", "replace", "unlink", "mkdir", "fork", "pipe", "fchmod", "waitpid", "read")
_NOT_REQUESTS = frozenset({"pbs_geterrmsg", "pbs_statfree", "pbs_delstatfree", "pbs_delattrl"})
_NO_ANSWER = "pbs_connect", "pbs_stat", "pbs_selstat"
_OURS = "<pbsteer "
_IN_FUNCTION = 0x1
"""The flag of code that has fast locals (inspect.CO_OPTIMIZED): what runs on loading has not."""

_OF_OWN = ("periodic", "second")
"""What runs in a process of its own, and so may be changed as one likes."""

_RAISED: dict[str, Callable[[str], BaseException]] = {
    "RuntimeError": RuntimeError,
    "KeyError": KeyError,
    "MemoryError": MemoryError,
    "RecursionError": RecursionError,
    "UnicodeError": UnicodeError,
    "OSError": lambda words: OSError(errno.EIO, words),
}


class Injector:
    """One run of a hook, with the order for it if there is one.

    An order is JSON: ``id``; ``do``, the harm; ``at``, what is counted ("begin", "step" or "line"); ``nth``; ``among``,
    the names of the steps that count, all if empty; ``side``, "before" or "after" the step; ``child``, whether the
    steps of the run's child processes count instead of its own; ``onwards``, whether it is done at every later one of
    the run too; ``lasting``, whether every run from now on has it; and what the harm itself needs.
    """

    def __init__(self, folder: str, event: str) -> None:
        self.folder = folder
        self.event = event
        self.pid = self.counting = _getpid()
        self.server = os.getppid() if event == "periodic" else self.pid
        self.of_own = event in _OF_OWN
        self.steps = 0
        self.total = 0
        self.lines = 0
        self.failing: int | None = None
        self.done = False
        self.has_entered = False
        self.order = self._read_order()

    # The run

    def begin(self) -> None:
        """Count from here on, and do what is ordered for the beginning."""
        if self.of_own:
            self._note(f"begin {self.pid} {_now():.3f}")
            self._wrap_steps()
        if self.order.get("at") == "line":
            sys.settrace(self._trace)
        elif self.order.get("at") == "begin":
            self._do("begin")

    def end(self) -> None:
        """The run is over: say how many steps and lines it had."""
        sys.settrace(None)
        if self.of_own:
            self._note(f"end {self.pid} {_now():.3f} {self.total} {self.lines}")

    # Counting

    def _wrap_steps(self) -> None:
        for name in _OS_STEPS:
            self._wrap(os, name, name)
        self._wrap(fcntl, "flock", "flock")
        self._wrap(select, "select", "select")
        self._wrap(io, "open", "read_file")
        with contextlib.suppress(ImportError):
            import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

            for name in dir(pbs_ifl):
                if name.startswith("pbs_") and name not in _NOT_REQUESTS and callable(getattr(pbs_ifl, name)):
                    self._wrap(pbs_ifl, name, name)
            genuine_errno = pbs_ifl.get_pbs_errno
            pbs_ifl.get_pbs_errno = lambda: genuine_errno() if self.failing is None else self.failing

    def _wrap(self, module: Any, attribute: str, name: str) -> None:
        genuine = getattr(module, attribute)

        def step(*args: Any, **options: Any) -> Any:
            if name.startswith("pbs_"):
                self.failing = None
            refused = self._count(name, "before")
            if refused is not None:
                return refused[0]
            answer = genuine(*args, **options)
            self._count(name, "after")
            return answer

        setattr(module, attribute, step)

    def _count(self, name: str, side: str) -> tuple[Any] | None:
        """One step; returns what to answer in the call's place, in a tuple, where it shall not be made at all."""
        order = self.order
        me = _getpid()
        if me != self.counting:
            self.counting, self.steps = me, 0
        self.total += side == "before" and me == self.pid
        if order.get("at") != "step" or side != order.get("side", "before"):
            return None
        if bool(order.get("child")) != (me != self.pid) or (order["among"] and name not in order["among"]):
            return None
        self.steps += 1
        if self.steps == order["nth"] or (order.get("onwards") and self.steps > order["nth"]):
            return self._do(name)
        return None

    def _trace(self, frame: FrameType, what: str, _argument: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS):
            return None
        # Lines count from the entry's first on: those of loading the modules are the same ones in every hook.
        self.has_entered = self.has_entered or (code.co_name == "handle" and "/entries/" in code.co_filename)
        if what == "line" and self.has_entered and code.co_flags & _IN_FUNCTION:
            self.lines += 1
            if self.lines == self.order["nth"]:
                self._do(f"{code.co_filename.partition(': ')[2].rstrip('>')}:{frame.f_lineno} {code.co_name}")
        return self._trace

    # Harm

    def _do(self, where: str) -> tuple[Any] | None:
        order = self.order
        if not self._record(where):
            return None
        harm = order["do"]
        if harm == "kill":
            os.kill(_getpid(), signal.SIGKILL)
        elif harm == "kill-soon":
            self._kill_later(_getpid(), order["delay_s"])
        elif harm == "kill-server":
            os.kill(self.server, signal.SIGKILL)
        elif harm == "stop":
            os.kill(_getpid(), signal.SIGSTOP)
        elif harm == "hang":
            time.sleep(600)
        elif harm == "meet":
            self._wait_for_leave()
        elif harm == "raise":
            raise _RAISED[order["error"]](f"on purpose ({order['id']})")
        elif harm == "disk-error":
            raise OSError(order["errno"], os.strerror(order["errno"]) + " (on purpose)")
        elif harm == "refuse":
            self.failing = int(order["code"])
            if where == "pbs_connect":
                return (-1,)
            return (None,) if where.startswith(_NO_ANSWER) else (self.failing,)
        elif harm == "slow":
            time.sleep(order["delay_s"])
        elif harm == "clock":
            time.time = lambda: _now() + order["offset_s"]
        elif harm == "damage":
            self._damage(order["path"], order["how"], order["share"])
        return None

    def _wait_for_leave(self) -> None:
        leave = os.path.join(self.folder, f"leave-{self.order['id']}")  # noqa: PTH118 - pathlib's calls are counted
        deadline = time.monotonic() + self.order.get("at_most_s", 20.0)
        while not _exists(leave) and time.monotonic() < deadline:
            time.sleep(0.005)

    @staticmethod
    def _kill_later(pid: int, delay_s: float) -> None:
        """A helper of its own kills the run in a moment, wherever it is then, in the middle of a call too."""
        if _fork() == 0:
            time.sleep(delay_s)
            os.kill(pid, signal.SIGKILL)
            os._exit(0)

    @staticmethod
    def _damage(path: str, how: str, share: float) -> None:
        if how == "cut":
            with contextlib.suppress(FileNotFoundError):
                os.truncate(path, int(os.path.getsize(path) * share))  # noqa: PTH202 - pathlib's calls are counted
            return
        if how == "mode":
            os.chmod(path, 0o666)  # noqa: PTH101, S103 - the same, and it is meant to be wrong
            os.chown(path, 65534, 65534)
            return
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - the same
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.remove(path)  # noqa: PTH107 - the same
        texts = {
            "empty": b"",
            "garbage": bytes(range(256)) * 8,
            "newer": b'{"version": 999999, "queues": 7, "runs": "x", "time_s": "never"}',
            "wrong": b'{"version": 1, "promises": {"1": []}, "queues": [], "runs": [1], "time_s": null}',
            "deep": b"[" * 100_000,
        }
        if how in texts:
            descriptor = _open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            _write(descriptor, texts[how])
            _close(descriptor)
        elif how == "folder":
            os.makedirs(os.path.join(path, "not-empty"))  # noqa: PTH103, PTH118 - the same
        elif how == "dangling":
            os.symlink("/nowhere/at/all", path)  # noqa: PTH211 - the same

    # Records

    def _read_order(self) -> dict[str, Any]:
        try:
            descriptor = _open(f"{self.folder}/order-{self.event}.json", os.O_RDONLY)
        except OSError:
            return {}
        text = os.read(descriptor, 1 << 16)
        _close(descriptor)
        order: dict[str, Any] = json.loads(text)
        if _exists(f"{self.folder}/hit-{order['id']}.json") and not order.get("lasting"):
            return {}
        return order

    def _record(self, where: str) -> bool:
        """Write down that the harm is about to be done; False where another process of the run was first."""
        if self.done and (self.order.get("lasting") or self.order.get("onwards")):
            return True
        record = {"pid": _getpid(), "run": self.pid, "where": where, "nth": self.steps or self.lines, "time_s": _now()}
        path = f"{self.folder}/hit-{self.order['id']}.json"
        try:
            descriptor = _open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return bool(self.order.get("lasting"))
        _write(descriptor, json.dumps(record).encode())
        _fsync(descriptor)
        _close(descriptor)
        os.link(path + ".new", path)
        self.done = True
        return True

    def _note(self, line: str) -> None:
        descriptor = _open(f"{self.folder}/{self.event}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        _write(descriptor, (line + "\n").encode())
        _close(descriptor)
