"""Columns over keys: a table is a sequence of keys (job ids, vnode names), and columns that know the world behind them.

A column reads a value only for the rows that are painted, sorted by or filtered on, which is what keeps a hundred
thousand rows fluent. The column's name is also its field in the filter line and its name in ``:sort``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from tui.tables.filters import Fields, Filter, Value
from tui.text.lines import Line

Key = TypeVar("Key")


@dataclass(frozen=True)
class Column(Generic[Key]):
    """``value`` sorts and filters, ``show`` gives the cell. ``cells`` is the least width, up to ``most`` where texts
    need more; the one column with 0 takes the rest. Where a line is too narrow, columns of the highest ``rank`` are
    left out first; rank 0 always stays, and from :data:`SPARE` on a column is only for lines that have plenty of room.

    ``names`` marks what tells rows apart, such as a vnode's name: it gets room before others get more than their
    least, and a text that is too long all the same is cut where the rows stay apart.
    ``told`` is what an export says where the value that sorts would not do; ``asked`` what a filter asks instead, such
    as how long until a point in time; ``drawn`` marks a column that repeats others as a picture, which no export has.
    """

    name: str
    title: str
    cells: int
    value: Callable[[Key], Value]
    show: Callable[[Key], Line]
    align: str = "<"
    rank: int = 0
    most: int = 0
    told: Callable[[Key], Value] | None = None
    asked: Callable[[Key], Value] | None = None
    drawn: bool = False
    names: bool = False


class Sort(NamedTuple):
    """Sorted by a column's name, downwards or not; an empty name keeps the order in which keys come."""

    column: str = ""
    down: bool = False


SPARE = 10


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


def fields(columns: Sequence[Column[Key]]) -> Fields[Key]:
    """What the filter line may ask of these columns."""
    return {column.name: column.asked or column.value for column in columns}


def numbers(columns: Sequence[Column[Key]]) -> set[str]:
    """The columns that are amounts, which stand to the right, and times."""
    return {column.name for column in columns if column.align == ">" or column.asked is not None}


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
