"""Runs an action by its name: the one way in for keys, typed commands and other actions.

An action that is not available shows the reason; errors of an action become a sentence on the message line, never a
crash.
"""

from __future__ import annotations

from collections.abc import Callable

from tui.action_registry import BY_NAME, Action, Situation
from tui.backends.interface.commands_interface import ChangeError
from tui.command_line import CommandError
from tui.screen.actions.command_line_theme_help_quit import ConsoleActions
from tui.screen.actions.find_action_method import methods_of
from tui.screen.actions.on_cluster.operate_on_rows import OperateActions
from tui.screen.actions.on_cluster.quota_pause_undo import QuotaActions
from tui.screen.actions.on_cluster.simulation_controls import SimulationActions
from tui.screen.actions.on_cluster.stop_migrating_jobs import MigrationActions
from tui.screen.actions.on_views.copy_export import ExportActions
from tui.screen.actions.on_views.filter_sort_columns_and_marks import FindActions
from tui.screen.actions.on_views.jump_to_related import JumpActions
from tui.screen.actions.on_views.navigate import NavigateActions
from tui.screen.actions.on_views.show_subjobs_ended_users_ranks import InspectActions
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.views.bases.base_table_view import TableView
from tui.screen.views.bases.base_view import MOVES
from tui.tables.filter_line import FilterError

_GROUPS = (
    NavigateActions,
    JumpActions,
    FindActions,
    ExportActions,
    InspectActions,
    QuotaActions,
    OperateActions,
    MigrationActions,
    SimulationActions,
    ConsoleActions,
)


class Dispatcher:
    """The actions of one screen, by name."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api
        self._methods = methods_of([group(screen_api) for group in _GROUPS])

    def do(self, name: str, argument: str = "") -> None:
        """Run an action, or show why it is not available."""
        action = BY_NAME[name]
        unsupported = self._screen.backend.commands.unsupported
        why_not = action.unavailable(self.situation) or unsupported.get(action.name, "")
        if why_not:
            self._screen.say(f"{action.name}: {why_not}", "warn")
            return
        self.attempt(lambda: self._do(action, argument))

    def attempt(self, work: Callable[[], object]) -> None:
        """Call ``work``; show its error, if it raises one, on the message line."""
        try:
            work()
        except (CommandError, FilterError, ChangeError, ValueError) as error:
            self._screen.say(str(error), "bad")

    @property
    def situation(self) -> Situation:
        """What decides now whether an action is available."""
        screen_api = self._screen
        return Situation(
            screen_api.view.view_name,
            screen_api.is_unlocked(),
            screen_api.simulation is not None,
            screen_api.cluster is not None,
            screen_api.view.cursor_name is not None,
            screen_api.runner.can_undo,
            screen_api.migration is not None,
            isinstance(screen_api.view, TableView) and bool(screen_api.view.table.marked),
            screen_api.view.gone,
        )

    def _do(self, action: Action, argument: str) -> None:
        name = action.name
        if name in MOVES:
            self._screen.view.move(name)
        elif name.startswith("view-"):
            self._screen.go(name.removeprefix("view-"))
        else:
            method = self._methods[name]
            method(argument) if action.argument else method()
