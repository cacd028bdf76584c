"""Early passes: run before the next interval when the server's job counts or reservation states change, or when it is
time for what the last plan has set for a moment, such as the save before a promised start.

PBS runs a periodic hook at its interval and never sooner, so the process of a pass that drives stays. It polls the
server with two small requests, at intervals and as soon as a submission wakes it (README.md).
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from hooks.control.wait_for_submission import SubmissionWait
from hooks.pbs.client.pbs_ifl_client import Connection, IflError, is_real_server
from policy.plan.plan_types import Plan
from policy.settings.settings_of_server_and_passes import ScheduleSettings

_SHARE = 10
"""An early pass begins at least so many times the last pass's processor time (of reading and deciding) after that pass
began. The time that a pass waits for a busy server is not its processor time. The server needs no longer to answer than
the pass needs to read the answer."""

_SHORTEST_PASS_S = 0.5
"""No early pass begins with less time than this."""

_LEAVES_S = 0.4
"""How long PBS takes to see that a process has ended: with less time left, the process stays for the due pass."""

_STAYS_S = 900.0
"""A process makes no due pass later than this after its own start: PBS deletes the files of a hook's process in
``hooks/tmp`` after 20 minutes."""

_SHORTEST_S, _LONGEST_S = 0.1, 1.0
"""Between two polls: more frequent ones would load the server, rarer ones delay the end of the process."""

_BREATH_S = 0.02
"""After a pass that has started jobs another one follows without a poll, after this time at least."""

_BUSY_S = 2.0
"""For this long after a pass that has started jobs, polls come at the shortest interval: jobs that end at once leave
their cores idle until a poll sees it."""

_WOKEN_S = (0.002, 0.002, 0.003, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
"""Before each poll after a submission has woken the process: its hook runs before the server has the job, which mostly
takes some milliseconds more. Submissions meanwhile wake it no further, so there are fewer than thirty such polls a
second."""

_APART_S = 1.0
"""A pass that only the plan's time calls for begins so long after the last one began at least."""

_UNSETTLED_S = 1.0
"""After a pass that has switched a scheduler, or waits for the end of its cycle, the next one comes this much later."""

_FILES = (".HK", ".PY", ".CF")
"""PBS's files of a hook, replaced when the hook is changed: its attributes, its script, its settings."""

_Stamp = list[tuple[int, int]]


class PassResult(NamedTuple):
    """What a pass did, for the next one. ``spent_s``: seconds of reading and deciding, of which ``cpu_s`` were its own
    processor time; ``tried``: the jobs that it tried to start; ``has_started``: whether some were; ``is_unsettled``: a
    scheduler is being switched, and the next pass has to go on with that; ``next_s``: the first moment, in seconds
    since 1970, at which time alone makes a pass do something else, None if there is none."""

    spent_s: float
    cpu_s: float
    tried: Sequence[str] = ()
    has_started: bool = False
    is_unsettled: bool = False
    next_s: float | None = None


class EarlyPass(NamedTuple):
    """An early pass: the seconds left until the due one, and the jobs and subjobs that it must not start."""

    left_s: float
    tried: frozenset[str] = frozenset()


class NextPass(NamedTuple):
    """The next pass: an early one, or the one that is due if ``early`` is None."""

    early: EarlyPass | None = None


