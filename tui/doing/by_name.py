"""Doing an action by its name: where a key, a typed line and another action arrive alike.

An action that is not available says why; what it complains of is a sentence on the message line, never a crash.
"""

from __future__ import annotations

from collections.abc import Callable

from tui.core.actions import BY_NAME, Action, CommandError, Situation
from tui.core.change import ChangeError
from tui.core.filters import FilterError
from tui.desk import Desk
from tui.doing.acting import Acting
from tui.doing.changing import Changing
from tui.doing.finding import Finding
from tui.doing.going import Going
from tui.doing.jumping import Jumping
from tui.doing.looking import Looking
from tui.doing.methods import methods_of
from tui.doing.operating import Operating
from tui.doing.steering import Steering
from tui.doing.taking import Taking
from tui.views.base import MOVES

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
