"""The vnodes view as a table, and as a grid in colours: how full each vnode is, whose jobs it runs, what is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual.app import ComposeResult
from textual.geometry import Size
from textual.widget import Widget

from tui.screen.views.bases.base_table_view import TableView
from tui.screen.views.bases.base_view import View, lines_of
from tui.screen.widgets.base_line_view import LineView, Paper
from tui.screen.widgets.occupancy_grid import GridView
from tui.state.cluster_view import ClusterView
from tui.state.temperatures_seen import Temperatures
from tui.tables.attribute_columns import AttributesOf
from tui.tables.columns import Column
from tui.tables.columns_by_view.vnode_columns import vnode_columns, vnode_fields_also
from tui.tables.filter_line import Value
from tui.tables.vnode_grid.cell_gauges import TEMPERATURE_SLOTS, course_of_temperature, gauges_of_cell, steps_of
from tui.tables.vnode_grid.grid_colours import COLOURS, Colours, colours_by
from tui.tables.vnode_grid.occupancy_grid import Cell, describe_cell, describe_more, jobs_of_cell, legend, legend_rest
from tui.tables.vnode_grid.vnode_ranks import MODES, Ranks, rank
from tui.text.screen_line import Line, wrapped

_AROUND = 5
"""Cells of the grid's title besides its heading and its legend."""
_ROOMY = 18
"""Lines that a view needs to show the longer details."""
_TALL = 26
"""Lines that a view needs to show the jobs there too."""
_DETAIL_LINES, _DETAIL_LINES_ROOMY, _DETAIL_LINES_TALL = 3, 5, 8
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
    """

    def __init__(self) -> None:
        super().__init__()
        self.grid_view = GridView(classes="body")
        self.details = Paper(classes="details")
        self.mode = MODES[0]
        self.colour = COLOURS[0]
        self._colours: Colours | None = None
        self._ranks: Ranks | None = None
        self._legend_rest = ""

    def compose(self) -> ComposeResult:
        """Title, grid, and the details."""
        yield self.title_line
        yield self.grid_view
        yield self.details

    @property
    def body(self) -> LineView:
        """The grid."""
        return self.grid_view

    def repaint(self) -> None:
        """Show the grid and the details."""
        if self.shown is None:
            return
        cluster = self.shown.cluster
        self._colours = colours = colours_by(cluster, self.colour)
        self.grid_view.room = self._room()
        self.grid_view.show(cluster, colours)
        # The lines that the grid does not need show more of the jobs on the vnode.
        self.details.styles.height = self._detail_lines
        self._ranks = rank(cluster, self.mode)
        heading = f"{len(cluster.server_status.vnodes):,} vnodes by {self.colour}"
        room = self.size.width - len(heading) - _AROUND
        meant = legend(self.grid_view.grid, room, colours)
        self._legend_rest = legend_rest(self.grid_view.grid, room, colours)
        self.title(((heading, "title"), (f" · {meant}", "")))
        self.show_details()

    def forget_shown(self) -> None:
        """The grid, its colours and its ranks are of the state."""
        super().forget_shown()
        self.grid_view.forget()
        self._colours = self._ranks = None

    def _room(self) -> Size:
        """The grid's part of the room that all views share. It is used before the grid has a size of its own, for a key
        that arrives that early.
        """
        return Size(self._whole.width, max(1, self._whole.height - 1 - self._about))

    @property
    def _whole(self) -> Size:
        """The room that all views share."""
        return self.parent.size if isinstance(self.parent, Widget) else Size(0, 0)

    @property
    def _detail_lines(self) -> int:
        """The lines of details: those that the grid does not need."""
        return max(self._about, self._whole.height - 1 - self.grid_view.line_count())

    @property
    def _about(self) -> int:
        """The least lines of details."""
        if self._whole.height >= _TALL:
            return _DETAIL_LINES_TALL
        return _DETAIL_LINES_ROOMY if self._whole.height >= _ROOMY else _DETAIL_LINES

    def show_details(self) -> None:
        """Show the details of the cell under the cursor."""
        cell = self.grid_view.cell
        if self.shown is not None and cell is not None:
            who = self._colours.who if self._colours is not None else None
            more = (who.describe(cell.vnodes) if who is not None else "") or describe_more(
                self.shown.cluster, cell, self._ranks
            )
            cluster = self.shown.cluster
            about: list[Line] = [((f" {describe_cell(cluster, cell)}", "bold"),), ((f" {more}", ""),)]
            lines = wrapped(about, self.size.width)
            if self._detail_lines >= _DETAIL_LINES_TALL:
                lines = [*self._steps(), *lines, *self._gauges(cluster, cell)]
            rest = wrapped([((f" {self._legend_rest}", "dim"),)], self.size.width) if self._legend_rest else []
            jobs = jobs_of_cell(cluster, cell, max(0, self._detail_lines - len(lines) - len(rest)))
            lines += jobs + rest
            self.details.show(lines)

    def _steps(self) -> list[Line]:
        """What the steps of the colours are, and a line apart; nothing where the screen has no colours."""
        steps = steps_of(self._colours) if self._colours is not None and not self.app.current_theme.ansi else ()
        return [steps, ()] if steps else []

    def _gauges(self, cluster: ClusterView, cell: Cell) -> list[Line]:
        """The cell's bars, and the course of its temperature."""
        temperatures = self.shown.temperatures if self.shown is not None else Temperatures()
        return [
            line
            for line in (
                gauges_of_cell(cluster, cell, self.size.width),
                course_of_temperature(temperatures.of(cell.vnodes, TEMPERATURE_SLOTS)),
            )
            if line
        ]

    def colour_by(self, colour: str) -> None:
        """Colour the cells by another of :data:`COLOURS`."""
        self.colour = colour
        self.repaint()

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
