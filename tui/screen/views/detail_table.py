"""A table whose row under the cursor is told at length below it, since what matters most seldom fits into a row.

Where the view has few lines, all of them are the table's.
"""

from __future__ import annotations

from textual.app import ComposeResult

from tui.screen.views.tables import Key, TableView
from tui.screen.widgets.lines import Paper
from tui.state.cluster_view import World
from tui.text.lines import Line, plain, wrap

_MARGIN = " "
_TOLD_LINES = 2
_ROOMY = 12
"""From how many lines on a view tells what the cursor is on."""


class TellingTable(TableView[Key]):
    """A table view with two lines below the table about what the cursor is on."""

    DEFAULT_CSS = """
    TellingTable > .told { height: 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.told = Paper(classes="told")

    def tell(self, world: World, key: Key) -> Line:
        """What there is to say about a row, in one line of any length."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The table, and the lines about the cursor."""
        yield from super().compose()
        yield self.told

    def on_resize(self) -> None:
        """Tell only where there is room."""
        self.told.display = self.size.height >= _ROOMY

    def retitle(self) -> None:
        """Whatever moves the cursor changes the title, and what is told."""
        super().retitle()
        if self.shown is None:
            return
        cursor = self.table.cursor
        text = plain(self.tell(self.shown.world, cursor)) if cursor is not None else ""
        lines = wrap(text, max(1, self.size.width - 2 * len(_MARGIN)))
        told = lines[:_TOLD_LINES]
        if len(lines) > _TOLD_LINES:
            told[-1] = f"{told[-1]} …"
        self.told.show([((_MARGIN + line, ""),) for line in told])
