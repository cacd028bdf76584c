"""A view that is a table: keys and columns from the world, filtered and sorted, under a title that counts them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from textual.app import ComposeResult

from tui.core.columns import Column, Sort, arrange, fields
from tui.core.filters import Filter, FilterError, Value, parse_filter
from tui.core.lines import Line, safe
from tui.core.world import World
from tui.views.base import View, lines_of
from tui.widgets.lines import LineView
from tui.widgets.table import Table

Key = TypeVar("Key", bound=Hashable)


class TableView(View, Generic[Key]):
    """A table with a filter and a sort of its own, which it keeps from poll to poll."""

    def __init__(self) -> None:
        super().__init__()
        self.table: Table[Key] = Table(classes="body")
        self.filter_text = ""
        self.sort = Sort()
        self._total = 0

    def compose(self) -> ComposeResult:
        """The title and the table."""
        yield self.title_line
        yield self.table

    @property
    def body(self) -> LineView:
        """The table."""
        return self.table

    def keys(self, world: World) -> Sequence[Key]:
        """All keys, in the order they have without a sort."""
        raise NotImplementedError

    def columns(self, world: World) -> list[Column[Key]]:
        """The columns over them."""
        raise NotImplementedError

    def more_fields(self, world: World) -> Mapping[str, Callable[[Key], Value]]:
        """Fields of the filter beyond the columns."""
        return {}

    def heading(self, world: World) -> str:
        """What the title begins with."""
        return self.view_name

    def repaint(self) -> None:
        """Filter, sort and show."""
        if self.shown is None:
            return
        world = self.shown.world
        keys = self.keys(world)
        columns = self.columns(world)
        self._total = len(keys)
        self.table.show(arrange(keys, columns, self._filter(world, columns), self.sort), columns, self.sort)
        self.retitle()

    def _filter(self, world: World, columns: list[Column[Key]]) -> Filter[Key] | None:
        if not self.filter_text:
            return None
        return parse_filter(self.filter_text, {**self.more_fields(world), **fields(columns)})

    def retitle(self) -> None:
        """Say what is shown, how much of it, and where the cursor is."""
        if self.shown is None:
            return
        shown = len(self.table.keys)
        parts: list[tuple[str, str]] = [(safe(self.heading(self.shown.world)), "title"), (f" · {shown:,}", "")]
        if self.filter_text:
            parts.append((f" of {self._total:,} · filter {safe(self.filter_text)}", "warn"))
        if self.table.marked:
            parts.append((f" · {len(self.table.marked):,} marked", "bold"))
        place = f"{self.table.index + 1:,} / {shown:,}" if shown else "none"
        line: Line = tuple(parts)
        self.title(line, f"{self._sorted_by()}{place}")

    def _sorted_by(self) -> str:
        if not self.sort.column:
            return ""
        return f"sort: {self.sort.column}, {'most' if self.sort.down else 'least'} first   "

    def on_table_moved(self) -> None:
        """The cursor is elsewhere."""
        self.retitle()

    def filter_by(self, text: str) -> None:
        """Show only rows that pass. Raises :class:`FilterError` and keeps the old filter."""
        before, self.filter_text = self.filter_text, text.strip()
        try:
            self.repaint()
        except FilterError:
            self.filter_text = before
            raise

    def sort_by(self, column: str) -> None:
        """Sort by a column; a second time turns it round. Raises ValueError naming the columns."""
        names = [known.name for known in self.table.columns]
        if column not in names:
            raise ValueError(f"sort: no column {column!r} here; there are {', '.join(names)}")
        self.sort = Sort(column, not self.sort.down if self.sort.column == column else self._first_down(column))
        self.repaint()

    def _first_down(self, column: str) -> bool:
        return next(known.align == ">" for known in self.table.columns if known.name == column)

    def move(self, name: str) -> None:
        """Move the cursor."""
        self.table.move(lines_of(name, self.table.page))

    @property
    def cursor_name(self) -> str | None:
        """The key under the cursor."""
        cursor = self.table.cursor
        return None if cursor is None else str(cursor)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The marked keys in their order on the screen, else the one under the cursor."""
        marked = tuple(str(key) for key in self.table.keys if key in self.table.marked) if self.table.marked else ()
        return marked or super().chosen

    @property
    def words(self) -> dict[str, list[str]]:
        """Column names, and fields for the filter."""
        names = [column.name for column in self.table.columns]
        return {"column": names, "field": [f"{name}:" for name in names]}
