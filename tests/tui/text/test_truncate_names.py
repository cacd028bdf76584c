"""Names that are cut: as many of them as can be stay apart, in the cells there are, and do not jump."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.text.screen_line import plain, width
from tui.text.truncate_names import cut, cut_line, find_tail


def cut_all(names: list[str], cells: int) -> list[str]:
    tail = find_tail(names, cells)
    return [cut(name, cells, tail) for name in names]


def test_names_that_differ_at_the_end_keep_the_end() -> None:
    assert cut_all(["pbst-11625-mom1", "pbst-11625-mom2"], 12) == ["pbst-1…-mom1", "pbst-1…-mom2"]


def test_names_that_differ_at_the_beginning_or_within_keep_that() -> None:
    assert cut_all(["node001.hpc.example.org", "node002.hpc.example.org"], 12) == ["node001….org", "node002….org"]
    assert cut_all(["rack-one-7-of-row-north", "rack-one-8-of-row-north"], 14) == ["rack-one-7…rth", "rack-one-8…rth"]


def test_names_that_fit_are_left_alone() -> None:
    assert cut_all(["short", "exactly-12-c"], 12) == ["short", "exactly-12-c"]


def test_a_cut_stays_where_it_was_while_it_keeps_names_apart() -> None:
    names = ["node001.hpc.example.org", "node002.hpc.example.org"]
    assert find_tail(names, 12, before=0) == 0
    assert find_tail(names, 12, before=8) != 8, "these were all the same"
    assert find_tail(["a"], 12, before=3) == 3, "nothing is cut: no reason to move"


@given(st.lists(st.text("ab字-1", max_size=30), min_size=1, max_size=6), st.integers(1, 20))
def test_a_cut_text_has_the_cells_it_was_given(texts: list[str], cells: int) -> None:
    tail = find_tail(texts, cells)
    for text in texts:
        assert width(cut(text, cells, tail)) <= cells
        line = cut_line(((text[:3], "dim"), (text[3:], "bold")), cells, tail)
        assert width(plain(line)) == cells


@given(st.integers(2, 6), st.integers(8, 20), st.data())
def test_numbered_names_always_stay_apart(count: int, cells: int, data: st.DataObject) -> None:
    before = data.draw(st.text("abcdef.-", max_size=30))
    after = data.draw(st.text("uvwxyz.-", max_size=30))
    names = [f"{before}{number}{after}" for number in range(count)]
    if len(before) + 2 <= cells or len(after) + 2 <= cells:
        assert len(set(cut_all(names, cells))) == count
