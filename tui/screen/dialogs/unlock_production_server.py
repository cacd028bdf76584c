"""The question before a production server is unlocked: ``y`` unlocks, escape leaves."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.screen.dialogs.lines_below_header import LEAST_LINES, cells_in_dialog, keys_that_fit, lines_in_dialog
from tui.screen.widgets.base_line_view import Paper
from tui.text.screen_line import Line, safe, wrap

_WIDEST, _FRAME_LINES = 72, 2


class UnlockDialog(ModalScreen[bool]):
    """Names the server. The result is whether to unlock."""

    DEFAULT_CSS = """
    UnlockDialog { align: center middle; }
    UnlockDialog > Paper { width: 72; max-width: 100%; height: auto; max-height: 100%; padding: 0 1;
                           border: round $error; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", show=False),
        Binding("escape,q,n", "dismiss(False)", show=False),
    ]

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server
        self.paper = Paper()
        self.paper.can_focus = False

    def compose(self) -> ComposeResult:
        """The question and the keys."""
        yield self.paper

    def on_mount(self) -> None:
        """Fill the lines."""
        self.on_resize()

    def on_resize(self) -> None:
        """The lines depend on the width."""
        cells = cells_in_dialog(self.app, _WIDEST)
        text = f"unlock {safe(self._server)}, a production server, for five minutes?"
        room = max(1, lines_in_dialog(self.app) - 1)
        asked: list[Line] = [((part, "bad"),) for part in wrap(text, cells)[:room]]
        keys = keys_that_fit([(("y", "key"), (" unlock", "")), (("esc", "key"), (" cancel", ""))], cells)
        self.paper.styles.height = len(asked) + 1 + (_FRAME_LINES if self.app.size.height >= LEAST_LINES else 0)
        self.paper.show([*asked, keys])
