"""What an action may use: the world and the view on the screen, the message line, the prompt, the lock, the source.

The one screen is the desk; actions know it by this much only, so that each group of them is a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tui.core.poller import Poller
from tui.core.source import SimulatedSource, Source
from tui.core.world import World

if TYPE_CHECKING:
    from textual.app import App

    from tui.changes import Changes
    from tui.views.base import View


class Desk(Protocol):
    """The screen, as actions see it. ``stack`` has the views that ``back`` returns to, the last one on top."""

    source: Source
    simulation: SimulatedSource | None
    poller: Poller
    changes: Changes
    views: Mapping[str, View]
    stack: list[str]
    world: World | None
    ascii_only: bool

    @property
    def app(self) -> App[Any]:
        """The application."""

    @property
    def view(self) -> View:
        """The view that is shown."""

    def known_world(self) -> World:
        """The world; raises ``CommandError`` before the first answer."""

    def act_by_name(self, name: str, argument: str) -> None:
        """Do another action, as if it had been typed."""

    def go(self, name: str, *, remember: bool = True) -> None:
        """Show a view, and remember the one before for ``back``."""

    def say(self, text: str, role: str = "") -> None:
        """Put a sentence on the message line."""

    def tick(self) -> None:
        """Write the header anew."""

    def choose_column(self, *, choosing: bool) -> None:
        """Number the columns of the table and take the next key as one of them, or stop that."""

    def open_prompt(self, prefix: str, text: str, completion: Callable[[str], list[str]]) -> None:
        """Let a line be typed; it comes back as a command or a filter."""

    def look_up(self, job_id: str) -> None:
        """Find out, in a thread, what only the job's own page shows."""

    def load_trace(self, path: Path, size: str) -> None:
        """Load a trace into the simulated cluster, in a thread."""

    def is_unlocked(self) -> bool:
        """Whether changes may be made just now."""

    def turn_lock(self) -> bool:
        """Unlock for a while, or lock again; gives whether it is unlocked now."""
