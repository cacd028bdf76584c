"""The simulated cluster as a source: its time runs in a thread of its own, in small steps.

The cluster itself is safe for several threads; between two steps polls and changes get their turn. What goes wrong in
it becomes a sentence for the screen at the next poll.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from hooks.pbs.status import Picture
from policy import Ledger, Settings
from tui.audit.log import AUDIT_FILE
from tui.backends.base import Reply, SourceError
from tui.backends.interpreter import COLLECTOR
from tui.backends.journal import JournalReader

TICK_S = 0.1
_LONGEST_TICK_S = 1.0


class Answer(Protocol):
    """What the cluster says to a command."""

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
    state_folder: Path

    def picture(self) -> Picture:
        """The whole server."""

    def ledger(self) -> Ledger:
        """The ledger that its hooks published."""

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """One job, vnode or queue; None where there is none of that name."""

    def finished(self, window_s: float) -> Mapping[str, Mapping[str, str]]:
        """The jobs that ended in the last simulated seconds."""

    def run(self, argv: Sequence[str]) -> Answer:
        """Take what one of PBS's programs would send."""

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


class Folder(Protocol):
    """A folder with an end."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def close(self) -> Callable[[], object]:
        """Removes it."""


class SimSource:
    """A simulated cluster that runs by itself once :meth:`start` was called."""

    simulated = True
    spool = None

    def __init__(self, cluster: Cluster, load: Callable[[Path, str], Cluster], own: Folder) -> None:
        """``load`` makes a cluster of a trace and of what was said about its size (empty: nothing); it raises
        :class:`SourceError`. ``own`` is a folder for as long as this lives: changes to it are written down there."""
        self._cluster = cluster
        self._load = load
        self._own = own
        self._closed = threading.Event()
        self._failure = ""
        self._moving = threading.Lock()
        self.journal = JournalReader(cluster.state_folder)

    def start(self) -> None:
        """Let its time run in a thread."""
        threading.Thread(target=self._run, name="simulated cluster", daemon=True).start()

    def _run(self) -> None:
        before_s = time.monotonic()
        try:
            while not self._closed.wait(TICK_S):
                now_s = time.monotonic()
                with self._moving, COLLECTOR.out_of_sight():
                    self._cluster.advance(min(now_s - before_s, _LONGEST_TICK_S))
                before_s = now_s
        except Exception as error:  # noqa: BLE001 - it belongs on the screen, not on a dead thread's stderr
            self._failure = f"the simulated cluster stopped: {type(error).__name__}: {error}"

    @property
    def name(self) -> str:
        """The name it goes by."""
        return self._cluster.name

    def names(self) -> tuple[str, ...]:
        """Its only name."""
        return (self.name,)

    @property
    def own_audit(self) -> Path:
        """A file that goes with it: practice is no record of what was done to a server."""
        return self._own.path / AUDIT_FILE

    def shared_audit(self) -> None:
        """Nobody else changes it."""

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

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """One object; None where it is not there."""
        return self._cluster.read(kind, name)

    def finished(self, window_s: float) -> Mapping[str, Mapping[str, str]]:
        """The jobs that ended in the last simulated seconds."""
        return self._cluster.finished(window_s)

    def run(self, argv: Sequence[str]) -> Reply:
        """Send what one of PBS's programs would."""
        said = self._cluster.run(argv)
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

    def load(self, path: Path, size: str) -> None:
        """Begin again with the jobs of a trace, as fast as now. Raises :class:`SourceError`, and goes on as it was."""
        fresh = self._load(path, size)
        with self._moving:
            before, self._cluster = self._cluster, fresh
            fresh.set_speed(before.speed)
            self.journal = JournalReader(fresh.state_folder)
            self._failure = ""
            before.close()

    def close(self) -> None:
        """Stop the thread and let go of the cluster."""
        self._closed.set()
        self._cluster.close()
        self._own.close()
