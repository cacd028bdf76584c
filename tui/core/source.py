"""Where the console's pictures come from and its changes go to: a real server or a simulated one, behind one protocol.

A source is asked by one thread at a time; a call may take long, and either returns or raises :class:`SourceError` with
a sentence for the screen within its own time limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from hooks.picture import Picture
from policy import Ledger, Settings


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

    @property
    def simulated(self) -> bool:
        """True where nothing here is real."""

    def poll(self) -> Picture:
        """One picture of the whole server. Raises :class:`SourceError`."""

    def settings(self) -> Settings:
        """The settings that the server's hooks run with; the defaults where they cannot be read."""

    def ledger(self) -> Ledger:
        """The ledger that the hooks published; an empty one where it cannot be read."""

    def read_queue(self, queue: str) -> Mapping[str, str]:
        """One queue's attributes, fresh. Raises :class:`SourceError`, also for a queue that is not there."""

    def write(self, line: str) -> Reply:
        """Send one qmgr line, as the console's own user. Raises :class:`SourceError` where nobody answered."""

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
