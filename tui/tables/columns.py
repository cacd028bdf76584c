"""Columns of a table: functions over its keys (job ids, vnode names) that read from a cluster view.

A column's value is read only for rows that are painted, sorted or filtered, which keeps 100,000 rows fast. The
column's name is also its field in the filter line and its name in ``:sort``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from tui.tables.filter_line import Fields, Filter, Value
from tui.text.screen_line import Line

Key = TypeVar("Key")


@dataclass(frozen=True)
class Column(Generic[Key]):
    """``value`` is for sorting and filtering, ``show`` makes the cell. ``cells`` is the least width, which grows up to
    ``most`` if texts need it; the one column with 0 takes the rest. If a line is too narrow, columns of the highest
    ``rank`` are left out first; rank 0 always stays, and ranks from :data:`SPARE` on need a line with plenty of room.

    ``names`` marks what distinguishes rows, such as a vnode's name: it grows before other columns do, and a text that
    is still too long is cut where the rows stay distinct.
    ``export_value`` and ``filter_value`` take the place of ``value`` in exports and in filters, such as the time until
    a point in time; ``drawn`` marks a column that shows others as a picture and is not exported.
    """

    name: str
    title: str
    cells: int
    value: Callable[[Key], Value]
    show: Callable[[Key], Line]
    align: str = "<"
    rank: int = 0
    most: int = 0
    export_value: Callable[[Key], Value] | None = None
    filter_value: Callable[[Key], Value] | None = None
    drawn: bool = False
    names: bool = False


class Sort(NamedTuple):
    """The sort by a column's name, descending if ``down``; an empty name keeps the default order."""

    column: str = ""
    down: bool = False


SPARE = 10


def chosen(columns: Sequence[Column[Key]], names: Sequence[str]) -> list[Column[Key]]:
    """The columns with these names, in this order; all columns without names. Unknown names are ignored.

    A spare column that is named explicitly gets an ordinary rank.
    """
    if not names:
        return list(columns)
    by_name = {column.name: column for column in columns}
    found = [by_name[name] for name in names if name in by_name]
    return [replace(column, rank=1) if column.rank >= SPARE else column for column in found] or list(columns)


def usual(columns: Sequence[Column[Key]]) -> list[str]:
    """The names of the default columns: all but the spare ones."""
    return [column.name for column in columns if column.rank < SPARE]


def changed_choice(now: Sequence[str], words: Sequence[str], widest: str = "") -> tuple[str, ...]:
    """The columns after ``+name`` and ``-name`` words, or exactly the named ones; none for ``default``. An added column
    comes last, but before the ``widest`` column if that is the last one. Raises ValueError."""
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
    """The filter fields of these columns."""
    return {column.name: column.filter_value or column.value for column in columns}


def numbers(columns: Sequence[Column[Key]]) -> set[str]:
    """The names of the columns with amounts, which are right-aligned, and with times."""
    return {column.name for column in columns if column.align == ">" or column.filter_value is not None}


def arrange(
    keys: Sequence[Key], columns: Sequence[Column[Key]], wanted: Filter[Key] | None, sort: Sort
) -> Sequence[Key]:
    """The keys that pass the filter, sorted; missing values come last in either direction."""
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
