"""A table with the details of the row under the cursor below it, since what matters most seldom fits into a row.

In a view with few lines the table takes all of them, in one with many the details have more lines.
"""

from __future__ import annotations

from textual.app import ComposeResult

from tui.screen.views.bases.base_table_view import Key, TableView
from tui.screen.widgets.base_line_view import Paper
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, plain, wrap

_MARGIN = " "
_ROOMY, _TALL = 12, 24
"""Lines that a view needs to show the details, and more of them."""
_DETAIL_LINES, _DETAIL_LINES_TALL = 2, 4


class TableWithDetails(TableView[Key]):
    """A table view with lines of details below the table."""

    DEFAULT_CSS = f"""
    TableWithDetails > .details {{ height: {_DETAIL_LINES}; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.details = Paper(classes="details")

    def describe(self, cluster: ClusterView, key: Key) -> Line:
        """The details of a row, in one line of any length."""
        raise NotImplementedError

    def describe_more(self, cluster: ClusterView, key: Key) -> list[Line]:
        """Further lines on a row, for a view that has room."""
        return []

    def compose(self) -> ComposeResult:
        """The table, and the details."""
        yield from super().compose()
        yield self.details

    def on_resize(self) -> None:
        """Show the details only where there is room."""
        self.details.display = self.size.height >= _ROOMY
        self.details.styles.height = self._detail_lines

    @property
    def _detail_lines(self) -> int:
        """How many lines the details have."""
        return _DETAIL_LINES_TALL if self.size.height >= _TALL else _DETAIL_LINES

    def retitle(self) -> None:
        """Update the title and the details; called whenever the cursor moves."""
        super().retitle()
        if self.shown is None:
            return
        cursor = self.table.cursor
        if cursor is None:
            self.details.show([])
            return
        text, most = plain(self.describe(self.shown.cluster, cursor)), self._detail_lines
        lines = wrap(text, max(1, self.size.width - 2 * len(_MARGIN)))
        shown = lines[:most]
        if len(lines) > most:
            shown[-1] = f"{shown[-1]} …"
        more = self.describe_more(self.shown.cluster, cursor) if len(shown) < most else []
        self.details.show(
            [
                *[((_MARGIN + line, ""),) for line in shown],
                *[((_MARGIN, ""), *line) for line in more[: most - len(shown)]],
            ]
        )
