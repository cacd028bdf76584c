"""Lays out columns on a line: which of them fit, their widths, and a row's cells side by side.

Widths follow the rows on the screen, the only rows that are measured: numbers and names get the cells that they need
as far as the line has them. A column keeps the width that it has needed since its view was opened
(:class:`Widths`), so that no refresh makes it narrower.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tui.tables.columns import SPARE, Column, Sort
from tui.text.screen_line import Line, fit_line, plain, width
from tui.text.truncate_names import NO_TAIL, cut_line, find_tail

Key = TypeVar("Key", bound=Hashable)
GAP = "  "
_LEAST_REST, _SHARE_OF_REST = 20, 4
"""The column that takes the rest gets at least so many cells, and one part in so many of a line."""
_ENOUGH_REST = 40
"""Beyond what the texts of the column that takes the rest need, or so much room for it, texts that are cut get the room
first."""
_PLENTY_REST = 60
"""With so much room for it, and no text cut, there is room for spare columns."""
_LONGEST_NUMBER = 24
_NAME_SHARE = 3
"""A row's name gets at most one part in so many of a line before other columns are left out for it."""


@dataclass(frozen=True)
class Placed(Generic[Key]):
    """A column, its width on a line in cells, and how many of them show the end of a text that is too long."""

    column: Column[Key]
    cells: int
    tail: int = NO_TAIL


Needs = Mapping[str, int]
"""The cells that a column's title and texts need, by the column's name."""


def place(
    columns: Sequence[Column[Key]], cells: int, skipped: int = 0, needs: Needs | None = None
) -> list[Placed[Key]]:
    """The columns that fit on a line of so many cells, with their widths.

    ``skipped`` columns after the first one, which always stays, are left out; the following ones are then placed in
    order regardless of rank, as many as fit. So a user can scroll to columns that were left out.
    """
    needs = needs or {}
    due = [replace(column, cells=_due(column, needs, cells)) for column in columns]
    if skipped:
        return _grown(_as_many_as_fit([*due[:1], *due[1 + skipped :]], cells), cells, needs)
    kept = _left(due, columns, cells, needs)
    if not _fit(kept, cells, needs):
        names = {column.name for column in kept}
        kept = [column for column in columns if column.name in names]
    return _grown(kept, cells, needs)


