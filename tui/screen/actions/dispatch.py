"""Doing an action by its name: where a key, a typed line and another action arrive alike.

An action that is not available says why; what it complains of is a sentence on the message line, never a crash.
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
from tui.screen.actions.screen_api import Desk
from tui.screen.actions.simulation import Steering
from tui.screen.views.base import MOVES
from tui.tables.filters import FilterError

_GROUPS = (Going, Jumping, Finding, Taking, Looking, Changing, Acting, Steering, Operating)


class ByName:
    """The actions of one desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._methods = methods_of([group(desk) for group in _GROUPS])

    def do(self, name: str, argument: str = "") -> None:
        """Do an action, or say why it is not available."""
        action = BY_NAME[name]
        why_not = action.unavailable(self._situation())
        if why_not:
            self._desk.say(f"{action.name}: {why_not}", "warn")
            return
        self.attempt(lambda: self._do(action, argument))

    def attempt(self, work: Callable[[], object]) -> None:
        """Do something, or say what it complains of."""
        try:
            work()
        except (CommandError, FilterError, ChangeError, ValueError) as error:
            self._desk.say(str(error), "bad")

    def _situation(self) -> Situation:
        desk = self._desk
        return Situation(
            desk.view.view_name,
            desk.is_unlocked(),
            desk.simulation is not None,
            desk.world is not None,
            desk.view.cursor_name is not None,
            desk.changes.can_undo,
        )

    def _do(self, action: Action, argument: str) -> None:
        name = action.name
        if name in MOVES:
            self._desk.view.move(name)
        elif name.startswith("view-"):
            self._desk.go(name.removeprefix("view-"))
        else:
            method = self._methods[name]
            method(argument) if action.argument else method()
