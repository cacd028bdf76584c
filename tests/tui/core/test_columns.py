"""Columns over keys: which fit on a line, and how keys are sorted and filtered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.core.columns import Column, Sort, arrange, fields, header, place, row
from tui.core.filters import parse_filter
from tui.core.lines import plain, width

SIZES = {"a": 3, "b": None, "c": 1, "d": 2}
COLUMNS: list[Column[str]] = [
    Column("key", "key", 6, lambda key: key, lambda key: ((key, ""),)),
    Column("size", "size", 6, lambda key: SIZES[key], lambda key: ((str(SIZES[key]), ""),), ">", rank=1),
    Column("more", "more", 9, lambda key: key, lambda key: ((key * 3, ""),), rank=2),
    Column("rest", "rest", 0, lambda key: key, lambda key: ((key * 50, ""),)),
]


def test_without_a_sort_keys_keep_their_order() -> None:
    assert list(arrange("cab", COLUMNS, None, Sort())) == ["c", "a", "b"]


def test_missing_values_come_last_whichever_way() -> None:
    assert list(arrange("abcd", COLUMNS, None, Sort("size"))) == ["c", "d", "a", "b"]
    assert list(arrange("abcd", COLUMNS, None, Sort("size", down=True))) == ["a", "d", "c", "b"]


def test_a_filter_comes_before_the_sort() -> None:
    wanted = parse_filter("size:<3", fields(COLUMNS))
    assert list(arrange("abcd", COLUMNS, wanted, Sort("size"))) == ["c", "d"]


def test_the_least_needed_columns_give_way_first() -> None:
    names = [[placed.column.name for placed in place(COLUMNS, cells)] for cells in (60, 30, 10)]
    assert names == [["key", "size", "more", "rest"], ["key", "size", "rest"], ["key", "rest"]]


@given(st.integers(21, 120))
def test_a_row_is_as_wide_as_its_line(cells: int) -> None:
    placed = place(COLUMNS, cells)
    assert width(plain(row(placed, "a"))) == cells
    assert width(plain(header(placed, Sort("size", down=True)))) == cells
