"""The help: every action with its keys, generated from the registry of actions."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.action_registry import help_text
from tui.screen.views.base_view import MOVES, lines_of
from tui.screen.widgets.line_view import Paper
from tui.text.screen_line import Line, wrap

_WIDEST, _FRAME = 110, 4
_TITLES = {
    "go": "Going somewhere",
    "move": "Moving",
    "find": "Finding",
    "change": "Changing",
    "act": "Acting on jobs, vnodes and queues",
    "simulated": "The simulated cluster",
    "console": "The console",
}


_KEYS, _COMMAND = 12, 26
_LEAST = 20


def help_lines(simulated: bool, cells: int, *, migrates: bool = False) -> list[Line]:
    """The lines of the help, at most ``cells`` wide; a long explanation continues below itself."""
    room = max(_LEAST, cells - _KEYS - _COMMAND)
    lines: list[Line] = []
    for group, actions in help_text(simulated, migrates=migrates):
        lines += [((_TITLES[group], "title"),)]
        for action in actions:
            command = f":{action.name}" + (f" {action.argument}" if action.argument else "")
            beside = len(command) < _COMMAND
            head: Line = ((f"  {action.shown_keys:<{_KEYS - 2}}", "key"), (f"{command:<{_COMMAND}}", "dim"))
            first, *rest = wrap(action.help, room)
            lines += [(*head, (first, ""))] if beside else [head, ((" " * (_KEYS + _COMMAND), ""), (first, ""))]
            lines += [((" " * (_KEYS + _COMMAND), ""), (more, "")) for more in rest]
        lines.append(())
    return lines


class HelpScreen(ModalScreen[None]):
    """The help, above all views; escape, ``?``, ``q`` and enter close it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > Paper { width: 110; max-width: 100%; height: 90%; padding: 0 1; border: round $primary;
                         background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss", show=False),
        *(
            Binding(keys, f"move('{move}')", show=False)
            for move, keys in zip(
                MOVES,
                ("up,k", "down,j", "left", "right", "g,home", "G,end", "pageup", "pagedown", "ctrl+u", "ctrl+d"),
            )
        ),
    ]

    def __init__(self, *, simulated: bool, migrates: bool = False) -> None:
        super().__init__()
        self.paper = Paper()
        self.paper.can_focus = False
        self._simulated, self._migrates = simulated, migrates

    def compose(self) -> ComposeResult:
        """The lines."""
        yield self.paper

    def on_resize(self) -> None:
        """The lines depend on the width."""
        self.paper.show(
            help_lines(self._simulated, min(self.app.size.width, _WIDEST) - _FRAME, migrates=self._migrates)
        )

    def action_move(self, move: str) -> None:
        """Scroll."""
        self.paper.scroll_lines(lines_of(move, self.paper.page))
