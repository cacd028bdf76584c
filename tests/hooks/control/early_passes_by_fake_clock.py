"""Runs early passes on a clock that moves only while the process sleeps."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from hooks.control.early_pass import EarlyPasses, PassResult
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from tests.hooks.stand_in import pbs_ifl

PASS_S = 0.2
"""What each pass takes here."""


SCHEDULE = ScheduleSettings(interval_s=15)


QUIET = "Queued:0 Running:3"


MORE = "Queued:1 Running:3"


class Clock:
    """Time that passes only during a sleep; ``at`` says what happens when. PBS has set an alarm, and ``alarms`` holds
    what it was set to afterwards."""

    ITIMER_REAL = signal.ITIMER_REAL

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.at: dict[float, Callable[[], None]] = {}
        self.alarm_s = 29.0
        self.alarms: list[float] = []
        self.is_woken = False

    def monotonic(self) -> float:
        return self.now_s

    def time(self) -> float:
        return self.now_s

    def getitimer(self, which: int) -> tuple[float, float]:
        assert which == signal.ITIMER_REAL
        return self.alarm_s, 0.0

    def setitimer(self, which: int, seconds: float) -> None:
        assert which == signal.ITIMER_REAL
        self.alarms.append(seconds)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        for due_s in [due_s for due_s in self.at if due_s <= self.now_s]:
            self.at.pop(due_s)()

    def open(self, _folder: Path) -> None:
        """As the FIFO of submissions."""

    def close(self) -> None:
        """As the FIFO of submissions."""

    def wait(self, seconds: float) -> bool:
        """As the FIFO of submissions: :meth:`submit` at the moments of ``at`` ends the wait."""
        ends_s = self.now_s + seconds
        next_s = min((due_s for due_s in self.at if due_s <= ends_s), default=ends_s)
        if not self.is_woken:
            self.sleep(max(0.0, next_s - self.now_s))
        if not self.is_woken:
            self.sleep(ends_s - self.now_s)
        was_woken, self.is_woken = self.is_woken, False
        return was_woken

    def submit(self) -> None:
        """A submission has run its hook."""
        self.is_woken = True


def count(text: str) -> Callable[[], None]:
    """From now on the server counts this."""
    return lambda: pbs_ifl.WORLD["server"].update(state_count=text)


def run_early_passes(
    clock: Clock,
    config: Path,
    schedule: ScheduleSettings,
    took_s: float = PASS_S,
    spent_s: float | None = None,
    cpu_s: float | None = None,
    *,
    started: bool = False,
    unsettled: bool = False,
) -> tuple[float, float]:
    """After a pass of so many seconds, ``spent_s`` of them reading and deciding, with ``cpu_s`` of
    processor time, as many where None: when another may come, counted from when this one began, and the seconds it may
    take; 0 where none may."""
    begun_s = clock.now_s
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    early_passes.begin_pass(schedule)
    clock.sleep(took_s)
    spent_s = PASS_S if spent_s is None else spent_s
    coming = early_passes.wait(PassResult(spent_s, spent_s if cpu_s is None else cpu_s, (), started, unsettled))
    early_passes.close()
    return clock.now_s - begun_s, coming.early.left_s if coming is not None and coming.early is not None else 0.0
