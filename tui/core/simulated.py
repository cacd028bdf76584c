"""The simulated cluster as a source: its time runs in a thread of its own, in small steps.

The cluster itself is safe for several threads; between two steps polls and changes get their turn. What goes wrong in
it becomes a sentence for the screen at the next poll.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Protocol

from hooks.picture import Picture
from policy import Ledger, Settings
from tui.core.source import Reply, SourceError

TICK_S = 0.1
_LONGEST_TICK_S = 1.0


class Answer(Protocol):
    """What the cluster says to a qmgr line."""

    @property
    def ok(self) -> bool:
        """Whether it was taken."""

    @property
    def text(self) -> str:
        """The words."""


class Cluster(Protocol):
    """What the console needs of a simulated cluster."""

    name: str
    settings: Settings
    paused: bool
    speed: float

    def picture(self) -> Picture:
        """The whole server."""

    def ledger(self) -> Ledger:
        """The ledger that its hooks published."""

    def read_queue(self, queue: str) -> Mapping[str, str] | None:
        """One queue; None where there is none of that name."""

    def qmgr(self, line: str) -> Answer:
        """Take one qmgr line."""

    def advance(self, real_seconds: float) -> float:
        """Let so much of the watcher's time pass."""

    def pause(self) -> None:
        """Stop its time."""

    def resume(self) -> None:
        """Let its time go on."""

    def step(self) -> None:
        """One pass further."""

    def set_speed(self, speed: float) -> None:
        """Simulated seconds per second."""

    def close(self) -> None:
        """Let go of what it holds."""


class SimSource:
    """A simulated cluster that runs by itself once :meth:`start` was called."""

    simulated = True

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._closed = threading.Event()
        self._failure = ""

    def start(self) -> None:
        """Let its time run in a thread."""
        threading.Thread(target=self._run, name="simulated cluster", daemon=True).start()

    def _run(self) -> None:
        before_s = time.monotonic()
        try:
            while not self._closed.wait(TICK_S):
                now_s = time.monotonic()
                self._cluster.advance(min(now_s - before_s, _LONGEST_TICK_S))
                before_s = now_s
        except Exception as error:  # noqa: BLE001 - it belongs on the screen, not on a dead thread's stderr
            self._failure = f"the simulated cluster stopped: {type(error).__name__}: {error}"

    @property
    def name(self) -> str:
        """The name it goes by."""
        return self._cluster.name

    @property
    def paused(self) -> bool:
        """True while its time stands still."""
        return self._cluster.paused

    @property
    def speed(self) -> int:
        """Simulated seconds per second."""
        return round(self._cluster.speed)

    def poll(self) -> Picture:
        """One picture. Raises :class:`SourceError` where its time has stopped for good."""
        if self._failure:
            raise SourceError(self._failure)
        return self._cluster.picture()

    def settings(self) -> Settings:
        """The settings its hooks run with."""
        return self._cluster.settings

    def ledger(self) -> Ledger:
        """The ledger its hooks published."""
        return self._cluster.ledger()

    def read_queue(self, queue: str) -> Mapping[str, str]:
        """One queue."""
        found = self._cluster.read_queue(queue)
        if found is None:
            raise SourceError(f"queue {queue!r} is not on the simulated cluster")
        return found

    def write(self, line: str) -> Reply:
        """Send one qmgr line."""
        said = self._cluster.qmgr(line)
        return Reply(said.ok, said.text)

    def pause(self) -> None:
        """Stop its time."""
        self._cluster.pause()

    def resume(self) -> None:
        """Let its time go on."""
        self._cluster.resume()

    def step(self) -> None:
        """One pass further, and then pause."""
        self._cluster.pause()
        self._cluster.step()

    def set_speed(self, speed: int) -> None:
        """Set the speed, 1 to 1000."""
        self._cluster.set_speed(speed)

    def close(self) -> None:
        """Stop the thread and let go of the cluster."""
        self._closed.set()
        self._cluster.close()
