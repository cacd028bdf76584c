"""Runs an action by its name: the one way in for keys, typed commands and other actions.

An action that is not available shows the reason; errors of an action become a sentence on the message line, never a
crash.
"""

from __future__ import annotations

from collections.abc import Callable

from tui.actions import BY_NAME, Action, CommandError, Situation
from tui.operations.change import ChangeError
from tui.screen.actions.console import Operating
from tui.screen.actions.copy_export import Taking
from tui.screen.actions.find import Finding
from tui.screen.actions.inspect import Looking
from tui.screen.actions.jump import Jumping
from tui.screen.actions.methods import methods_of
from tui.screen.actions.navigate import Going
from tui.screen.actions.operate import Acting
from tui.screen.actions.quota import Changing
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.actions.simulation import Steering
from tui.screen.views.base import MOVES
from tui.tables.filters import FilterError

_GROUPS = (Going, Jumping, Finding, Taking, Looking, Changing, Acting, Steering, Operating)


class ByName:
    """The actions of one screen, by name."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api
        self._methods = methods_of([group(screen_api) for group in _GROUPS])

    def do(self, name: str, argument: str = "") -> None:
        """Run an action, or show why it is not available."""
        action = BY_NAME[name]
        why_not = action.unavailable(self._situation())
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

    def _situation(self) -> Situation:
        screen_api = self._screen
        return Situation(
            screen_api.view.view_name,
            screen_api.is_unlocked(),
            screen_api.simulation is not None,
            screen_api.cluster is not None,
            screen_api.view.cursor_name is not None,
            screen_api.changes.can_undo,
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
