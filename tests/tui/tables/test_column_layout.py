"""Columns on a line: which have room, how wide they are for what rows show, and that no refresh makes them narrower."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.tables.sample_columns import COLUMNS
from tui.tables import column_layout
from tui.tables.column_layout import Placed, Widths, header, place, row
from tui.tables.columns import SPARE, Column, Sort, chosen, usual
from tui.text.screen_line import plain, width


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


def test_room_that_nobody_else_needs_goes_to_columns_that_can_use_it() -> None:
    columns = [a_column("key", 6, most=10), a_column("rest", 0)]
    assert [placed.cells for placed in place(columns, 50, needs={"key": 40})] == [8, 40]
    assert [placed.cells for placed in place(columns, 100, needs={"key": 40})] == [10, 88]
    assert [placed.cells for placed in place(columns, 100, needs={"key": 7})] == [7, 91], "no more than it needs"
    assert [placed.cells for placed in place(columns, 100)] == [6, 92]


def test_texts_are_whole_before_a_spare_column_comes() -> None:
    columns = [a_column("key", 6), a_column("text", 8, most=40), a_column("spare", 8, rank=SPARE), a_column("rest", 0)]
    whole = place(columns, 110, needs={"text": 40})
    assert [(placed.column.name, placed.cells) for placed in whole] == [("key", 6), ("text", 40), ("rest", 60)]
    short = place(columns, 110, needs={"text": 10})
    assert [placed.column.name for placed in short] == ["key", "text", "spare", "rest"]


def test_skipped_columns_make_room_for_those_to_the_right_and_the_first_one_stays() -> None:
    columns = [a_column(name, 10, rank=index) for index, name in enumerate("abcdef")]
    assert names(columns, 34) == ["a", "b", "c"]
    assert names(columns, 34, 1) == ["a", "c", "d"]
    assert names(columns, 34, 3) == ["a", "e", "f"]
    assert names(columns, 5, 3) == ["a"]


NAMES = [f"pbst-11625-mom{number}" for number in (1, 2, 3)]


def a_table(name_of: dict[str, str], *, most: int = 32) -> list[Column[str]]:
    """Names, a number, a column that can give way, and the rest."""
    return [
        Column("name", "name", 6, lambda key: key, lambda key: ((name_of[key], ""),), most=most, names=True),
        Column("size", "size", 5, lambda key: key, lambda key: (("1,234,567", ""),), ">"),
        a_column("more", 8, rank=2),
        a_column("rest", 0),
    ]


def widths(placed: list[Placed[str]]) -> dict[str, int]:
    return {each.column.name: each.cells for each in placed}


def cells_of(placed: list[Placed[str]], keys: list[str]) -> list[str]:
    return [plain(row(placed, key)) for key in keys]


def test_names_and_numbers_take_what_they_need_where_the_line_has_it() -> None:
    columns = a_table({name: name for name in NAMES})
    placed = Widths[str]().place(columns, NAMES, 100)
    assert widths(placed) == {"name": 15, "size": 9, "more": 8, "rest": 100 - 15 - 9 - 8 - 6}
    assert [line.split()[:2] for line in cells_of(placed, NAMES)] == [[name, "1,234,567"] for name in NAMES]


def test_the_name_of_a_row_comes_before_columns_that_may_give_way() -> None:
    columns = a_table({name: name for name in NAMES})
    assert widths(Widths[str]().place(columns, NAMES, 50)) == {"name": 15, "size": 9, "rest": 22}


def test_where_there_is_no_room_rows_stay_apart_all_the_same() -> None:
    columns = a_table({name: name for name in NAMES})
    for cells in range(20, 46):
        placed = Widths[str]().place(columns, NAMES, cells)
        first = [line[: placed[0].cells] for line in cells_of(placed, NAMES)]
        assert len(set(first)) == len(NAMES), first


def test_no_refresh_makes_a_column_narrower_but_a_new_view_does() -> None:
    names = {"a": "a-rather-long-name", "b": "short"}
    columns, kept = a_table(names), Widths[str]()
    assert widths(kept.place(columns, ["b"], 100))["name"] == 6
    assert widths(kept.place(columns, ["a", "b"], 100))["name"] == 18, "a row that comes on the screen widens it"
    names["a"] = "x"
    kept.look_again()
    assert widths(kept.place(columns, ["a", "b"], 100))["name"] == 18
    names["a"] = "a-rather-longer-name"
    kept.look_again()
    assert widths(kept.place(columns, ["a", "b"], 100))["name"] == 20
    kept.forget()
    assert widths(kept.place(columns, ["b"], 100))["name"] == 6


def test_a_row_is_measured_once_until_it_may_read_differently() -> None:
    asked: list[str] = []

    def show(key: str) -> tuple[tuple[str, str], ...]:
        asked.append(key)
        return ((key, ""),)

    columns = [Column("name", "name", 6, lambda key: key, show, most=32, names=True), a_column("rest", 0)]
    kept = Widths[str]()
    for keys in ("ab", "ab", "bc"):
        kept.place(columns, list(keys), 80)
    assert asked == ["a", "b", "c"]
    kept.look_again()
    kept.place(columns, ["c"], 80)
    assert asked == ["a", "b", "c", "c"]


@given(st.integers(21, 120), st.lists(st.text(max_size=60), min_size=1, max_size=5, unique=True))
def test_a_measured_row_is_as_wide_as_its_line(cells: int, names: list[str]) -> None:
    placed = Widths[str]().place(a_table({name: name for name in names}), names, cells)
    if sum(widths(placed).values()) + 2 * (len(placed) - 1) <= cells:
        assert {width(line) for line in [*cells_of(placed, names), plain(header(placed, Sort()))]} == {cells}


def test_a_name_that_has_no_room_to_be_whole_is_cut_rather_than_left_out() -> None:
    columns: list[Column[str]] = [
        a_column("key", 6),
        Column("queue", "queue", 6, lambda key: key, lambda key: ((key, ""),), rank=1, most=24, names=True),
        a_column("more", 8, rank=2),
        a_column("rest", 0),
    ]
    needs = {"queue": 16}
    assert widths(place(columns, 56, needs=needs)) == {"key": 6, "queue": 16, "more": 8, "rest": 20}
    assert widths(place(columns, 50, needs=needs)) == {"key": 6, "queue": 16, "rest": 24}, "the least needed goes"
    assert widths(place(columns, 40, needs=needs)) == {"key": 6, "queue": 10, "rest": 20}
    assert widths(place(columns, 33, needs=needs)) == {"key": 6, "rest": 25}


def test_columns_are_laid_out_anew_only_for_other_columns_texts_or_widths(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out = []

    def counted(*arguments: object) -> list[Placed[str]]:
        laid_out.append(arguments)
        return place(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(column_layout, "place", counted)
    columns, kept = a_table({"a": "a", "b": "bb", "long": "a longer text"}), Widths[str]()
    first = kept.place(columns, ["a", "b"], 60)
    times = len(laid_out)
    assert kept.place(columns, ["b", "a"], 60) == first
    assert len(laid_out) == times
    assert kept.place(columns, ["a", "b"], 50) != first
    kept.place(columns, ["a", "long"], 50)
    kept.forget()
    kept.place(columns, ["a", "b"], 50)
    assert len(laid_out) >= times + 3