def _due(column: Column[Key], needs: Needs, cells: int) -> int:
    """The width of a column before other columns grow: a number's or a name's need within limits, else the least."""
    need = needs.get(column.name, 0)
    if column.align == ">" and column.cells:
        return max(column.cells, min(need, _LONGEST_NUMBER))
    if column.names:
        return max(column.cells, min(need, column.most, cells // _NAME_SHARE))
    return column.cells


def _left(due: Sequence[Column[Key]], columns: Sequence[Column[Key]], cells: int, needs: Needs) -> list[Column[Key]]:
    """The columns that remain on a line. A name is narrowed to its least width before its column is left out."""
    least = {column.name: column for column in columns}
    kept = list(due)
    gone: list[Column[Key]] = []
    while not _fit(kept, cells, needs) and any(column.rank for column in kept):
        rank = max(column.rank for column in kept)
        last = next(column for column in reversed(kept) if column.rank == rank)
        if last.names and last.cells > least[last.name].cells:
            kept = [least[last.name] if column is last else column for column in kept]
        else:
            gone.append(last)
            kept = [column for column in kept if column is not last]
    # Restore a column that fits after all, since a wider one was left out after it.
    for column in reversed(gone):
        names = {column.name, *(each.name for each in kept)}
        stays = {each.name: each for each in kept}
        again = [stays.get(each.name, each) for each in columns if each.name in names]
        kept = again if _fit(again, cells, needs) else kept
    return kept


def _fit(columns: Sequence[Column[Key]], cells: int, needs: Needs) -> bool:
    """Whether the columns fit, with enough room for the one that takes the rest. Spare ones do only where the texts of
    the others are whole."""
    if all(column.cells for column in columns):
        return _taken(columns) <= cells
    if all(column.rank < SPARE for column in columns):
        return _taken(columns) + _least_rest(cells) <= cells
    cut = sum(_wanted(column, needs) for column in columns if column.cells and column.rank < SPARE)
    return _taken(columns) + cut + _PLENTY_REST <= cells


def _least_rest(cells: int) -> int:
    return max(_LEAST_REST, min(_ENOUGH_REST, cells // _SHARE_OF_REST))


def _wanted(column: Column[Key], needs: Needs) -> int:
    """How many more cells the texts of a column could use."""
    return max(0, min(needs.get(column.name, 0), column.most) - column.cells)


def _taken(columns: Sequence[Column[Key]]) -> int:
    return sum(column.cells for column in columns) + len(GAP) * (len(columns) - 1)


def _as_many_as_fit(columns: Sequence[Column[Key]], cells: int) -> list[Column[Key]]:
    kept: list[Column[Key]] = []
    for column in columns:
        if kept and _taken([*kept, column]) + (0 if column.cells else _LEAST_REST) > cells:
            break
        kept.append(column)
    return kept


def _grown(columns: Sequence[Column[Key]], cells: int, needs: Needs) -> list[Placed[Key]]:
    """The columns with the remaining room: names grow first, then the others, once the column that takes the rest has
    what its texts need, or enough."""
    rest_column = next((column for column in columns if not column.cells), None)
    enough = 0 if rest_column is None else min(_ENOUGH_REST, needs.get(rest_column.name, _ENOUGH_REST))
    least = 0 if rest_column is None else _LEAST_REST
    widths = {column.name: column.cells for column in columns}
    room = cells - _taken(columns)
    for names, rest in ((True, least), (False, max(least, enough))):
        for column in columns:
            if column.cells and column.names == names:
                more = max(0, min(_wanted(column, needs), room - rest))
                widths[column.name] += more
                room -= more
    taken = sum(widths.values()) + len(GAP) * (len(columns) - 1)
    return [Placed(column, widths[column.name] or max(1, cells - taken)) for column in columns]


class Widths(Generic[Key]):
    """The widths that one table's columns have needed so far, and where its names are cut."""

    def __init__(self) -> None:
        self._needs: dict[str, int] = {}
        self._tails: dict[str, int] = {}
        self._measured: dict[str, set[Key]] = {}
        self._placed_for: tuple[tuple[Column[Key], ...], int, int] | None = None
        self._placed: list[Placed[Key]] = []

    def forget(self) -> None:
        """Forget all widths, for another view: columns may become narrower."""
        self._needs.clear()
        self._tails.clear()
        self._measured.clear()
        self._placed_for = None

    def look_again(self) -> None:
        """Measure the rows on the screen again, since they may show other texts."""
        self._measured.clear()

    def place(
        self, columns: Sequence[Column[Key]], keys: Sequence[Key], cells: int, skipped: int = 0
    ) -> list[Placed[Key]]:
        """The columns on a line of so many cells; ``keys`` are the rows on the screen."""
        asked = (tuple(columns), cells, skipped)
        if asked != self._placed_for:
            self._placed_for, self._placed = asked, place(columns, cells, skipped, self._needs)
        while self._measure([each.column for each in self._placed], keys):
            self._placed = place(columns, cells, skipped, self._needs)
        return [self._with_tail(each, keys) for each in self._placed]

    def _measure(self, columns: Iterable[Column[Key]], keys: Sequence[Key]) -> bool:
        """Measure new keys; whether a column needs more cells than before."""
        grown = False
        for column in columns:
            if not _may_grow(column):
                continue
            measured = self._measured.setdefault(column.name, set())
            new = [key for key in keys if key not in measured]
            measured.update(new)
            texts = (width(plain(column.show(key))) for key in new)
            need = max(texts, default=0)
            if column.name not in self._needs:
                need = max(need, width(column.title))
            if need > self._needs.get(column.name, -1):
                self._needs[column.name] = need
                grown = True
        return grown

    def _with_tail(self, placed: Placed[Key], keys: Sequence[Key]) -> Placed[Key]:
        column, cells = placed.column, placed.cells
        if not column.names or self._needs.get(column.name, 0) <= cells:
            return placed
        texts = [plain(column.show(key)) for key in keys]
        tail = self._tails[column.name] = find_tail(texts, cells, self._tails.get(column.name))
        return replace(placed, tail=tail)


def _may_grow(column: Column[Key]) -> bool:
    return not column.drawn and (not column.cells or column.align == ">" or column.most > 0)


def header(placed: Sequence[Placed[Key]], sort: Sort) -> Line:
    """The titles, with an arrow at the column that the rows are sorted by; a title gives way to its arrow."""
    titles = []
    for each in placed:
        column, cells = each.column, each.cells
        arrow = ("↓" if sort.down else "↑") if column.name == sort.column else ""
        title = column.title[: max(0, cells - len(arrow))] if arrow else column.title
        titles.append(_aligned(((title + arrow, "title"),), cells, column.align))
    return _side_by_side(titles)


def row(placed: Sequence[Placed[Key]], key: Key) -> Line:
    """The cells of one row."""
    return _side_by_side([_aligned(each.column.show(key), each.cells, each.column.align, each.tail) for each in placed])


def _aligned(line: Line, cells: int, align: str, tail: int = NO_TAIL) -> Line:
    missing = cells - sum(width(text) for text, _ in line)
    if align == ">" and missing > 0:
        return (" " * missing, ""), *line
    return cut_line(line, cells, tail) if tail else fit_line(line, cells)


def _side_by_side(parts: Sequence[Line]) -> Line:
    spans: list[tuple[str, str]] = []
    for part in parts:
        if spans:
            spans.append((GAP, ""))
        spans.extend(part)
    return tuple(spans)
