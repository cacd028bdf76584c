"""The occupancy grid: rows of cells with a label in front, and a cursor."""

from __future__ import annotations

from textual.geometry import Size
from textual.message import Message

from tui.screen.widgets.base_line_view import LineView
from tui.state.cluster_view import ClusterView
from tui.tables.vnode_grid.grid_colours import Colours
from tui.tables.vnode_grid.occupancy_grid import Cell, Grid, cell_text, lay_out, row_labels
from tui.text.screen_line import Line, Span


class GridView(LineView):
    """One cell per vnode, or per group of vnodes."""

    class Moved(Message):
        """The cursor is on another cell."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(name=name, id=id, classes=classes)
        self._cluster: ClusterView | None = None
        self._colours: Colours | None = None
        self.grid = Grid((), (), 1)
        self._labels: list[str] = []
        self._index = 0
        self.room = Size(0, 0)
        """The size to lay out for. The widget itself may have fewer lines, as many as the grid needs, and none before
        it is on the screen."""

    @property
    def cell(self) -> Cell | None:
        """The cell under the cursor; None in an empty grid."""
        return self.grid.cells[self._index] if self._index < len(self.grid.cells) else None

    def show(self, cluster: ClusterView, colours: Colours) -> None:
        """Show the vnodes of this cluster view in these colours."""
        self._cluster, self._colours = cluster, colours
        self.update()

    def forget(self) -> None:
        """Drop the cluster view and its colours until one is shown again; the grid stays, and the cursor in it."""
        self._cluster = self._colours = None

    def update(self) -> None:
        """Lay out for the size, then repaint what changed; the cursor stays on its vnode."""
        size = self.room
        if self._cluster is not None and self._colours is not None and size.width:
            here = self.cell
            self.grid = lay_out(self._cluster, size.width, size.height, self._colours)
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
        """Move the cursor within the cells; to another row in the same column."""
        grid = self.grid
        if not grid.cells:
            return
        if rows:
            row = grid.rows[grid.row_of(self._index)]
            to = grid.rows[max(0, min(grid.row_of(self._index) + rows, len(grid.rows) - 1))]
            at_end = to is row
            self._index = to.start + min(self._index - row.start, to.cells - 1)
            if at_end and abs(rows) > 1:
                self._index = 0 if rows < 0 else len(grid.cells) - 1
        self._index = max(0, min(self._index + columns, len(grid.cells) - 1))
        self.show_index(grid.row_of(self._index))
        super().update()
        self.post_message(self.Moved())

    def line_count(self) -> int:
        """How many rows of cells."""
        return len(self.grid.rows)

    def line_at(self, index: int, cells: int) -> Line:
        """One row of cells."""
        grid = self.grid
        row = grid.rows[index]
        spans: list[Span] = [(f" {self._labels[index]}", "dim")]
        here = self._index - row.start
        for offset, cell in enumerate(grid.cells[row.start : row.start + row.cells]):
            text, role = cell_text(cell, grid.cell_cells), cell.shade.role
            if grid.cell_cells == 1:
                spans.append((text, "pick" if offset == here else role))
                continue
            mark = "▐" if offset == here else "▌" if offset == here + 1 else " "
            spans += [(mark, "key" if mark != " " else ""), (text, _behind(role))]
        if grid.cell_cells > 1 and here == row.cells - 1:
            spans.append(("▌", "key"))
        return tuple(spans)


def _behind(role: str) -> str:
    """The role of a cell with characters on it."""
    if role.startswith(("heat", "hue")):
        return f"on-{role}"
    return f"{role} cursor" if role in ("bad", "warn") else role
