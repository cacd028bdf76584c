"""The vnodes view as a table, and as a grid that shows how full each vnode is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual.app import ComposeResult
from textual.geometry import Size
from textual.widget import Widget

from tui.screen.views.base_table_view import TableView
from tui.screen.views.base_view import View, lines_of
from tui.screen.widgets.line_view import LineView, Paper
from tui.screen.widgets.occupancy_grid import GridView
from tui.state.cluster_view import ClusterView
from tui.tables.attribute_columns import AttributesOf
from tui.tables.columns import Column
from tui.tables.filter_line import Value
from tui.tables.occupancy_grid import describe_cell, describe_more, legend
from tui.tables.user_letters import Occupants, occupants
from tui.tables.vnode_columns import vnode_columns, vnode_fields_also
from tui.tables.vnode_ranks import MODES, Ranks, rank
from tui.text.screen_line import Line, wrapped

_AROUND = 5
"""Cells of the grid's title besides its heading and its legend."""
_ROOMY = 18
"""Lines that a view needs to show the longer details."""
_DETAIL_LINES, _DETAIL_LINES_ROOMY = 3, 5
"""How many lines of details there are."""


class VnodesView(TableView[str]):
    """Vnodes by name."""

    view_name = "vnodes"
    nothing = "the server has no vnodes"
    kind = "vnode"

    def keys(self, cluster: ClusterView) -> Sequence[str]:
        """Names; numbers in them are in numeric order."""
        return cluster.vnode_names

    def columns(self, cluster: ClusterView) -> list[Column[str]]:
        """The vnodes' columns."""
        return vnode_columns(cluster)

    def more_fields(self, cluster: ClusterView) -> Mapping[str, Callable[[str], Value]]:
        """Fields of the filter about the jobs on a vnode."""
        return vnode_fields_also(cluster)

    def attributes(self, cluster: ClusterView) -> AttributesOf[str]:
        """PBS's attributes of a vnode."""
        return cluster.server_status.vnodes.get


class OccupancyView(View):
    """The grid, with details of the cell under the cursor below it, and its rank in the chosen mode."""

    view_name = "grid"
    kind = "vnode"
    DEFAULT_CSS = f"""
    OccupancyView > .details {{ height: {_DETAIL_LINES}; }}
    OccupancyView.roomy > .details {{ height: {_DETAIL_LINES_ROOMY}; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.grid_view = GridView(classes="body")
        self.details = Paper(classes="details")
        self.mode = MODES[0]
        self.by_user = False
        self._who: Occupants | None = None
        self._ranks: Ranks | None = None

    def compose(self) -> ComposeResult:
        """Title, grid, and the details."""
        yield self.title_line
        yield self.grid_view
        yield self.details

    @property
    def body(self) -> LineView:
        """The grid."""
        return self.grid_view

    def on_resize(self) -> None:
        """Show the longer details where there is room."""
        self.set_class(self.size.height >= _ROOMY, "roomy")

    def repaint(self) -> None:
        """Show the grid and the details."""
        if self.shown is None:
            return
        cluster = self.shown.cluster
        self._who = who = occupants(cluster) if self.by_user else None
        self.grid_view.room = self._room()
        self.grid_view.show(cluster, who)
        self._ranks = rank(cluster, self.mode)
        heading = f"grid · {len(cluster.server_status.vnodes):,} vnodes"
        meant = legend(self.grid_view.grid, self.size.width - len(heading) - _AROUND, who)
        self.title(((heading, "title"), (f" · {meant}", "")))
        self.show_details()

    def _room(self) -> Size:
        """The grid's part of the room that all views share. It is used before the grid has a size of its own, for a key
        that arrives that early.
        """
        whole = self.parent.size if isinstance(self.parent, Widget) else Size(0, 0)
        about = _DETAIL_LINES_ROOMY if whole.height >= _ROOMY else _DETAIL_LINES
        return Size(whole.width, max(1, whole.height - 1 - about))

    def show_details(self) -> None:
        """Show the details of the cell under the cursor."""
        cell = self.grid_view.cell
        if self.shown is not None and cell is not None:
            who = self._who.describe(cell.vnodes) if self._who is not None else ""
            more = who or describe_more(self.shown.cluster, cell, self._ranks)
            lines: list[Line] = [((f" {describe_cell(self.shown.cluster, cell)}", "bold"),), ((f" {more}", ""),)]
            self.details.show(wrapped(lines, self.size.width))

    def turn_users(self) -> bool:
        """Switch between the user with most of each vnode and how full each is; returns True for users."""
        self.by_user = not self.by_user
        self.repaint()
        return self.by_user

    def rank_by(self, mode: str) -> None:
        """Rank the vnodes by another mode."""
        self.mode = mode
        self.repaint()

    def on_grid_view_moved(self) -> None:
        """The cursor has moved."""
        self.show_details()

    def move(self, name: str) -> None:
        """Move the cursor by cells, rows and pages."""
        columns = {"left": -1, "right": 1}
        self.grid_view.move(lines_of(name, self.grid_view.page), columns.get(name, 0))

    @property
    def cursor_name(self) -> str | None:
        """The first vnode under the cursor."""
        cell = self.grid_view.cell
        return cell.vnodes[0] if cell else None

    @property
    def chosen(self) -> tuple[str, ...]:
        """All vnodes of the cell under the cursor."""
        cell = self.grid_view.cell
        return tuple(cell.vnodes) if cell else ()
