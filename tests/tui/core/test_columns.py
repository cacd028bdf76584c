"""Columns over keys: which fit on a line, and how keys are sorted and filtered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.core.columns import SPARE, Column, Sort, arrange, changed_choice, chosen, fields, header, place, row, usual
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
    names = [[placed.column.name for placed in place(COLUMNS, cells)] for cells in (60, 40, 10)]
    assert names == [["key", "size", "more", "rest"], ["key", "size", "rest"], ["key", "rest"]]


@given(st.integers(21, 120))
def test_a_row_is_as_wide_as_its_line(cells: int) -> None:
    placed = place(COLUMNS, cells)
    assert width(plain(row(placed, "a"))) == cells
    assert width(plain(header(placed, Sort("size", down=True)))) == cells


def a_column(name: str, cells: int, rank: int = 0, most: int = 0) -> Column[str]:
    return Column(name, name, cells, lambda key: key, lambda key: ((key, ""),), rank=rank, most=most)


def names(columns: list[Column[str]], cells: int, skipped: int = 0) -> list[str]:
    return [placed.column.name for placed in place(columns, cells, skipped)]


def test_one_that_gave_way_in_vain_comes_back() -> None:
    columns = [a_column("key", 6), a_column("small", 5, rank=2), a_column("large", 30, rank=1)]
    assert names(columns, 20) == ["key", "small"]


def test_spare_columns_are_for_lines_with_plenty_of_room_until_they_are_asked_for() -> None:
    columns = [a_column("key", 6), a_column("spare", 8, rank=SPARE), a_column("rest", 0)]
    assert names(columns, 60) == ["key", "rest"]
    assert names(columns, 120) == ["key", "spare", "rest"]
    assert usual(columns) == ["key", "rest"]
    assert names(chosen(columns, ["spare", "key", "rest", "nothing"]), 60) == ["spare", "key", "rest"]


def test_room_that_nobody_needs_goes_to_columns_that_can_use_it() -> None:
    columns = [a_column("key", 6, most=10), a_column("rest", 0)]
    assert [placed.cells for placed in place(columns, 70)] == [8, 60]
    assert [placed.cells for placed in place(columns, 100)] == [10, 88]


def test_skipped_columns_make_room_for_those_to_the_right_and_the_first_one_stays() -> None:
    columns = [a_column(name, 10, rank=index) for index, name in enumerate("abcdef")]
    assert names(columns, 34) == ["a", "b", "c"]
    assert names(columns, 34, 1) == ["a", "c", "d"]
    assert names(columns, 34, 3) == ["a", "e", "f"]
    assert names(columns, 5, 3) == ["a"]


def test_columns_are_added_before_the_widest_and_taken_away() -> None:
    assert changed_choice(("a", "rest"), ("+b", "-a"), "rest") == ("b", "rest")
    assert changed_choice(("a", "b"), ("+c",), "rest") == ("a", "b", "c")
    assert changed_choice(("a", "b"), ("b", "a")) == ("b", "a")
    assert changed_choice(("a",), ("default",)) == ()
    for words, says in ((("-x",), "'x' is not shown"), (("-a",), "one has to stay"), (("+b", "c"), "either")):
        with pytest.raises(ValueError, match=says):
            changed_choice(("a",), words)
