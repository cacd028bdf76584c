"""The occupancy grid: rows of cells with the name of the first vnode in front, and a cursor."""

from __future__ import annotations

from textual.geometry import Size
from textual.message import Message

from tui.screen.widgets.line_view import LineView
from tui.state.cluster_view import ClusterView
from tui.tables.occupancy_grid import Cell, Grid, lay_out, row_labels
from tui.tables.user_letters import Occupants
from tui.text.screen_line import Line


class GridView(LineView):
    """One cell per vnode, or per group of vnodes."""

    class Moved(Message):
        """The cursor is on another cell."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(name=name, id=id, classes=classes)
        self._cluster: ClusterView | None = None
        self._who: Occupants | None = None
        self.grid = Grid((), 1, 1)
        self._labels: list[str] = []
        self._index = 0
        self.room = Size(0, 0)
        """The size to lay out for before the widget is on the screen and has a size of its own."""

    @property
    def cell(self) -> Cell | None:
        """The cell under the cursor; None in an empty grid."""
        return self.grid.cells[self._index] if self._index < len(self.grid.cells) else None

    def show(self, cluster: ClusterView, who: Occupants | None) -> None:
        """Show the vnodes of this cluster view, by users if ``who`` is given."""
        self._cluster, self._who = cluster, who
        self.update()

    def update(self) -> None:
        """Lay out for the size, then repaint what changed; the cursor stays on its vnode."""
        size = self.size if self.size.width else self.room
        if self._cluster is not None and size.width:
            here = self.cell
            self.grid = lay_out(self._cluster, size.width, size.height, self._who)
            self._labels = row_labels(self.grid)
            if here is not None:
                first = here.vnodes[0]
                self._index = next((i for i, cell in enumerate(self.grid.cells) if first in cell.vnodes), 0)
        super().update()

    def update_all(self) -> None:
        """Lay out and repaint everything."""
        self.update()
        super().update_all()

    def move(self, rows: int, columns: int) -> None:
        """Move the cursor within the cells."""
        if self.grid.cells:
            index = self._index + rows * self.grid.columns + columns
            self._index = max(0, min(index, len(self.grid.cells) - 1))
            self.show_index(self._index // self.grid.columns)
            super().update()
            self.post_message(self.Moved())

    def line_count(self) -> int:
        """How many rows of cells."""
        return self.grid.rows()

    def line_at(self, index: int, cells: int) -> Line:
        """One row of cells."""
        start = index * self.grid.columns
        spans = []
        for offset, cell in enumerate(self.grid.cells[start : start + self.grid.columns]):
            text, role = cell.span
            spans.append((text, f"{role} cursor" if start + offset == self._index else role))
        return (self._labels[index] + " ", "dim"), *spans
