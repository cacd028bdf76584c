"""A table with the details of the row under the cursor below it, since what matters most seldom fits into a row.

In a view with few lines the table takes all of them.
"""

from __future__ import annotations

from textual.app import ComposeResult

from tui.screen.views.bases.base_table_view import Key, TableView
from tui.screen.widgets.base_line_view import Paper
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, plain, wrap

_MARGIN = " "
_DETAIL_LINES = 2
_ROOMY = 12
"""Lines that a view needs to show the details."""


class TableWithDetails(TableView[Key]):
    """A table view with two lines of details below the table."""

    DEFAULT_CSS = """
    TableWithDetails > .details { height: 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.details = Paper(classes="details")

    def describe(self, cluster: ClusterView, key: Key) -> Line:
        """The details of a row, in one line of any length."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The table, and the details."""
        yield from super().compose()
        yield self.details

    def on_resize(self) -> None:
        """Show the details only where there is room."""
        self.details.display = self.size.height >= _ROOMY

    def retitle(self) -> None:
        """Update the title and the details; called whenever the cursor moves."""
        super().retitle()
        if self.shown is None:
            return
        cursor = self.table.cursor
        text = plain(self.describe(self.shown.cluster, cursor)) if cursor is not None else ""
        lines = wrap(text, max(1, self.size.width - 2 * len(_MARGIN)))
        shown = lines[:_DETAIL_LINES]
        if len(lines) > _DETAIL_LINES:
            shown[-1] = f"{shown[-1]} …"
        self.details.show([((_MARGIN + line, ""),) for line in shown])
