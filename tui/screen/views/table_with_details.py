"""A table with the details of the row under the cursor below it, since what matters most seldom fits into a row.

In a view with few lines the table takes all of them.
"""

from __future__ import annotations

from textual.app import ComposeResult

from tui.screen.views.base_table_view import Key, TableView
from tui.screen.widgets.line_view import Paper
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, plain, wrap

_MARGIN = " "
_TOLD_LINES = 2
_ROOMY = 12
"""Lines that a view needs to show the details."""


class TellingTable(TableView[Key]):
    """A table view with two lines of details below the table."""

    DEFAULT_CSS = """
    TellingTable > .told { height: 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.told = Paper(classes="told")

    def tell(self, cluster: ClusterView, key: Key) -> Line:
        """The details of a row, in one line of any length."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The table, and the details."""
        yield from super().compose()
        yield self.told

    def on_resize(self) -> None:
        """Show the details only where there is room."""
        self.told.display = self.size.height >= _ROOMY

    def retitle(self) -> None:
        """Update the title and the details; called whenever the cursor moves."""
        super().retitle()
        if self.shown is None:
            return
        cursor = self.table.cursor
        text = plain(self.tell(self.shown.cluster, cursor)) if cursor is not None else ""
        lines = wrap(text, max(1, self.size.width - 2 * len(_MARGIN)))
        told = lines[:_TOLD_LINES]
        if len(lines) > _TOLD_LINES:
            told[-1] = f"{told[-1]} …"
        self.told.show([((_MARGIN + line, ""),) for line in told])
