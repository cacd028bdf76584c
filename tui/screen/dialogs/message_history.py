"""The messages that the console has shown, the newest first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.screen.dialogs.lines_below_header import cells_in_dialog
from tui.screen.views.bases.base_view import MOVES, lines_of
from tui.screen.widgets.base_line_view import Paper
from tui.screen.widgets.footer import ShownMessage
from tui.text.screen_line import Line, safe, wrapped
from tui.text.times_and_durations import clock_time

_WIDEST = 110


class MessagesScreen(ModalScreen[None]):
    """The messages, above all views; escape, ``q`` and enter close them."""

    DEFAULT_CSS = """
    MessagesScreen { align: center middle; }
    MessagesScreen > Paper { width: 110; max-width: 100%; height: 60%; padding: 0 1; border: round $primary;
                             background: $surface; }
    MessagesScreen.-low > Paper { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", show=False),
        *(
            Binding(keys, f"move('{move}')", show=False)
            for move, keys in zip(
                MOVES,
                ("up,k", "down,j", "left", "right", "g,home", "G,end", "pageup", "pagedown", "ctrl+u", "ctrl+d"),
            )
        ),
    ]

    def __init__(self, messages: Iterable[ShownMessage]) -> None:
        super().__init__()
        self._messages = list(messages)
        self.paper = Paper()
        self.paper.can_focus = False

    def compose(self) -> ComposeResult:
        """The lines."""
        yield self.paper

    def on_resize(self) -> None:
        """The lines depend on the width."""
        lines: list[Line] = [
            ((f"{clock_time(each.time_s, seconds=True)}  ", "dim"), (safe(each.text), each.role))
            for each in self._messages
        ]
        cells = cells_in_dialog(self.app, _WIDEST)
        self.paper.show(wrapped(lines, cells) or [(("no message yet", "dim"),)])

    def action_move(self, move: str) -> None:
        """Scroll."""
        self.paper.scroll_lines(lines_of(move, self.paper.page))
