"""What actions may use of the screen: the cluster view, the shown view, the message line, the prompt, the lock, the
backend.

:class:`~tui.screen.main_screen.MainScreen` implements it. Actions depend on this protocol only, so each group of them
is a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tui.backends.interface.backend_protocol import Backend, SteeredBackend
from tui.screen.views.bases.visited_places import Place, Places
from tui.state.cluster_view import ClusterView
from tui.state.server_poller import Poller

if TYPE_CHECKING:
    from textual.app import App

    from tui.model.migrating_jobs import Migration
    from tui.screen.dialogs.operations_menu import ActMenu
    from tui.screen.terminal.themes import Look
    from tui.screen.views.bases.base_view import View
    from tui.screen.widgets.footer import Footer
    from tui.screen.widgets.prompt import Typing
    from tui.screen.workers.background_lookups import Lookups
    from tui.screen.workers.operation_runner import OperationRunner
    from tui.screen.workers.save_preferences_and_typed_lines import UserFiles


class ScreenApi(Protocol):
    """The screen, as actions use it."""

    backend: Backend
    simulation: SteeredBackend | None
    poller: Poller
    runner: OperationRunner
    lookups: Lookups
    keeping: UserFiles
    look: Look
    views: Mapping[str, View]
    places: Places
    footer: Footer

    @property
    def app(self) -> App[Any]:
        """The application."""

    @property
    def cluster(self) -> ClusterView | None:
        """The latest cluster view; None before the first poll has succeeded."""

    @property
    def migration(self) -> Migration | None:
        """The migrating jobs; None where the site has no other clusters, or none was read yet."""

    @property
    def view(self) -> View:
        """The view that is shown."""

    def known_cluster(self) -> ClusterView:
        """The latest cluster view; raises ``CommandError`` before the first poll has succeeded."""

    def act_by_name(self, name: str, argument: str) -> None:
        """Run another action, as if it had been typed."""

    def go(self, name: str) -> None:
        """Go to a view in the state in which it was left."""

    def visit(self, place: Place) -> None:
        """Go to a place; the place that is left is remembered."""

    def jump(self, name: str, text: str, jobs: Iterable[str] = ()) -> None:
        """Go to a view with a filter that comes from another view; the arrays of which ``jobs`` has subjobs unfold."""

    def show(self, place: Place) -> None:
        """Show a place without adding it to the places visited."""

    def say(self, text: str, role: str = "") -> None:
        """Show a sentence on the message line."""

    def tick(self) -> None:
        """Update the header."""

    def choose_column(self, *, choosing: bool) -> None:
        """Number the table's columns and take the next key as the column to sort by, or stop doing so."""

    def choose(self, menu: ActMenu) -> None:
        """Open a menu; the chosen item is then opened."""

    def run_outside(self, argv: Sequence[str]) -> None:
        """Leave the terminal to a program until it ends."""

    def open_prompt(self, prefix: str, text: str, typing: Typing) -> None:
        """Open the prompt; ``text`` is already in it."""

    def is_unlocked(self) -> bool:
        """Whether changes are allowed now."""

    def ask_to_unlock(self, then: Callable[[], object]) -> None:
        """Unlock for a while, on a production server after a yes, then call ``then``."""

    def lock_again(self) -> None:
        """Lock again."""
