"""A virtual table: any number of keys; columns are computed only for the rows on the screen.

The cursor belongs to a key, and the marks to what keys stand for, not to row numbers: a refresh never changes the
targets of an action. What is gone loses its mark, what a filter hides keeps it. When a refresh takes away the cursor's
key, or all that was marked, there is no target until the user moves the cursor: keys typed before it was seen would act
on another row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Generic, TypeVar

from textual.events import Click, MouseScrollDown, MouseScrollUp, Resize
from textual.message import Message

from tui.screen.widgets.base_line_view import LineView
from tui.tables.column_layout import GAP, Placed, Widths, header, row
from tui.tables.columns import Column, Sort
from tui.text.screen_line import Line, fit_line, safe
from tui.text.text_bars import is_picture

Key = TypeVar("Key", bound=Hashable)
_MARK_CELLS = 2
_MOST_ROWS = 1000
_WHEEL = 3
COLUMN_KEYS = "1234567890abcdefghijklmnopqrtuvwxyz"
"""The keys that choose a column to sort by; not ``s``, which removes the sort."""


class Table(LineView, Generic[Key]):
    """Rows of keys under a header of columns."""

    pinned = 1

    class Moved(Message):
        """The cursor is on another key."""

    class Opened(Message):
        """A row was clicked twice."""

    class Refitted(Message):
        """The columns are numbered, and a new width of the table may have numbered them anew."""

    class SortAsked(Message):
        """The header of a column was clicked; ``column`` is its name."""

        def __init__(self, column: str) -> None:
            super().__init__()
            self.column = column

    def __init__(self, targets_of: Callable[[Key], Collection[Hashable]], *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._targets_of = targets_of
        """What a mark on a key marks: mostly the key itself."""
        self.keys: Sequence[Key] = []
        self.columns: list[Column[Key]] = []
        self.sort = Sort()
        self.marked: set[Hashable] = set()
        self.marks_gone = False
        """Whether a refresh has taken away all that was marked, and the cursor was not moved since."""
        self.cursor_gone = False
        """Whether a refresh has taken away the key under the cursor, and the cursor was not moved since."""
        self._other_rows = False
        self.numbered = False
        self._index = 0
        self._cursor: Key | None = None
        self._placed: list[Placed[Key]] = []
        self._placed_for = -1
        self._widths: Widths[Key] = Widths()
        self._rows: dict[Key, Line] = {}
        self.nothing = ""
        """The text of a table without rows."""
        self.skipped = 0
        """How many columns after the first are scrolled out at the left."""

    @property
    def cursor(self) -> Key | None:
        """The key that the cursor is on; None in an empty table, and where a refresh has taken the key away."""
        return None if self.cursor_gone else self._cursor

    @property
    def sought(self) -> Key | None:
        """The key that the cursor is on, or was on before a refresh took it away."""
        return self._cursor

    @property
    def index(self) -> int:
        """The row under the cursor, from 0."""
        return self._index

    def show(self, keys: Sequence[Key], columns: list[Column[Key]], sort: Sort) -> None:
        """Show these keys; the cursor stays on its key, or is on none if that is gone."""
        self.keys, self.columns, self.sort = keys, columns, sort
        self.skipped = max(0, min(self.skipped, len(columns) - 2))
        self._widths.look_again()
        self._rows.clear()
        self._find_cursor()
        self.update()
        self.show_index(self._index)

    def forget_rows(self) -> None:
        """Drop keys and columns until they are shown again; the cursor and the marks stay."""
        self.keys, self.columns, self.nothing = [], [], ""
        self._placed, self._placed_for = [], -1
        self._widths.forget_columns()
        self._rows.clear()

    def move(self, steps: int) -> None:
        """Move the cursor down by ``steps`` rows, up where negative. Where its key has gone, it is one step down to the
        row that is there now."""
        self.move_to(self._index + steps - (1 if self.cursor_gone and steps > 0 else 0))

    def move_to(self, index: int) -> None:
        """Move the cursor to a row."""
        self.cursor_gone = self.marks_gone = False
        if not self.keys:
            self._cursor = None
            return
        self._index = max(0, min(index, len(self.keys) - 1))
        self._cursor = self.keys[self._index]
        self.show_index(self._index)
        self.update()
        self.post_message(self.Moved())

    def forget_cursor(self) -> None:
        """Put the cursor on the first row when keys are shown next."""
        self._index, self._cursor, self.cursor_gone = 0, None, False

    def look_for(self, key: Key | None) -> None:
        """Put the cursor on this key when keys are shown next, if it is among them."""
        if key is not None:
            self._cursor = key

    def toggle_mark(self) -> None:
        """Mark or unmark the key under the cursor, and go to the next row."""
        if self.cursor is not None:
            self._toggle(self._targets_of(self.cursor))
            self.move(1)

    def mark_all(self) -> int:
        """Mark all keys that are shown, those that are marked already too; if all are, unmark them. Returns how many
        are marked now."""
        self._toggle(set(self._targets_in(self.keys)))
        self.marks_gone = False
        self.update()
        self.post_message(self.Moved())
        return len(self.marked)

    def _toggle(self, targets: Collection[Hashable]) -> None:
        self.marked = self.marked.difference(targets) if self.marked.issuperset(targets) else self.marked.union(targets)

    def is_marked(self, key: Key) -> bool:
        """Whether all that the key stands for is marked."""
        targets = self._targets_of(key)
        return bool(targets) and self.marked.issuperset(targets)

    def marks_in(self, keys: Iterable[Key]) -> list[Hashable]:
        """What is marked of what these keys stand for, in their order."""
        return list(dict.fromkeys(target for target in self._targets_in(keys) if target in self.marked))

    @property
    def hidden_marks(self) -> int:
        """How much of what is marked no key that is shown stands for."""
        return len(self.marked) - len(self.marks_in(self.keys))

    def _targets_in(self, keys: Iterable[Key]) -> Iterable[Hashable]:
        return chain.from_iterable(map(self._targets_of, keys))

    def forget_marks_but(self, keys: Sequence[Key]) -> None:
        """Drop the marks of what is gone; those that a filter hides stay."""
        if self.marked:
            self.marked.intersection_update(self._targets_in(keys))
            self.marks_gone = not self.marked and not self._other_rows

    def shift(self, steps: int) -> None:
        """Scroll the columns after the first by ``steps``."""
        self.skipped = max(0, min(self.skipped + steps, len(self.columns) - 2))
        self.update()

    @property
    def columns_left_out(self) -> list[str]:
        """The names of the columns that the line has no room for."""
        shown = {placed.column.name for placed in self._place(self.size.width - _MARK_CELLS)}
        return [column.name for column in self.columns if column.name not in shown]

    def number_columns(self, numbered: bool) -> None:
        """Show or hide the key of each column in the header, for choosing one to sort by."""
        self.numbered = numbered
        self.update()

    def expect_other_rows(self) -> None:
        """Other rows are about to be shown because the user asked for them: columns may become narrower, and the cursor
        goes to another row if its own is not among them."""
        self._widths.forget()
        self._other_rows = True
        self.marks_gone = False

    def update(self) -> None:
        """Fit the columns to the rows on the screen, then repaint what changed."""
        self._place_again(self.size.width - _MARK_CELLS)
        super().update()

    def update_all(self) -> None:
        """Fit the columns and repaint everything."""
        self._place_again(self.size.width - _MARK_CELLS)
        super().update_all()

    def on_resize(self, event: Resize) -> None:
        """Another width has room for other columns."""
        super().on_resize(event)
        if self.numbered:
            self.post_message(self.Refitted())

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.move(_WHEEL)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.move(-_WHEEL)

    def on_click(self, event: Click) -> None:
        """A click on the header sorts by a column, on a row moves the cursor there; a double click opens the row."""
        event.stop()
        if event.y < self.pinned:
            column = self._column_at(event.x)
            if column:
                self.post_message(self.SortAsked(column))
            return
        index = event.y - self.pinned + self.scroll_offset.y
        if index < len(self.keys):
            self.move_to(index)
            if event.chain > 1:
                self.post_message(self.Opened())

    def _column_at(self, x: int) -> str:
        """The name of the column in this cell of the header; empty if there is none."""
        at = _MARK_CELLS
        for placed in self._place(self.size.width - _MARK_CELLS):
            if at <= x < at + placed.cells:
                return placed.column.name
            at += placed.cells + len(GAP)
        return ""

    def line_count(self) -> int:
        """How many rows there are; 1 for the text of an empty table."""
        return len(self.keys) or bool(self.nothing)

    def line_at(self, index: int, cells: int) -> Line:
        """The header, or one row."""
        placed = self._place(cells - _MARK_CELLS)
        if index < 0:
            return ("  ", ""), *self._header(placed)
        if not self.keys:
            return (("  ", ""), (safe(self.nothing), "dim"))
        key = self.keys[index]
        mark = self._mark(key)
        line: Line = ((f"{mark} ", "mark"), *self._row(placed, key))
        if index == self._index and not self.cursor_gone:
            line = ((f"{mark}▸", "mark"), *fit_line(line[1:], cells - _MARK_CELLS))
            # Without colours the row is in reverse, but for its pictures.
            return tuple((text, f"{role} {'behind' if is_picture(text) else 'here'}".strip()) for text, role in line)
        return line

    def _mark(self, key: Key) -> str:
        """``*`` on a marked row, ``-`` where a part of what it stands for is marked."""
        if not self.marked or self.marked.isdisjoint(self._targets_of(key)):
            return " "
        return "*" if self.is_marked(key) else "-"

    def _row(self, placed: list[Placed[Key]], key: Key) -> Line:
        """The cells of a row; the painted ones are cached until keys or columns change."""
        found = self._rows.get(key)
        if found is None:
            if len(self._rows) >= _MOST_ROWS:
                self._rows.clear()
            found = self._rows[key] = row(placed, key)
        return found

    def _header(self, placed: list[Placed[Key]]) -> Line:
        if not self.numbered:
            return header(placed, self.sort)
        titles = [
            Placed(
                replace(
                    each.column,
                    title=f"{key} {each.column.title}",
                    align=each.column.align if each.cells > 8 else "<",
                ),
                each.cells,
            )
            for key, each in zip(COLUMN_KEYS, placed)
        ]
        return tuple((text, "key" if role else role) for text, role in header(titles, Sort()))

    @property
    def sort_keys(self) -> str:
        """The columns on the line, each with the key that sorts by it: ``sort by 1 id  2 user  s none``.

        In the header a narrow column has no room for its key and its whole name.
        """
        placed = self._place(self.size.width - _MARK_CELLS)
        columns = (f"{key} {each.column.name}" for key, each in zip(COLUMN_KEYS, placed))
        return "sort by " + "  ".join((*columns, "s none"))

    def column_of_key(self, key: str) -> str | None:
        """The name of the column that has this key in the header."""
        placed = self._place(self.size.width - _MARK_CELLS)
        return next((found.column.name for shown, found in zip(COLUMN_KEYS, placed) if shown == key), None)

    def _place(self, cells: int) -> list[Placed[Key]]:
        if self._placed_for != cells:
            self._place_again(cells)
        return self._placed

    def _place_again(self, cells: int) -> None:
        top = self.scroll_offset.y
        on_screen = self.keys[top : top + self.size.height]
        placed = self._widths.place(self.columns, on_screen, max(1, cells), self.skipped)
        if placed != self._placed:
            self._rows.clear()
        self._placed, self._placed_for = placed, cells

    def _find_cursor(self) -> None:
        keys = self.keys
        may_move, self._other_rows, self.cursor_gone = self._other_rows or self._cursor is None, False, False
        if self._index < len(keys) and keys[self._index] == self._cursor:
            return
        with contextlib.suppress(ValueError):
            if self._cursor is not None:
                self._index = keys.index(self._cursor)
                return
        self._index = max(0, min(self._index, len(keys) - 1))
        if may_move:
            self._cursor = keys[self._index] if keys else None
        else:
            self.cursor_gone = True
