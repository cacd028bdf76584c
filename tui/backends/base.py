"""Where the console's pictures come from and its changes go to: a real server or a simulated one, behind one protocol.

A source is asked by one thread at a time; a call may take long, and either returns or raises :class:`SourceError` with
a sentence for the screen within its own time limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

from hooks.pbs.status import Attributes, Picture
from policy import Ledger, Settings
from tui.audit.log import AuditLog
from tui.backends.journal import JournalReader


class SourceError(Exception):
    """The server did not answer, or not in a form that can be read; the message is meant for the screen."""


class Reply(NamedTuple):
    """What the server said to a change: whether it took it, and its words."""

    ok: bool
    text: str


class Source(Protocol):
    """A server that can be watched and changed."""

    @property
    def name(self) -> str:
        """The server's name, as far as known before the first poll."""

    def names(self) -> tuple[str, ...]:
        """All names of the server, as far as it or its configuration says them; the audit's lines have the first."""

    @property
    def own_audit(self) -> Path | None:
        """Where changes to this server alone are written down; None: in the user's own audit file."""

    def shared_audit(self) -> Path | None:
        """The audit that all administrators of this server share; None where this host has none of this server."""

    @property
    def journal(self) -> JournalReader:
        """What the passes wrote down."""

    @property
    def spool(self) -> Path | None:
        """Where the output of running jobs is on their hosts; None where jobs write nothing."""

    @property
    def simulated(self) -> bool:
        """True where nothing here is real."""

    def poll(self) -> Picture:
        """One picture of the whole server. Raises :class:`SourceError`."""

    def settings(self) -> Settings:
        """The settings that the server's hooks run with; the defaults where they cannot be read."""

    def ledger(self) -> Ledger:
        """The ledger that the hooks published; an empty one where it cannot be read."""

    def finished(self, window_s: float) -> Mapping[str, Attributes]:
        """Jobs that have ended in the last seconds, from the server's history. Raises :class:`SourceError`."""

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """One object's attributes, fresh: ``kind`` is job, ended job (running and waiting ones as well), vnode, queue,
        sched or server. None where it is not there. Raises :class:`SourceError`.
        """

    def run(self, argv: Sequence[str]) -> Reply:
        """Run one of PBS's programs, as the console's own user. Raises :class:`SourceError` where nobody answered."""

    def close(self) -> None:
        """Let go of whatever the source holds; a call under way ends with :class:`SourceError`."""


class SimulatedSource(Source, Protocol):
    """A source whose time can be steered."""

    @property
    def paused(self) -> bool:
        """True while its time stands still."""

    @property
    def speed(self) -> int:
        """Simulated seconds per second, 1 to 1000."""

    def pause(self) -> None:
        """Stop its time."""

    def resume(self) -> None:
        """Let its time go on."""

    def step(self) -> None:
        """One pass further, and then pause."""

    def set_speed(self, speed: int) -> None:
        """Set the speed, 1 to 1000."""

    def load(self, path: Path, size: str) -> None:
        """Begin again with the jobs of a trace; ``size`` is NODESxCORES where the trace does not say it, else empty.

        Raises :class:`SourceError`, and then goes on as it was.
        """


def addressed(audit: AuditLog, source: Source) -> AuditLog:
    """The same for this server, which is asked for its name, and with the administrators' shared file. May take as long
    as a question to the server does."""
    return replace(audit, server=source.names()[0], shared=source.shared_audit())
