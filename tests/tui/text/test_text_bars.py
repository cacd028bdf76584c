"""Bars: lengths carry the comparison, and a bar always has the cells it was given."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.text.screen_line import plain, width
from tui.text.text_bars import (
    FREE,
    FULL,
    OVER,
    QUOTA,
    THIN,
    THIN_FREE,
    day_line,
    heights,
    quota_bar,
    round_scale,
    ruler,
    share_bar,
)

AMOUNTS = st.integers(0, 10**6)


@given(AMOUNTS, st.one_of(st.none(), AMOUNTS), st.integers(1, 80))
def test_a_quota_bar_has_the_cells_it_was_given(used: int, quota: int | None, cells: int) -> None:
    scale = round_scale(max(used, quota or 0))
    assert width(plain(quota_bar(used, quota, scale, cells))) == cells


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(8, 80))
def test_only_use_over_the_quota_is_drawn_past_its_mark(used: int, quota: int, cells: int) -> None:
    bar = plain(quota_bar(used, quota, 2 * round_scale(max(used, quota)), cells))
    assert (OVER in bar) == (used > quota)
    assert bar.count(QUOTA) == 1


def test_use_beside_quota_reads_left_to_right() -> None:
    assert plain(quota_bar(3, 4, 8, 16)) == THIN * 6 + THIN_FREE * 2 + QUOTA + " " * 7
    assert plain(quota_bar(8, 4, 8, 16)) == THIN * 8 + QUOTA + OVER * 7


@given(st.integers(1, 10**6), st.integers(2, 60))
def test_a_share_is_neither_empty_nor_full_unless_it_is(whole: int, cells: int) -> None:
    some = plain(share_bar(0.5, whole, cells))
    assert FULL in some
    assert FREE in some
    assert FREE not in plain(share_bar(whole, whole, cells))
    assert FULL not in plain(share_bar(0, whole, cells))


@given(AMOUNTS)
def test_the_scale_holds_the_largest_amount(largest: int) -> None:
    assert round_scale(largest) >= largest


@given(AMOUNTS, st.integers(8, 80))
def test_the_ruler_is_as_long_as_its_bars(largest: int, cells: int) -> None:
    assert len(ruler(round_scale(largest), cells)) == cells


def test_heights_show_zero_as_blank_and_the_most_as_full() -> None:
    assert heights([0, 0.01, 4, 8], 8) == " ▁▄█"


@given(AMOUNTS, st.integers(14, 80))
def test_the_rulers_numbers_are_evenly_apart(largest: int, cells: int) -> None:
    numbers = [int(word.replace(",", "")) for word in ruler(round_scale(largest), cells).split()]
    assert numbers[0] == 0
    assert len({after - before for before, after in zip(numbers, numbers[1:])}) == 1


def test_a_ruler_leaves_every_second_number_out_where_it_is_narrow() -> None:
    assert ruler(1024, 36).split() == ["0", "256", "512", "768", "1,024"]
    assert ruler(1024, 20).split() == ["0", "512", "1,024"]
    assert ruler(1024, 8).split() == ["0", "1,024"]


def test_a_day_has_a_dot_where_nothing_is_known_and_a_blank_where_nothing_ran() -> None:
    hours = [None, None, 0.0, 4.0, 8.0, None]
    assert plain(day_line(hours, 8, 6)) == "·· ▄█·"
    assert plain(day_line(hours, 8, 3)) == "·▂█"
    assert dict.fromkeys(role for _, role in day_line(hours, 8, 6)) == {"dim": None, "bar": None}
