"""Base of views that are tables: keys and columns from the cluster view, filtered and sorted, under a title with
counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Generic, TypeVar, cast

from textual.app import ComposeResult

from policy.model.pbs_units import show_count, show_job
from tui.screen.views.bases.base_view import Shown, View, lines_of
from tui.screen.views.bases.visited_places import Place
from tui.screen.widgets.base_line_view import LineView
from tui.screen.widgets.virtual_table import Table
from tui.state.cluster_view import ClusterView
from tui.tables.attribute_columns import AttributesOf, attribute_column, attribute_names, find_attribute
from tui.tables.columns import Column, Sort, arrange, chosen, fields, numbers, usual
from tui.tables.export_table import Origin
from tui.tables.filter_line import Filter, FilterError, Value, parse_filter, texts_to_complete
from tui.text.screen_line import Line, plain, safe, width
from tui.user.user_preferences import Layout

Key = TypeVar("Key", bound=Hashable)
_AT_ONCE = 5000
"""Most rows that are filtered and sorted within one frame; more are in a thread."""
_MARGINS = 4
"""Cells of a title line before, between and after its parts."""
_DEFAULT = ("default", "-")
_LOOKED_AT = 500


class TableView(View, Generic[Key]):
    """A table with its own filter, columns and sort, kept from poll to poll."""

    nothing = ""
    """The text of a table without rows."""

    def __init__(self) -> None:
        super().__init__()
        self.table: Table[Key] = Table(self.targets_of, classes="body")
        self.filter_text = ""
        self.layout_chosen = Layout()
        self._shown_with = "", Layout()
        self._total = 0
        self._name_at_cursor = ""
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

    def keys(self, cluster: ClusterView) -> Sequence[Key]:
        """All keys, in their order without a sort."""
        raise NotImplementedError

    def columns(self, cluster: ClusterView) -> list[Column[Key]]:
        """The table's columns."""
        raise NotImplementedError

    def more_fields(self, cluster: ClusterView) -> Mapping[str, Callable[[Key], Value]]:
        """Fields of the filter beyond the columns."""
        return {}

    def attributes(self, cluster: ClusterView) -> AttributesOf[Key] | None:
        """A function for PBS's attributes of a key; None where rows are no PBS objects."""
        return None

    def heading(self, cluster: ClusterView) -> str:
        """The beginning of the title."""
        return self.view_name

    def show(self, shown: Shown) -> None:
        """Show this state; it may have attributes that the previous one had not."""
        self._unknown.clear()
        super().show(shown)

    def forget_shown(self) -> None:
        """The table's columns read from the state."""
        super().forget_shown()
        self.workers.cancel_group(self, "arrange")
        self.table.forget_rows()

    def repaint(self) -> None:
        """Filter, sort and show; many rows are filtered and sorted in a thread."""
        if self.shown is None:
            return
        cluster = self.shown.cluster
        keys = self.keys(cluster)
        columns = self.all_columns(cluster)
        self._total = len(keys)
        self.table.forget_marks_but(keys)
        wanted, sort = self.parse(self.filter_text) if self.filter_text else None, self.layout_chosen.sort
        arranged, shown = partial(arrange, keys, columns, wanted, sort), chosen(columns, self.layout_chosen.columns)
        if len(keys) <= _AT_ONCE or not (wanted or sort.column):
            self.workers.cancel_group(self, "arrange")
            with self._or_as_before():
                self._show(arranged(), shown, sort)
        else:
            self.run_worker(self._arrange_aside(arranged, shown, sort), group="arrange", exclusive=True)

    async def _arrange_aside(self, arranged: Callable[[], Sequence[Key]], shown: list[Column[Key]], sort: Sort) -> None:
        """Filter and sort in a thread, so that the screen goes on reacting to keys; only the latest result is shown."""
        with self._or_as_before():
            self._show(await asyncio.to_thread(arranged), shown, sort)

    @contextmanager
    def _or_as_before(self) -> Iterator[None]:
        """If the rows cannot be shown, return to the filter and the layout that they were shown with, and where that
        fails too to none: the table would stand still, as each later poll failed."""
        try:
            yield
        except Exception:
            self.filter_text, self.layout_chosen = self._shown_with
            self._shown_with = "", Layout()
            raise
        self._shown_with = self.filter_text, self.layout_chosen

    def _show(self, keys: Sequence[Key], columns: list[Column[Key]], sort: Sort) -> None:
        is_filtered = self._total and self.filter_text
        self.table.nothing = "no row passes the filter: esc drops it" if is_filtered else self.nothing
        self.table.show(keys, columns, sort)
        self.retitle()

    def all_columns(self, cluster: ClusterView) -> list[Column[Key]]:
        """The view's own columns, and those for PBS attributes that are shown or sorted by."""
        columns = self.columns(cluster)
        attributes_of = self.attributes(cluster)
        if attributes_of is None:
            return columns
        known = {column.name for column in columns}

        def over(name: str) -> Column[Key]:
            return attribute_column(name, attributes_of, cluster.server_status.resources)

        more = dict.fromkeys([*self.layout_chosen.columns, self.layout_chosen.sort.column])
        return [*columns, *(over(name) for name in more if name and name not in known)]

    def parse(self, text: str) -> Filter[Key]:
        """Parse a filter over the columns' fields, further fields, and PBS's attributes. Raises
        :class:`FilterError`.
        """
        if self.shown is None:
            return Filter(text)
        cluster = self.shown.cluster

        def of_attribute(name: str) -> Callable[[Key], Value] | None:
            spelled, attributes_of = self._spelling(name), self.attributes(cluster)
            if not spelled or attributes_of is None:
                return None
            return attribute_column(spelled, attributes_of, cluster.server_status.resources).value

        columns = self.columns(cluster)
        return parse_filter(text, {**self.more_fields(cluster), **fields(columns)}, of_attribute, numbers(columns))

    def _spelling(self, name: str) -> str | None:
        """PBS's spelling of an attribute that some row has; None where no row has it."""
        attributes_of = self.attributes(self.shown.cluster) if self.shown is not None else None
        if attributes_of is None or self.shown is None:
            return None
        if name in self._unknown:
            return None
        if name not in self._spelled:
            found = find_attribute(name, self.keys(self.shown.cluster), attributes_of)
            if found is None:
                self._unknown.add(name)
                return None
            self._spelled[name] = found
        return self._spelled[name]

    def retitle(self) -> None:
        """Update the title: what is shown, how many rows, and the cursor's position."""
        if self.shown is None:
            return
        self._name_at_cursor = self.cursor_name or self._name_at_cursor
        shown = len(self.table.keys)
        heading, rows = self.heading(self.shown.cluster), self.rows_in_words(self.shown.cluster, shown)
        parts: list[tuple[str, str]] = [(safe(heading), "title"), (f" · {rows}", "")]
        if self.filter_text:
            parts.append((f" of {self._total:,} · filter {safe(self.filter_text)}", "warn"))
        if self.table.marked:
            parts.append((f" · {len(self.table.marked):,} marked", "bold"))
            hidden = self.table.hidden_marks if self.filter_text else 0
            if hidden:
                parts.append((f", {hidden:,} of them hidden by the filter", "warn"))
        if self.gone:
            parts.append((f" · {safe(self.gone)} is gone", "warn"))
        place = f"{self.table.index + 1:,} / {shown:,}" if shown else "none"
        skipped = f"← {show_count(self.table.skipped, 'column')}   " if self.table.skipped else ""
        line: Line = tuple(parts)
        right = f"{skipped}{self._sorted_by()}{place}"
        # What the view shows comes before how it is sorted.
        has_room = width(plain(line)) + width(right) + _MARGINS <= self.size.width
        self.title(line, right if has_room else f"{skipped}{place}")

    def rows_in_words(self, cluster: ClusterView, shown: int) -> str:
        """How many rows are shown, and of what where a row may stand for several."""
        return f"{shown:,}"

    def _sorted_by(self) -> str:
        column, down = self.layout_chosen.sort
        if not column:
            return ""
        return f"sort: {safe(column)}, {'most' if down else 'least'} first   "

    def on_table_moved(self) -> None:
        """The cursor has moved."""
        self.retitle()

    def filter_by(self, text: str) -> None:
        """Show only rows that pass. Raises :class:`FilterError`, and then keeps the old filter."""
        before, self.filter_text = self.filter_text, text.strip()
        self.table.expect_other_rows()
        try:
            self.repaint()
        except FilterError:
            self.filter_text = before
            raise

    def sort_by(self, column: str) -> Sort:
        """Sort by a column, shown or not, and go to the first row; the same column again reverses the order, ``-`` or
        ``default`` restores the rows' own order. Raises ValueError with the names of the columns.
        """
        sort = Sort()
        if column not in _DEFAULT:
            found = self._find_column(column, "sort")
            now = self.layout_chosen.sort
            sort = Sort(found.name, not now.down if now.column == found.name else found.align == ">")
        self.layout_chosen = replace(self.layout_chosen, sort=sort)
        self.table.forget_cursor()
        self.repaint()
        return sort

    def choose_columns(self, names: Sequence[str]) -> None:
        """Show these columns in this order, the usual ones if empty. Raises ValueError with the names of the
        columns.
        """
        spelled = tuple(dict.fromkeys(self._find_column(name, "columns").name for name in names))
        self.layout_chosen = replace(self.layout_chosen, columns=spelled)
        self.repaint()

    @property
    def columns_chosen(self) -> tuple[str, ...]:
        """The names of the columns to show where the line is wide enough."""
        if self.layout_chosen.columns or self.shown is None:
            return self.layout_chosen.columns
        return tuple(usual(self.columns(self.shown.cluster)))

    @property
    def columns_shown(self) -> list[Column[Key]]:
        """The chosen or usual columns, including those that the line is too narrow for, and the spare columns that it
        has room for.
        """
        wanted, gone = set(self.columns_chosen), set(self.table.columns_left_out)
        return [column for column in self.table.columns if column.name in wanted or column.name not in gone]

    @property
    def marked_names(self) -> tuple[str, ...]:
        """The names of what is marked, in its order on the screen, then of what the filter hides."""
        marked = self.table.marks_in(self.table.keys)
        if len(marked) < len(self.table.marked) and self.shown is not None:
            marked = list(dict.fromkeys((*marked, *self.table.marks_in(self.keys(self.shown.cluster)))))
        return tuple(map(self.name_of_target, marked))

    def name_of(self, key: Key) -> str:
        """The name of a row."""
        return str(key)

    def targets_of(self, key: Key) -> Collection[Hashable]:
        """What an operation on the row, or a mark on it, is for: the row itself."""
        return (key,)

    def name_of_target(self, target: Hashable) -> str:
        """The name of one of :meth:`targets_of`."""
        return self.name_of(cast("Key", target))

    def origin(self, cluster: ClusterView) -> Origin:
        """The source of the rows, for those who read an export."""
        column, down = self.layout_chosen.sort
        sort = f"{'-' if down else ''}{column}"
        return Origin(cluster.server_name, cluster.now_s, self.view_name, self.filter_text, sort)

    @property
    def widest_column(self) -> str:
        """The name of the column that takes the rest of the line; empty where there is none."""
        columns = self.columns(self.shown.cluster) if self.shown is not None else []
        return next((column.name for column in columns if not column.cells), "")

    @property
    def columns_offered(self) -> list[str]:
        """The names of all columns, the shown ones first, then the attributes that PBS reports of these rows."""
        if self.shown is None:
            return []
        own = [column.name for column in self.columns(self.shown.cluster)]
        return list(dict.fromkeys([*self.columns_chosen, *own, *self.attributes_offered]))

    @property
    def column_titles(self) -> dict[str, str]:
        """What stands above each column of the view's own."""
        return {} if self.shown is None else {each.name: each.title for each in self.columns(self.shown.cluster)}

    @property
    def attributes_offered(self) -> list[str]:
        """The attributes that PBS reports of these rows, found in the first of them."""
        attributes_of = self.attributes(self.shown.cluster) if self.shown is not None else None
        if attributes_of is None or self.shown is None:
            return []
        return attribute_names(self.keys(self.shown.cluster), attributes_of)

    def values_of(self, field: str) -> list[str]:
        """The texts of a field in the first rows, for completing a filter; empty for numbers."""
        if self.shown is None:
            return []
        cluster = self.shown.cluster
        value_of = {**self.more_fields(cluster), **fields(self.columns(cluster))}.get(field.lower())
        if value_of is None:
            return []
        return texts_to_complete(map(value_of, islice(self.keys(cluster), _LOOKED_AT)))

    def _find_column(self, name: str, what: str) -> Column[Key]:
        if self.shown is None:
            raise ValueError(f"{what}: no answer from the server yet")
        cluster = self.shown.cluster
        columns = self.all_columns(cluster)
        found = next((column for column in columns if column.name == name), None)
        spelled = self._spelling(name) if found is None else None
        attributes_of = self.attributes(cluster)
        if spelled and attributes_of is not None:
            return attribute_column(spelled, attributes_of, cluster.server_status.resources)
        if found is None:
            also = ", and PBS's attributes" if attributes_of is not None else ""
            raise ValueError(f"{what}: no column {name!r} here; there are {', '.join(c.name for c in columns)}{also}")
        return found

    @property
    def place(self) -> Place:
        """The filter, and the key under the cursor."""
        return Place(self.view_name, filter=self.filter_text, cursor=self.table.cursor)

    def resume(self, place: Place) -> None:
        """Take the filter and the cursor of a place."""
        self.filter_text = place.filter
        self.table.look_for(cast("Key | None", place.cursor))
        self.table.expect_other_rows()

    def move(self, name: str) -> None:
        """Move the cursor; left and right scroll the columns."""
        if name in ("left", "right"):
            self.table.shift(1 if name == "right" else -1)
        else:
            self.table.move(lines_of(name, self.table.page))
        # Immediately, so that the effect of a key appears in one frame.
        self.retitle()

    @property
    def cursor_name(self) -> str | None:
        """The key under the cursor."""
        cursor = self.table.cursor
        return None if cursor is None else self.name_of(cursor)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of what is marked in its order on the screen, else of what the row under the cursor stands for;
        none where a refresh has taken away what was marked."""
        cursor = self.table.cursor
        if self.table.marked or self.table.marks_gone or cursor is None:
            return self.marked_names
        return tuple(map(self.name_of_target, self.targets_of(cursor)))

    @property
    def gone(self) -> str:
        """The row that was under the cursor, or what was marked, if a refresh has taken it away."""
        if self.table.cursor_gone:
            return show_job(self._name_at_cursor) if self.kind == "job" else self._name_at_cursor
        return "what was marked" if self.table.marks_gone else ""

    @property
    def words(self) -> dict[str, list[str]]:
        """Column names, and fields for the filter."""
        names = self.columns_offered
        shown = self.columns_chosen
        fields_ = [*names, *(self.more_fields(self.shown.cluster) if self.shown is not None else ())]
        return {
            "column": [*names, "default"],
            "columns": [*(f"+{name}" for name in names if name not in shown), *(f"-{name}" for name in shown)],
            "field": [f"{name}:" for name in dict.fromkeys(fields_)],
        }
