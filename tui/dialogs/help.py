"""The help: every action with its keys, made from the registry of actions."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.core.actions import help_text
from tui.core.lines import Line
from tui.views.base import MOVES, lines_of
from tui.widgets.lines import Paper

_TITLES = {
    "go": "Going somewhere",
    "move": "Moving",
    "find": "Finding",
    "change": "Changing",
    "act": "Acting on jobs, vnodes and queues",
    "simulated": "The simulated cluster",
    "console": "The console",
}


def help_lines(simulated: bool) -> list[Line]:
    """All lines of the help."""
    lines: list[Line] = []
    for group, actions in help_text(simulated):
        lines += [((_TITLES[group], "title"),)]
        for action in actions:
            command = f":{action.name}" + (f" {action.argument}" if action.argument else "")
            lines.append(((f"  {action.shown_keys:<10}", "key"), (f"{command:<26}", "dim"), (action.help, "")))
        lines.append(())
    return lines


class HelpScreen(ModalScreen[None]):
    """The help, above everything; any of its keys leaves it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > Paper { width: 90; max-width: 100%; height: 90%; padding: 0 1; border: round $primary;
                         background: $surface; }
    HelpScreen.ascii > Paper { border: ascii $primary; }
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

    def __init__(self, *, simulated: bool, ascii_only: bool) -> None:
        super().__init__(classes="ascii" if ascii_only else None)
        self.paper = Paper()
        self.paper.can_focus = False
        self.paper.ascii_only = ascii_only
        self._simulated = simulated

    def compose(self) -> ComposeResult:
        """The lines."""
        yield self.paper

    def on_mount(self) -> None:
        """Fill the lines."""
        self.paper.show(help_lines(self._simulated))

    def action_move(self, move: str) -> None:
        """Scroll."""
        self.paper.scroll_lines(lines_of(move, self.paper.page))
