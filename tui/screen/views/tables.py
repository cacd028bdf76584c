"""A view that is a table: keys and columns from the world, filtered and sorted, under a title that counts them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Generic, TypeVar, cast

from textual.app import ComposeResult

from tui.screen.views.base import Shown, View, lines_of
from tui.screen.views.navigation import Place
from tui.screen.widgets.lines import LineView
from tui.screen.widgets.table import Table
from tui.state.cluster_view import World
from tui.tables.attribute_columns import AttributesOf, attribute_column, attribute_names, find_attribute
from tui.tables.columns import Column, Sort, arrange, chosen, fields, numbers, usual
from tui.tables.export import Source
from tui.tables.filters import Filter, FilterError, Value, parse_filter
from tui.text.lines import Line, safe
from tui.user.preferences import Layout

Key = TypeVar("Key", bound=Hashable)
_AT_ONCE = 5000
"""Rows that are filtered and sorted within a frame of the screen."""


_DEFAULT = ("default", "-")
_LOOKED_AT = 500
_LONGEST_WORD = 40


class TableView(View, Generic[Key]):
    """A table with a filter, columns and a sort of its own, which it keeps from poll to poll."""

    nothing = ""
    """What is said of a table without rows."""

    def __init__(self) -> None:
        super().__init__()
        self.table: Table[Key] = Table(classes="body")
        self.filter_text = ""
        self.layout_chosen = Layout()
        self._total = 0
        self._spelled: dict[str, str] = {}
        self._unknown: set[str] = set()

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

    def attributes(self, world: World) -> AttributesOf[Key] | None:
        """How PBS's own attributes of a key are found; None where a row is no object of PBS."""
        return None

    def heading(self, world: World) -> str:
        """What the title begins with."""
        return self.view_name

    def show(self, shown: Shown) -> None:
        """Show this world, which may have attributes that the one before had not."""
        self._unknown.clear()
        super().show(shown)

    def repaint(self) -> None:
        """Filter, sort and show."""
        if self.shown is None:
            return
        world = self.shown.world
        keys = self.keys(world)
        columns = self.all_columns(world)
        self._total = len(keys)
        wanted, sort = self.parse(self.filter_text) if self.filter_text else None, self.layout_chosen.sort
        shown = chosen(columns, self.layout_chosen.columns)
        if len(keys) <= _AT_ONCE or not (wanted or sort.column):
            self.workers.cancel_group(self, "arrange")
            self._show(arrange(keys, columns, wanted, sort), shown, sort)
        else:
            self.run_worker(self._arrange_aside(keys, columns, shown, wanted, sort), group="arrange", exclusive=True)

    async def _arrange_aside(
        self,
        keys: Sequence[Key],
        columns: list[Column[Key]],
        shown: list[Column[Key]],
        wanted: Filter[Key] | None,
        sort: Sort,
    ) -> None:
        """Filter and sort so many rows beside the screen, which goes on answering keys; only the last such is shown."""
        self._show(await asyncio.to_thread(arrange, keys, columns, wanted, sort), shown, sort)

    def _show(self, keys: Sequence[Key], columns: list[Column[Key]], sort: Sort) -> None:
        is_filtered = self._total and self.filter_text
        self.table.nothing = "no row passes the filter: esc drops it" if is_filtered else self.nothing
        self.table.show(keys, columns, sort)
        self.retitle()

    def all_columns(self, world: World) -> list[Column[Key]]:
        """The view's own columns, and those over attributes that are shown or sorted by."""
        columns = self.columns(world)
        attributes_of = self.attributes(world)
        if attributes_of is None:
            return columns
        known = {column.name for column in columns}

        def over(name: str) -> Column[Key]:
            return attribute_column(name, attributes_of, world.picture.resources)

        more = dict.fromkeys([*self.layout_chosen.columns, self.layout_chosen.sort.column])
        return [*columns, *(over(name) for name in more if name and name not in known)]

    def parse(self, text: str) -> Filter[Key]:
        """A filter over the columns' fields, those beside them, and PBS's attributes. Raises :class:`FilterError`."""
        if self.shown is None:
            return Filter(text)
        world = self.shown.world

        def of_attribute(name: str) -> Callable[[Key], Value] | None:
            spelled, attributes_of = self._spelling(name), self.attributes(world)
            if not spelled or attributes_of is None:
                return None
            return attribute_column(spelled, attributes_of, world.picture.resources).value

        columns = self.columns(world)
        return parse_filter(text, {**self.more_fields(world), **fields(columns)}, of_attribute, numbers(columns))

    def _spelling(self, name: str) -> str | None:
        """PBS's own spelling of an attribute that some row has; None where none has it."""
        attributes_of = self.attributes(self.shown.world) if self.shown is not None else None
        if attributes_of is None or self.shown is None:
            return None
        if name in self._unknown:
            return None
        if name not in self._spelled:
            found = find_attribute(name, self.keys(self.shown.world), attributes_of)
            if found is None:
                self._unknown.add(name)
                return None
            self._spelled[name] = found
        return self._spelled[name]

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
        skipped = f"← {self.table.skipped} columns   " if self.table.skipped else ""
        line: Line = tuple(parts)
        self.title(line, f"{skipped}{self._sorted_by()}{place}")

    def _sorted_by(self) -> str:
        column, down = self.layout_chosen.sort
        if not column:
            return ""
        return f"sort: {safe(column)}, {'most' if down else 'least'} first   "

    def on_table_moved(self) -> None:
        """The cursor is elsewhere."""
        self.retitle()

    def filter_by(self, text: str) -> None:
        """Show only rows that pass. Raises :class:`FilterError` and keeps the old filter."""
        before, self.filter_text = self.filter_text, text.strip()
        self.table.forget_widths()
        try:
            self.repaint()
        except FilterError:
            self.filter_text = before
            raise

    def sort_by(self, column: str) -> Sort:
        """Sort by a column, shown or not; a second time turns it round, ``-`` or ``default`` gives the order that rows
        have by themselves. Raises ValueError naming the columns."""
        sort = Sort()
        if column not in _DEFAULT:
            found = self._find_column(column, "sort")
            now = self.layout_chosen.sort
            sort = Sort(found.name, not now.down if now.column == found.name else found.align == ">")
        self.layout_chosen = replace(self.layout_chosen, sort=sort)
        self.repaint()
        return sort

    def choose_columns(self, names: Sequence[str]) -> None:
        """Show these columns in this order; none for the usual ones. Raises ValueError naming what there is."""
        spelled = tuple(dict.fromkeys(self._find_column(name, "columns").name for name in names))
        self.layout_chosen = replace(self.layout_chosen, columns=spelled)
        self.repaint()

    @property
    def columns_chosen(self) -> tuple[str, ...]:
        """The columns by name that are shown where the line is long enough."""
        if self.layout_chosen.columns or self.shown is None:
            return self.layout_chosen.columns
        return tuple(usual(self.columns(self.shown.world)))

    @property
    def columns_shown(self) -> list[Column[Key]]:
        """The columns that were chosen, or are usual, also where the line is too narrow for them, and the spare ones
        that it has room for."""
        wanted, gone = set(self.columns_chosen), set(self.table.columns_left_out)
        return [column for column in self.table.columns if column.name in wanted or column.name not in gone]

    @property
    def marked_names(self) -> tuple[str, ...]:
        """The marked rows by name, in their order on the screen."""
        marked = self.table.marked
        return tuple(self.name_of(key) for key in self.table.keys if key in marked) if marked else ()

    def name_of(self, key: Key) -> str:
        """What a row is called."""
        return str(key)

    def source(self, world: World) -> Source:
        """Where the rows are from, for who reads them elsewhere."""
        column, down = self.layout_chosen.sort
        sort = f"{'-' if down else ''}{column}"
        return Source(world.server_name, world.now_s, self.view_name, self.filter_text, sort)

    @property
    def widest_column(self) -> str:
        """The name of the column that takes the rest of a line; empty where there is none."""
        columns = self.columns(self.shown.world) if self.shown is not None else []
        return next((column.name for column in columns if not column.cells), "")

    @property
    def columns_offered(self) -> list[str]:
        """All columns by name, those that are shown first; then the attributes that PBS shows of these rows."""
        if self.shown is None:
            return []
        own = [column.name for column in self.columns(self.shown.world)]
        return list(dict.fromkeys([*self.columns_chosen, *own, *self.attributes_offered]))

    @property
    def attributes_offered(self) -> list[str]:
        """The attributes that PBS shows of these rows, as far as a look at the first of them tells."""
        attributes_of = self.attributes(self.shown.world) if self.shown is not None else None
        if attributes_of is None or self.shown is None:
            return []
        return attribute_names(self.keys(self.shown.world), attributes_of)

    def values_of(self, field: str) -> list[str]:
        """The texts that a field has in the first rows, for completing a filter; none for numbers."""
        if self.shown is None:
            return []
        world = self.shown.world
        value_of = {**self.more_fields(world), **fields(self.columns(world))}.get(field.lower())
        if value_of is None:
            return []
        found: dict[str, None] = {}
        for key in islice(self.keys(world), _LOOKED_AT):
            value = value_of(key)
            texts = value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()
            found.update(dict.fromkeys(text for text in texts if text and len(text) <= _LONGEST_WORD))
        return sorted(found)

    def _find_column(self, name: str, what: str) -> Column[Key]:
        if self.shown is None:
            raise ValueError(f"{what}: no answer from the server yet")
        world = self.shown.world
        columns = self.all_columns(world)
        found = next((column for column in columns if column.name == name), None)
        spelled = self._spelling(name) if found is None else None
        attributes_of = self.attributes(world)
        if spelled and attributes_of is not None:
            return attribute_column(spelled, attributes_of, world.picture.resources)
        if found is None:
            also = ", and PBS's attributes" if attributes_of is not None else ""
            raise ValueError(f"{what}: no column {name!r} here; there are {', '.join(c.name for c in columns)}{also}")
        return found

    @property
    def place(self) -> Place:
        """The filter, and what the cursor is on."""
        return Place(self.view_name, filter=self.filter_text, cursor=self.table.cursor)

    def resume(self, place: Place) -> None:
        """Take the filter and the cursor."""
        self.filter_text = place.filter
        self.table.look_for(cast("Key | None", place.cursor))
        self.table.forget_widths()

    def move(self, name: str) -> None:
        """Move the cursor; left and right move the columns."""
        if name in ("left", "right"):
            self.table.shift(1 if name == "right" else -1)
            self.retitle()
        else:
            self.table.move(lines_of(name, self.table.page))
            # At once, so that a key is answered in one piece.
            self.retitle()

    @property
    def cursor_name(self) -> str | None:
        """The key under the cursor."""
        cursor = self.table.cursor
        return None if cursor is None else self.name_of(cursor)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The marked keys in their order on the screen, else the one under the cursor."""
        return self.marked_names or super().chosen

    @property
    def words(self) -> dict[str, list[str]]:
        """Column names, and fields for the filter."""
        names = self.columns_offered
        shown = self.columns_chosen
        fields_ = [*names, *(self.more_fields(self.shown.world) if self.shown is not None else ())]
        return {
            "column": [*names, "default"],
            "columns": [*(f"+{name}" for name in names if name not in shown), *(f"-{name}" for name in shown)],
            "field": [f"{name}:" for name in dict.fromkeys(fields_)],
        }
