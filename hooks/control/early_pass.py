"""Between two passes that are due: a pass ahead of its time, soon after jobs have come or gone.

PBS runs a periodic hook at its interval and never sooner, so the process of a pass that drives stays for a while. It
looks at how many jobs the server counts in each state, and in which state each reservation is: two small requests.
There is something to do where that is not what it was before the last pass read the server, and after each pass that
has started jobs: as many may have ended meanwhile, and subjobs that wait are not counted. Passes ahead of time read and
decide for a tenth of a core's time at most. The process ends before the next pass is due, and at once where it is not
the server's any more or the hook has changed. While it starts jobs it stays, and makes the passes that are due itself:
PBS takes a second or two of a busy host to make another process, and a whole interval where this one ends too late.

A job that a pass of this process has started, or tried to start, and that waits again, is left to the pass that is due:
its starts may fail at once, and PBS holds a job for ever after twenty.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from hooks.pbs.client import Connection, IflError
from policy.settings.site_settings import PassSettings

_SHARE = 10
"""A pass ahead of its time begins no sooner after the last one began than so many times the processor time in which
that one read and decided. Waiting for a busy server costs nothing, and an answer costs the server no more than the pass
that reads it."""

_SHORTEST_PASS_S = 0.5
"""None comes ahead of its time with less time than this."""

_LEAVES_S = 0.4
"""The end of a process takes so long until PBS has seen it: with less time, it stays for the pass that is due."""

_STAYS_S = 900.0
"""A process makes no pass that is due later than so long after it began: PBS clears away the files of a hook's process
in ``hooks/tmp`` after 20 minutes."""

_SHORTEST_S, _LONGEST_S = 0.1, 1.0
"""Between two looks: one more often would be felt by the server, a rarer one leaves the process there after its end."""

_BREATH_S = 0.02
"""After a pass that has started jobs another one needs no look, and comes after this time at least."""

_BUSY_S = 2.0
"""For so long after a pass that has started jobs each look comes after the shortest time: jobs that end at once leave
their cores idle until one sees it."""

_UNSETTLED_S = 1.0
"""After a pass that has switched a scheduler, or waits for the end of its cycle, the next one comes so much later."""

_FILES = (".HK", ".PY", ".CF")
"""What PBS keeps of a hook, and replaces when somebody changes it: its attributes, its script, its settings."""

_Stamp = list[tuple[int, int]]


class Passed(NamedTuple):
    """What a pass has come to. It read and decided for ``spent_s``, of which ``cpu_s`` were its own processor time,
    ``tried`` to start these, and ``has_started`` some. ``is_unsettled`` says that a scheduler is just being switched:
    the next pass has to go on with that."""

    spent_s: float
    cpu_s: float
    tried: Sequence[str] = ()
    has_started: bool = False
    is_unsettled: bool = False


class Ahead(NamedTuple):
    """A pass ahead of its time: the seconds that it may take, and the jobs and subjobs that it must not start."""

    left_s: float
    tried: frozenset[str] = frozenset()


class Next(NamedTuple):
    """The pass that comes next: ``ahead`` of its time, or due where that is None."""

    ahead: Ahead | None = None


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
        # PBS counts in whole seconds when it runs the hook again, from when it made this process.
        age_s = _read_age_s()
        self._begun_s = time.monotonic() - age_s - (time.time() - age_s) % 1
        self._due_s = self._pass_s = self._begun_s
        self._intervals = 1
        # PBS interrupts this process by the timer of alarm(2), which shows what PBS gave it.
        self._alarm_s = signal.getitimer(signal.ITIMER_REAL)[0]
        self._schedule = PassSettings()
        self._seen: Look | None = Look()
        self._tried: set[str] = set()
        self._follows_starts = False
        self._busy_until_s = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the hook is another one by now, or the process no longer the server's."""
        return os.getppid() != self._server or _stamp(self._config) != self._stamp

    def begin_pass(self, schedule: PassSettings) -> None:
        """Note what the server counts before the pass reads it: not after a pass that has started jobs, as this one
        starts others, as a rule, and is then followed whatever the server counts."""
        self._pass_s = time.monotonic()
        self._due_s = self._begun_s + self._intervals * schedule.interval_s
        self._schedule = schedule
        if self._follows_starts:
            self._seen = None
            return
        self._seen = Look()
        if schedule.look_s and time.monotonic() < self._due_s and hasattr(self._ifl, "_pbs_ifl"):
            try:
                with Connection(self._ifl) as connection:
                    self._seen = Look.read(connection)
            except IflError:
                return

    def wait(self, passed: Passed) -> Next | None:
        """Wait until there is something to do; None where no pass comes any more, also where PBS's alarm ends the
        waiting. Another pass will need as long as the last one read and decided."""
        try:
            return self._wait(passed)
        except (IflError, KeyboardInterrupt):
            return None

    def _wait(self, passed: Passed) -> Next | None:
        self._tried.update(passed.tried)
        now_s = time.monotonic()
        if self._seen is not None and not self._seen.counts:
            return None
        self._follows_starts = passed.has_started
        if passed.has_started:
            self._busy_until_s = now_s + _BUSY_S
        took_s = now_s - self._pass_s
        has_more = passed.has_started or passed.is_unsettled
        rested_s = max(self._pass_s + _SHARE * passed.cpu_s, now_s + (_UNSETTLED_S if passed.is_unsettled else 0.0))
        last_s = self._due_s - max(_SHORTEST_PASS_S, 2 * passed.spent_s)
        if rested_s >= last_s:
            return self._stay(now_s, rested_s, took_s)
        looks = not has_more and self._seen is not None
        longest_s = min(max(self._schedule.look_s, _SHORTEST_S), _LONGEST_S)
        with Connection(self._ifl) if looks else nullcontext() as connection:
            while True:
                is_soon = not looks or now_s < self._busy_until_s
                pause_s = _BREATH_S if has_more else _SHORTEST_S if is_soon else longest_s
                time.sleep(min(max(pause_s, rested_s - now_s), longest_s, max(0.0, last_s - now_s)))
                now_s = time.monotonic()
                if self.is_over:
                    return None
                if now_s >= last_s:
                    return self._stay(now_s, rested_s, took_s)
                if now_s >= rested_s and (connection is None or Look.read(connection) != self._seen):
                    return Next(Ahead(self._due_s - now_s, frozenset(self._tried)))

    def _stay(self, now_s: float, rested_s: float, took_s: float) -> Next | None:
        """The pass that is due, made here: while jobs are being started, once the last pass has been rested from, and
        where it is too late to end, since PBS makes no other process for it then. None at the end of the time that a
        process has, and after a pass that took half an interval. PBS's alarm is set anew, as in another process; one
        that has none makes no further pass."""
        is_busy, is_late = now_s < self._busy_until_s, now_s > self._due_s - _LEAVES_S
        is_slow = 2 * took_s > self._schedule.interval_s
        if not (is_busy or is_late) or is_slow or self._due_s > self._begun_s + _STAYS_S or not self._alarm_s:
            return None
        begins_s = min(rested_s, self._due_s) if is_busy else self._due_s
        time.sleep(max(0.0, begins_s - now_s))
        if self.is_over:
            return None
        signal.setitimer(signal.ITIMER_REAL, self._alarm_s)
        self._intervals += 1
        self._tried.clear()
        return Next()


class Look(NamedTuple):
    """What the server shows at a look: how many jobs it counts in each state, in its own words, and the states of the
    reservations."""

    counts: str = ""
    reservations: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def read(cls, connection: Connection) -> Look:
        """Two small requests. Raises :class:`hooks.pbs.client.IflError`."""
        return cls(connection.read_counts(), connection.read_reservation_states())


def _read_age_s() -> float:
    """Seconds since this process was made, which is before its interpreter was ready; 0 where that cannot be read."""
    try:
        ticks = int(
            Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
        )
        uptime_s = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0
    return max(0.0, uptime_s - ticks / os.sysconf("SC_CLK_TCK"))


def _stamp(config: str | None) -> _Stamp:
    """Which versions of the hook's files are there."""
    return [_version(Path(config).with_suffix(suffix)) for suffix in _FILES] if config else []


def _version(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino
