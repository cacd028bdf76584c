"""The simulated cluster as a backend: its time advances in a thread of its own, in small steps.

The cluster is thread safe; polls and changes run between two steps. An error in the thread becomes a sentence for the
screen at the next poll.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy import Ledger, Settings
from tui.audit.audit_file import AUDIT_FILE
from tui.backends.interface.backend_protocol import MOST_LOG_LINES, BackendError, Reply
from tui.backends.pass_journal import JournalReader
from tui.backends.pbs.build_change_commands import PbsCommands
from tui.backends.thread_and_gc_tuning import COLLECTOR

TICK_S = 0.1
_LONGEST_TICK_S = 1.0
_MEASURED_S = 4.0
"""The real rate is that of so many last seconds."""
SPEED_AT_FIRST = 10.0
"""Simulated seconds in each second until something else is chosen."""


class Answer(Protocol):
    """The cluster's reply to a command."""

    @property
    def ok(self) -> bool:
        """Whether the command was accepted."""

    @property
    def text(self) -> str:
        """The message."""


class Cluster(Protocol):
    """What the console needs of a simulated cluster."""

    name: str
    settings: Settings
    paused: bool
    speed: float
    state_folder: Path

    def server_status(self) -> ServerStatus:
        """The status of the whole server."""

    def ledger(self) -> Ledger:
        """The ledger that its hooks published."""

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """The attributes of one object; None if there is none of that name."""

    def finished(self, window_s: float) -> Mapping[str, Mapping[str, str]]:
        """The jobs that ended in the last ``window_s`` simulated seconds."""

    def used(self) -> Mapping[str, Mapping[str, str]]:
        """The ``resources_used`` of the jobs that run."""

    def log(self) -> Sequence[str]:
        """The server's log, oldest line first."""

    def run(self, argv: Sequence[str]) -> Answer:
        """Carry out what one of PBS's programs would request."""

    def advance(self, real_seconds: float) -> float:
        """Advance by so many real seconds at the present speed."""

    def pause(self) -> None:
        """Stop the time."""

    def resume(self) -> None:
        """Let the time run again."""

    def step(self) -> None:
        """Advance by one pass."""

    def set_speed(self, speed: float) -> None:
        """Set the simulated seconds per second."""

    def close(self) -> None:
        """Free all resources."""


class Folder(Protocol):
    """A temporary folder."""

    @property
    def path(self) -> Path:
        """Its path."""

    @property
    def close(self) -> Callable[[], object]:
        """The function that removes it."""


