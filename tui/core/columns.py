"""Columns over keys: a table is a sequence of keys (job ids, vnode names), and columns that know the world behind them.

A column reads a value only for the rows that are painted, sorted by or filtered on, which is what keeps a hundred
thousand rows fluent. The column's name is also its field in the filter line and its name in ``:sort``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from tui.core.filters import Fields, Filter, Value
from tui.core.lines import Line, fit_line, width

Key = TypeVar("Key")
GAP = "  "


@dataclass(frozen=True)
class Column(Generic[Key]):
    """``value`` sorts and filters, ``show`` gives the cell. ``cells`` is the width, up to ``most`` where there is room;
    the one column with 0 takes the rest. Where a line is too narrow, columns of the highest ``rank`` are left out
    first; rank 0 always stays, and from :data:`SPARE` on a column is only for lines that have plenty of room.

    ``told`` is what an export says where the value that sorts would not do; ``drawn`` marks a column that repeats
    others as a picture, which no export has."""

    name: str
    title: str
    cells: int
    value: Callable[[Key], Value]
    show: Callable[[Key], Line]
    align: str = "<"
    rank: int = 0
    most: int = 0
    told: Callable[[Key], Value] | None = None
    drawn: bool = False


class Sort(NamedTuple):
    """Sorted by a column's name, downwards or not; an empty name keeps the order in which keys come."""

    column: str = ""
    down: bool = False


class Placed(NamedTuple, Generic[Key]):
    """A column and the cells that it got on a line."""

    column: Column[Key]
    cells: int


SPARE = 10
_LEAST_REST = 20
_PLENTY_REST = 60


def place(columns: Sequence[Column[Key]], cells: int, skipped: int = 0) -> list[Placed[Key]]:
    """The columns that fit on a line of so many cells, with their widths.

    With so many columns ``skipped`` after the first, which always stays, those that follow come in their order whatever
    their rank, as many as fit: that is how the ones that gave way are reached.
    """
    kept = list(columns)
    if skipped:
        return _grown(_as_many_as_fit([*kept[:1], *kept[1 + skipped :]], cells), cells)
    gone: list[Column[Key]] = []
    while not _fit(kept, cells) and any(column.rank for column in kept):
        rank = max(column.rank for column in kept)
        gone.append(next(column for column in reversed(kept) if column.rank == rank))
        kept = [column for column in kept if column is not gone[-1]]
    # One that gave way in vain, since a wider one had to go after it, comes back.
    for column in reversed(gone):
        again = [each for each in columns if each is column or any(each is stays for stays in kept)]
        kept = again if _fit(again, cells) else kept
    return _grown(kept, cells)


def _fit(columns: Sequence[Column[Key]], cells: int) -> bool:
    """Whether there is room for the columns, and enough for the one that takes the rest."""
    if all(column.cells for column in columns):
        return _taken(columns) <= cells
    is_spare = any(column.rank >= SPARE for column in columns)
    return _taken(columns) + (_PLENTY_REST if is_spare else _LEAST_REST) <= cells


def _taken(columns: Sequence[Column[Key]]) -> int:
    return sum(column.cells for column in columns) + len(GAP) * (len(columns) - 1)


def _as_many_as_fit(columns: Sequence[Column[Key]], cells: int) -> list[Column[Key]]:
    kept: list[Column[Key]] = []
    for column in columns:
        if kept and _taken([*kept, column]) + (0 if column.cells else _LEAST_REST) > cells:
            break
        kept.append(column)
    return kept


def _grown(columns: Sequence[Column[Key]], cells: int) -> list[Placed[Key]]:
    """Columns that can use more room get it, once the one that takes the rest has plenty."""
    has_rest = any(not column.cells for column in columns)
    room = cells - _taken(columns) - (_PLENTY_REST if has_rest else 0)
    placed = []
    for column in columns:
        more = min(max(0, column.most - column.cells), max(0, room))
        room -= more
        placed.append(Placed(column, column.cells + more))
    rest = max(1, cells - sum(width for _, width in placed) - len(GAP) * (len(placed) - 1))
    return [Placed(column, width or rest) for column, width in placed]


def chosen(columns: Sequence[Column[Key]], names: Sequence[str]) -> list[Column[Key]]:
    """The columns with these names, in this order; without names, all of them. Names that no column has are left out.

    Who names a column wants to see it: none of them is spare any more.
    """
    if not names:
        return list(columns)
    by_name = {column.name: column for column in columns}
    found = [by_name[name] for name in names if name in by_name]
    return [replace(column, rank=1) if column.rank >= SPARE else column for column in found] or list(columns)


def usual(columns: Sequence[Column[Key]]) -> list[str]:
    """The names of the columns that a line of ordinary width is for: all but the spare ones."""
    return [column.name for column in columns if column.rank < SPARE]


def changed_choice(now: Sequence[str], words: Sequence[str], widest: str = "") -> tuple[str, ...]:
    """The columns after ``+name`` and ``-name``, or exactly those named; none for ``default``. What is added comes
    last, but before the ``widest`` column where that is the last one. Raises ValueError."""
    if tuple(words) == ("default",):
        return ()
    signed = [word for word in words if word[:1] in "+-"]
    if not signed:
        return tuple(words)
    if len(signed) < len(words):
        raise ValueError("columns: either +NAME and -NAME, or the names of all in their order")
    names = list(now)
    for word in words:
        sign, name = word[:1], word[1:]
        if sign == "-" and name not in names:
            raise ValueError(f"columns: {name!r} is not shown; shown are {', '.join(names)}")
        if sign == "-":
            names.remove(name)
        elif name not in names:
            names.insert(len(names) - (names[-1:] == [widest]), name)
    if not names:
        raise ValueError("columns: one has to stay")
    return tuple(names)


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


def numbers(columns: Sequence[Column[Key]]) -> set[str]:
    """The columns that are amounts and times, which stand to the right."""
    return {column.name for column in columns if column.align == ">"}


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
