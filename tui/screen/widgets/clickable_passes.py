"""The row of the last passes; a click on one of its cells shows that pass."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Click
from textual.message import Message

from tui.backends.pass_journal import Pass
from tui.pages.plan.row_of_passes import RowOfPasses, row_of_passes
from tui.screen.widgets.base_line_view import Paper

_MARGIN = 1


class PassRow(Paper):
    """The row of passes, with a margin at its left."""

    class Chosen(Message):
        """A pass was clicked; the index after the last one's is the next pass."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._row: RowOfPasses | None = None

    def show_passes(self, entries: Sequence[Pass], shown: int, cells: int) -> None:
        """Show the passes that fit; ``shown`` is the index of the one whose page is shown."""
        self._row = row_of_passes(entries, shown, max(20, cells - 2 * _MARGIN))
        self.show([((" " * _MARGIN, ""), *self._row.line)])

    def on_click(self, event: Click) -> None:
        """Show the pass under the mouse."""
        event.stop()
        index = self._row.index_at(event.x - _MARGIN) if self._row is not None else None
        if index is not None:
            self.post_message(self.Chosen(index))