class SimulatedBackend:
    """A simulated cluster that runs by itself after :meth:`start`.

    It may be built by the first call that needs it, which is the first poll: a console then has its first frame before
    the cluster is there. Its name, its speed and whether it stands still are known without it.
    """

    simulated = True
    spool = None
    commands = PbsCommands()
    system = "PBS"

    def __init__(
        self,
        cluster: Cluster | Callable[[], Cluster],
        load: Callable[[Path, str], Cluster],
        own: Folder,
        name: str = "",
    ) -> None:
        """``cluster`` is the cluster, or makes it, which takes a while; ``name`` is its name until then. ``load`` makes
        one from a trace and its size (empty: not given); it raises :class:`BackendError`. ``own`` is a folder that
        lives as long as this backend and holds its audit file."""
        self._make = cluster if callable(cluster) else None
        self._built = None if callable(cluster) else cluster
        self._load = load
        self._own = own
        self._name = name
        self._closed = threading.Event()
        self._failure = ""
        self._building = threading.Lock()
        self._moving = threading.Lock()
        self._journal: JournalReader | None = None
        # The last steps of the thread, in real and in simulated seconds.
        self._steps: tuple[tuple[float, float], ...] = ()

    @property
    def _cluster(self) -> Cluster:
        """The cluster; the first call that needs it builds it, and others wait for that."""
        with self._building:
            if self._built is None and self._make is not None:
                built = self._make()
                if self._closed.is_set():
                    built.close()
                    raise BackendError("the console is being left")
                self._built, self._make = built, None
            if self._built is None:
                raise BackendError("the console is being left")
            return self._built

    @property
    def journal(self) -> JournalReader:
        """The reader of the passes' journal."""
        if self._journal is None:
            self._journal = JournalReader(self._cluster.state_folder)
        return self._journal

    def start(self) -> None:
        """Let the time run in a thread, from when the cluster is built."""
        threading.Thread(target=self._run, name="simulated cluster", daemon=True).start()

    def _run(self) -> None:
        while self._built is None:
            if self._closed.wait(TICK_S):
                return
        before_s = time.monotonic()
        try:
            while not self._closed.wait(TICK_S):
                now_s = time.monotonic()
                with self._moving, COLLECTOR.frozen_objects():
                    moved_s = self._cluster.advance(min(now_s - before_s, _LONGEST_TICK_S))
                self._note(now_s - before_s, moved_s)
                before_s = now_s
        except Exception as error:  # noqa: BLE001 - it belongs on the screen, not on a dead thread's stderr
            self._failure = f"the simulated cluster stopped: {type(error).__name__}: {error}"

    def _note(self, real_s: float, moved_s: float) -> None:
        """Take a step into the real rate."""
        steps = [] if self.paused else [*self._steps, (real_s, moved_s)]
        while len(steps) > 1 and sum(real for real, _ in steps[1:]) >= _MEASURED_S:
            del steps[0]
        self._steps = tuple(steps)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self._name if self._built is None else self._built.name

    def names(self) -> tuple[str, ...]:
        """The cluster's only name."""
        return (self.name,)

    @property
    def own_audit(self) -> Path:
        """A file that is deleted with the backend: changes made for practice do not belong into a server's audit."""
        return self._own.path / AUDIT_FILE

    def shared_audit(self) -> None:
        """None: there are no other administrators."""

    @property
    def paused(self) -> bool:
        """Whether the time is stopped."""
        return self._built is not None and self._built.paused

    @property
    def speed(self) -> int:
        """Simulated seconds per second, as chosen."""
        return round(SPEED_AT_FIRST if self._built is None else self._built.speed)

    @property
    def rate(self) -> int | None:
        """Simulated seconds per second, as they have passed in the last seconds; None while these are too few."""
        steps = self._steps
        real_s = sum(real for real, _ in steps)
        return round(sum(moved for _, moved in steps) / real_s) if real_s >= _MEASURED_S else None

    def build(self) -> None:
        """Build the cluster, if it is not there yet. Raises :class:`BackendError`."""
        _ = self._cluster

    def poll(self) -> ServerStatus:
        """The server status. Raises :class:`BackendError` if the simulation has failed."""
        if self._failure:
            raise BackendError(self._failure)
        return self._cluster.server_status()

    def settings(self) -> Settings:
        """The settings that its hooks run with."""
        return self._cluster.settings

    def ledger(self) -> Ledger:
        """The ledger that its hooks published."""
        return self._cluster.ledger()

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """The attributes of one object; None if it is not there."""
        return self._cluster.read(kind, name)

    def finished(self, window_s: float) -> Mapping[str, Mapping[str, str]]:
        """The jobs that ended in the last ``window_s`` simulated seconds."""
        return self._cluster.finished(window_s)

    def used(self) -> Mapping[str, Mapping[str, str]]:
        """The ``resources_used`` of the jobs that run."""
        return self._cluster.used()

    def script(self, job_id: str) -> str:
        """None: the reason."""
        raise BackendError("jobs of a simulated cluster have no script")

    def log_lines(self, job_id: str, days: int) -> Sequence[str]:
        """The lines of the simulated server's log about a job, as far as it is kept."""
        return [line for line in self._cluster.log() if f";{job_id};" in line][-MOST_LOG_LINES:]

    def run(self, argv: Sequence[str]) -> Reply:
        """Carry out what one of PBS's programs would request."""
        reply = self._cluster.run(argv)
        return Reply(reply.ok, reply.text)

    def pause(self) -> None:
        """Stop the time."""
        self._cluster.pause()

    def resume(self) -> None:
        """Let the time run again."""
        self._cluster.resume()

    def step(self) -> None:
        """Advance by one pass, then pause."""
        self._cluster.pause()
        self._cluster.step()

    def set_speed(self, speed: int) -> None:
        """Set the speed, 1 to 1000."""
        self._cluster.set_speed(speed)
        self._steps = ()

    def load(self, path: Path, size: str) -> None:
        """Restart with the jobs of a trace at the present speed, paused if it was. Raises :class:`BackendError`; the
        present simulation then continues."""
        fresh = self._load(path, size)
        before = self._cluster
        with self._moving:
            self._built = fresh
            fresh.set_speed(before.speed)
            if before.paused:
                fresh.pause()
            self._steps = ()
            self._journal = JournalReader(fresh.state_folder)
            self._failure = ""
            before.close()

    def close(self) -> None:
        """Stop the thread, close the cluster and remove the folder."""
        self._closed.set()
        with self._building:
            if self._built is not None:
                self._built.close()
        self._own.close()
