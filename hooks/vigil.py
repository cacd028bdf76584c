"""Between two passes that are due: a pass ahead of its time, soon after jobs have come or gone.

PBS runs a periodic hook at its interval and never sooner, so the process of a pass that drives stays for a while. It
looks at how many jobs the server counts in each state, one small request, and where that is not what it was before the
last pass read the server there is something to do. Reading for passes ahead of time takes a tenth of the time at most.
The process ends before the next pass is due, and at once where it is not the server's any more or the hook has changed.

A job that a pass of this process has started, or tried to start, and that waits again, is left to the pass that is due:
its starts may fail at once, and PBS holds a job for ever after twenty.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from hooks.ifl import Connection, IflError
from policy.settings import PassSettings

_REST = 9
"""Times as long as the last pass read and decided, no other comes ahead of its time."""

_BEFORE_DUE_S = 2.0
_SHORTEST_PASS_S = 1.0
"""None comes with less time than this: PBS counts whole seconds, and ends what reaches into the next interval."""

_SHORTEST_S, _LONGEST_S = 0.1, 1.0
"""Between two looks: one more often would be felt by the server, a rarer one leaves the process there after its end."""

_FILES = (".HK", ".PY", ".CF")
"""What PBS keeps of a hook, and replaces when somebody changes it: its attributes, its script, its settings."""

_Stamp = list[tuple[int, int]]


class Ahead(NamedTuple):
    """A pass ahead of its time: the seconds that it may take, and the jobs and subjobs that it must not start."""

    left_s: float
    tried: frozenset[str] = frozenset()


class Vigil:
    """For one run of the hook. ``config`` is its settings' file; say :meth:`begin_pass` before each pass.

    A simulated server comes with its own clock and has no use for this. (The module of a real one is SWIG's, and
    carries its C half as ``_pbs_ifl``.)
    """

    def __init__(self, pbs_ifl: Any, config: str | None) -> None:
        self._ifl = pbs_ifl
        self._config = config
        self._server = os.getppid()
        self._stamp = _stamp(config)
        self._due_s = self._begun_s = time.monotonic()
        self._look_s = 0.0
        self._counts = ""
        self._tried: set[str] = set()

    @property
    def is_over(self) -> bool:
        """Whether the hook is another one by now, or the process no longer the server's."""
        return os.getppid() != self._server or _stamp(self._config) != self._stamp

    def begin_pass(self, schedule: PassSettings) -> None:
        """Note what the server counts before the pass reads it."""
        self._due_s = self._begun_s + schedule.interval_s - _BEFORE_DUE_S
        self._look_s = schedule.look_s
        self._counts = ""
        if self._look_s and time.monotonic() < self._due_s and hasattr(self._ifl, "_pbs_ifl"):
            try:
                with Connection(self._ifl) as connection:
                    self._counts = connection.read_counts()
            except IflError:
                return

    def wait(self, spent_s: float, tried: Iterable[str] = ()) -> Ahead | None:
        """Wait until there is something to do; None where no pass comes any more. The last one read and decided for
        ``spent_s``, so that another will need as much, and ``tried`` to start these."""
        self._tried.update(tried)
        now_s = time.monotonic()
        rested_s = now_s + _REST * spent_s
        last_s = self._due_s - max(_SHORTEST_PASS_S, 2 * spent_s)
        if not self._counts or rested_s >= last_s:
            return None
        try:
            with Connection(self._ifl) as connection:
                while True:
                    time.sleep(min(max(self._look_s, _SHORTEST_S), _LONGEST_S, max(0.0, last_s - now_s)))
                    now_s = time.monotonic()
                    if now_s >= last_s or self.is_over:
                        return None
                    if now_s >= rested_s and connection.read_counts() != self._counts:
                        return Ahead(self._due_s - now_s, frozenset(self._tried))
        except IflError:
            return None


def _stamp(config: str | None) -> _Stamp:
    """Which versions of the hook's files are there."""
    return [_version(Path(config).with_suffix(suffix)) for suffix in _FILES] if config else []


def _version(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino
