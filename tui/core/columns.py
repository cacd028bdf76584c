"""Columns over keys: a table is a sequence of keys (job ids, vnode names), and columns that know the world behind them.

A column reads a value only for the rows that are painted, sorted by or filtered on, which is what keeps a hundred
thousand rows fluent. The column's name is also its field in the filter line and its name in ``:sort``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from tui.core.filters import Fields, Filter, Value
from tui.core.lines import Line, fit_line, width

Key = TypeVar("Key")
GAP = "  "


@dataclass(frozen=True)
class Column(Generic[Key]):
    """``value`` sorts and filters, ``show`` gives the cell. ``cells`` is the width; the one column with 0 takes the
    rest. Where a line is too narrow, columns of the highest ``rank`` are left out first; rank 0 always stays."""

    name: str
    title: str
    cells: int
    value: Callable[[Key], Value]
    show: Callable[[Key], Line]
    align: str = "<"
    rank: int = 0


class Sort(NamedTuple):
    """Sorted by a column's name, downwards or not; an empty name keeps the order in which keys come."""

    column: str = ""
    down: bool = False


class Placed(NamedTuple, Generic[Key]):
    """A column and the cells that it got on a line."""

    column: Column[Key]
    cells: int


_LEAST_REST = 12


def place(columns: Sequence[Column[Key]], cells: int) -> list[Placed[Key]]:
    """The columns that fit on a line of so many cells, with their widths."""
    kept = list(columns)
    while True:
        taken = sum(column.cells for column in kept) + len(GAP) * (len(kept) - 1)
        least = _LEAST_REST if any(not column.cells for column in kept) else 0
        rank = max((column.rank for column in kept), default=0)
        if taken + least <= cells or rank == 0:
            rest = max(1, cells - taken)
            return [Placed(column, column.cells or rest) for column in kept]
        kept.remove(next(column for column in reversed(kept) if column.rank == rank))


def header(placed: Sequence[Placed[Key]], sort: Sort) -> Line:
    """The titles, with an arrow at the column that the rows are sorted by."""
    titles = []
    for column, cells in placed:
        arrow = ("↓" if sort.down else "↑") if column.name == sort.column else ""
        titles.append(_aligned(((column.title + arrow, "title"),), cells, column.align))
    return _side_by_side(titles)


def row(placed: Sequence[Placed[Key]], key: Key) -> Line:
    """The cells of one key."""
    return _side_by_side([_aligned(column.show(key), cells, column.align) for column, cells in placed])


def _aligned(line: Line, cells: int, align: str) -> Line:
    missing = cells - sum(width(text) for text, _ in line)
    return ((" " * missing, ""), *line) if align == ">" and missing > 0 else fit_line(line, cells)


def _side_by_side(parts: Sequence[Line]) -> Line:
    spans: list[tuple[str, str]] = []
    for part in parts:
        if spans:
            spans.append((GAP, ""))
        spans.extend(part)
    return tuple(spans)


def fields(columns: Sequence[Column[Key]]) -> Fields[Key]:
    """What the filter line may ask of these columns."""
    return {column.name: column.value for column in columns}


def arrange(
    keys: Sequence[Key], columns: Sequence[Column[Key]], wanted: Filter[Key] | None, sort: Sort
) -> Sequence[Key]:
    """The keys that pass the filter, sorted; missing values come last whichever way."""
    kept = wanted.of(keys) if wanted else keys
    column = next((column for column in columns if column.name == sort.column), None)
    if column is None:
        return kept
    value_of = column.value
    with_value = [(value, key) for key in kept for value in (value_of(key),) if value is not None]
    without = [key for key in kept if value_of(key) is None] if len(with_value) < len(kept) else []
    try:
        with_value.sort(key=lambda pair: pair[0], reverse=sort.down)
    except TypeError:
        with_value.sort(key=lambda pair: str(pair[0]), reverse=sort.down)
    return [key for _, key in with_value] + without