class EarlyPasses:
    """Waits between the passes of one run of the hook. ``config`` is the file of its settings, ``folder`` pbsteer's;
    call :meth:`begin_pass` before each pass, with the folder locked, and :meth:`close` in the end.

    A simulated server has its own clock and no use for this.
    """

    def __init__(self, pbs_ifl: Any, config: str | None, folder: Path) -> None:
        self._ifl = pbs_ifl
        self._files = _files_of_hook(config)
        self._folder = folder
        self._submissions = SubmissionWait()
        self._connection: Connection | None = None
        self._open = ExitStack()
        self._server = os.getppid()
        self._stamp = _stamp(self._files)
        # PBS counts the interval in whole seconds from when it made this process.
        age_s = _read_age_s()
        self._begun_s = time.monotonic() - age_s - (time.time() - age_s) % 1
        self._due_s = self._pass_s = self._begun_s
        self._intervals = 1
        # PBS interrupts this process by alarm(2). The timer shows what is left of the time that PBS gave it: on a busy
        # host the start of its interpreter has taken some.
        left_s = signal.getitimer(signal.ITIMER_REAL)[0]
        self._alarm_s = left_s and left_s + age_s
        self._schedule = ScheduleSettings()
        self._seen: ServerPoll | None = ServerPoll()
        self._changed: ServerPoll | None = None
        self._tried: set[str] = set()
        self._follows_starts = False
        self._busy_until_s = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the hook has changed, or the process is no longer the server's child."""
        return os.getppid() != self._server or _stamp(self._files) != self._stamp

    @contextmanager
    def connect(self, pbs_ifl: Any) -> Iterator[Connection]:
        """The connection of all passes and polls of this process: PBS needs some ten milliseconds to open one. After an
        error another one is opened."""
        if self._connection is None:
            self._connection = self._open.enter_context(Connection(pbs_ifl))
        try:
            yield self._connection
        except BaseException:
            self._disconnect()
            raise

    def close(self) -> None:
        """Close the connection and the FIFO."""
        self._disconnect()
        self._submissions.close()

    def _disconnect(self) -> None:
        self._connection = None
        self._open.close()

    def begin_pass(self, schedule: ScheduleSettings) -> None:
        """Begin a pass: read the server's counts before the pass reads the server, where the poll that brought it has
        not. They are not read after a pass that has started jobs, since this one usually starts others, and is then
        followed by another whatever the counts are."""
        self._pass_s = time.monotonic()
        self._due_s = self._begun_s + self._intervals * schedule.interval_s
        self._schedule = schedule
        changed, self._changed = self._changed, None
        if self._follows_starts:
            self._seen = None
            return
        if changed is not None:
            self._seen = changed
            return
        self._seen = ServerPoll()
        if schedule.look_s and time.monotonic() < self._due_s and is_real_server(self._ifl):
            self._submissions.open(self._folder)
            try:
                with self.connect(self._ifl) as connection:
                    self._seen = ServerPoll.read(connection)
            except IflError:
                return

    def wait(self, passed: PassResult) -> NextPass | None:
        """Wait until there is something to do; None if no further pass comes, also if PBS's alarm ends the waiting. The
        next pass is expected to take as long as the last one read and decided."""
        try:
            return self._wait(passed)
        except (IflError, KeyboardInterrupt):
            return None

    def _wait(self, passed: PassResult) -> NextPass | None:
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
        timed_s = max(rested_s, self._time_of(passed.next_s, now_s))
        seen = None if has_more else self._seen
        longest_s = min(max(self._schedule.look_s, _SHORTEST_S), _LONGEST_S)
        woken_s: Iterator[float] = iter(())
        soon_s: float | None = None
        poll_s = now_s + self._pause_s(now_s, longest_s, has_more=has_more)
        while True:
            begins_s = rested_s if now_s < rested_s else poll_s
            pause_s = max(0.0, min(begins_s, last_s, timed_s, now_s + longest_s) - now_s)
            is_woken = False
            if seen is None or soon_s is not None or now_s < rested_s:
                time.sleep(pause_s)
            else:
                is_woken = self._submissions.wait(pause_s)
            now_s = time.monotonic()
            if self.is_over:
                return None
            if now_s >= last_s:
                return self._stay(now_s, rested_s, took_s)
            if is_woken:
                woken_s = iter(_WOKEN_S)
            elif now_s < min(max(poll_s, rested_s), timed_s):
                continue
            elif now_s >= timed_s or seen is None or self._has_changed(seen):
                return NextPass(EarlyPass(self._due_s - now_s, frozenset(self._tried)))
            soon_s = next(woken_s, None)
            poll_s = now_s + (self._pause_s(now_s, longest_s) if soon_s is None else soon_s)

    def _pause_s(self, now_s: float, longest_s: float, *, has_more: bool = False) -> float:
        """Before the next poll, or the pass that needs none."""
        is_soon = self._seen is None or now_s < self._busy_until_s
        return _BREATH_S if has_more else _SHORTEST_S if is_soon else longest_s

    def _has_changed(self, seen: ServerPoll) -> bool:
        """Poll the server: whether it differs from what was seen before the last pass read it. If so, this poll is what
        was seen before the next one."""
        with self.connect(self._ifl) as connection:
            poll = seen.read_again(connection)
        self._changed = poll if poll != seen else None
        return self._changed is not None

    def _time_of(self, next_s: float | None, now_s: float) -> float:
        """The plan's time on the clock of this class; never if the plan has none."""
        if next_s is None:
            return math.inf
        return max(now_s + next_s - time.time(), self._pass_s + _APART_S)

    def _stay(self, now_s: float, rested_s: float, took_s: float) -> NextPass | None:
        """Wait for the due pass and make it here: while jobs are being started, as soon as the rest after the last pass
        is over; and if it is too late to end, since PBS makes no other process for it then. None otherwise, once the
        process has reached its age limit, and after a pass that took half an interval. PBS's alarm is set anew, as in
        another process; a process without an alarm makes no further pass."""
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
        return NextPass()


class ServerPoll(NamedTuple):
    """One poll of the server: its count of jobs in each state, as PBS reports it, and the states of the
    reservations."""

    counts: str = ""
    reservations: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def read(cls, connection: Connection) -> ServerPoll:
        """Poll the server with two small requests. Raises :class:`hooks.pbs.client.pbs_ifl_client.IflError`."""
        return cls(connection.read_counts(), connection.read_reservation_states())

    def read_again(self, connection: Connection) -> ServerPoll:
        """Poll the server again; where the counts have changed, the reservations are left as they were seen. Raises
        :class:`hooks.pbs.client.pbs_ifl_client.IflError`."""
        counts = connection.read_counts()
        if counts != self.counts:
            return self._replace(counts=counts)
        return self._replace(reservations=connection.read_reservation_states())


def _read_age_s() -> float:
    """Seconds since this process was made, before its interpreter was ready; 0 if that cannot be read."""
    try:
        ticks = int(
            Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
        )
        uptime_s = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0
    return max(0.0, uptime_s - ticks / os.sysconf("SC_CLK_TCK"))


def _files_of_hook(config: str | None) -> list[Path]:
    """PBS's files of the hook with that file of settings."""
    return [Path(config).with_suffix(suffix) for suffix in _FILES] if config else []


def _stamp(files: Iterable[Path]) -> _Stamp:
    """The versions of the hook's files."""
    return [_version(path) for path in files]


def changed_s(config: str | None) -> float:
    """When the hook's files were last changed, in seconds since 1970; 0 if that cannot be read."""
    return max((changed_ns / 1e9 for changed_ns, _ in _stamp(_files_of_hook(config))), default=0.0)


def _version(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


def find_next_s(plan: Plan, grace_s: float) -> float | None:
    """When time alone makes a pass do something else: the plan's own time (a save before a promised start, a delay that
    is over), or the end of a victim's time to save. None if there is no such moment."""
    ends_s = (earmark.since_s + grace_s for earmark in plan.ledger.earmarks.values() if earmark.victims)
    moments_s = [] if plan.next_s is None else [plan.next_s]
    return min((at_s for at_s in (*moments_s, *ends_s) if at_s > plan.time_s), default=None)
