"""What an action may use: the world and the view on the screen, the message line, the prompt, the lock, the source.

The one screen is the desk; actions know it by this much only, so that each group of them is a file of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from tui.backends.base import SimulatedSource, Source
from tui.screen.views.navigation import Place, Places
from tui.state.cluster_view import World
from tui.state.poller import Poller

if TYPE_CHECKING:
    from textual.app import App

    from tui.screen.dialogs.menu import ActMenu
    from tui.screen.terminal.themes import Look
    from tui.screen.views.base import View
    from tui.screen.widgets.prompt import Typing
    from tui.screen.workers.lookups import Lookups
    from tui.screen.workers.operation_runner import Changes
    from tui.screen.workers.user_files import Keeping


class Desk(Protocol):
    """The screen, as actions see it."""

    source: Source
    simulation: SimulatedSource | None
    poller: Poller
    changes: Changes
    lookups: Lookups
    keeping: Keeping
    look: Look
    views: Mapping[str, View]
    places: Places

    @property
    def app(self) -> App[Any]:
        """The application."""

    @property
    def world(self) -> World | None:
        """The world as it was seen last; None before the first answer."""

    @property
    def view(self) -> View:
        """The view that is shown."""

    def known_world(self) -> World:
        """The world; raises ``CommandError`` before the first answer."""

    def act_by_name(self, name: str, argument: str) -> None:
        """Do another action, as if it had been typed."""

    def go(self, name: str) -> None:
        """Go to a view as it was left."""

    def visit(self, place: Place) -> None:
        """Go to a place, and remember the one that is left."""

    def jump(self, name: str, text: str) -> None:
        """Go to a view filtered by what was found elsewhere."""

    def show(self, place: Place) -> None:
        """Show a place that is already on the way."""

    def say(self, text: str, role: str = "") -> None:
        """Put a sentence on the message line."""

    def tick(self) -> None:
        """Write the header anew."""

    def choose_column(self, *, choosing: bool) -> None:
        """Number the columns of the table and take the next key as one of them, or stop that."""

    def choose(self, menu: ActMenu) -> None:
        """Let one of a menu's items be chosen, and open it."""

    def open_prompt(self, prefix: str, text: str, typing: Typing) -> None:
        """Let a line be typed."""

    def is_unlocked(self) -> bool:
        """Whether changes may be made just now."""

    def turn_lock(self) -> bool:
        """Unlock for a while, or lock again; gives whether it is unlocked now."""
