"""Columns over keys: how keys are sorted and filtered, and which columns are chosen."""

from __future__ import annotations

import pytest

from tests.tui.tables.sample_columns import COLUMNS
from tui.tables.columns import Sort, arrange, changed_choice, fields
from tui.tables.filter_line import parse_filter


def test_without_a_sort_keys_keep_their_order() -> None:
    assert list(arrange("cab", COLUMNS, None, Sort())) == ["c", "a", "b"]


def test_missing_values_come_last_whichever_way() -> None:
    assert list(arrange("abcd", COLUMNS, None, Sort("size"))) == ["c", "d", "a", "b"]
    assert list(arrange("abcd", COLUMNS, None, Sort("size", down=True))) == ["a", "d", "c", "b"]


def test_a_filter_comes_before_the_sort() -> None:
    wanted = parse_filter("size:<3", fields(COLUMNS))
    assert list(arrange("abcd", COLUMNS, wanted, Sort("size"))) == ["c", "d"]


def test_columns_are_added_before_the_widest_and_taken_away() -> None:
    assert changed_choice(("a", "rest"), ("+b", "-a"), "rest") == ("b", "rest")
    assert changed_choice(("a", "b"), ("+c",), "rest") == ("a", "b", "c")
    assert changed_choice(("a", "b"), ("b", "a")) == ("b", "a")
    assert changed_choice(("a",), ("default",)) == ()
    for words, says in ((("-x",), "'x' is not shown"), (("-a",), "one has to stay"), (("+b", "c"), "either")):
        with pytest.raises(ValueError, match=says):
            changed_choice(("a",), words)
