"""The text that carries a run's list to its hosts: the same entries back, or none, whatever the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy.model.lists_for_programs import Entry, parse_entries, show_entries

NAMES = st.from_regex(r"[A-Za-z0-9_.\[\]-]{1,12}", fullmatch=True)
NUMBERS = st.lists(st.integers(0, 300), max_size=12, unique=True).map(tuple)
ENTRIES = st.lists(
    st.builds(Entry, NAMES, NAMES, st.integers(0, 500), NUMBERS, NUMBERS, st.integers(0, 500)), min_size=1, max_size=6
)


def test_the_text_has_no_character_that_a_list_of_variables_divides_at() -> None:
    entries = (Entry("n2", "n2", 4, (0, 1), (4, 5, 6, 7, 0, 2), 8), Entry("n4[1]", "n4", 1))
    text = show_entries(entries)
    assert text == "n2:n2:8:4:0-1:4-7/0/2+n4[1]:n4:0:1::"
    assert parse_entries(text) == entries


@given(ENTRIES)
def test_what_is_shown_is_read_again(entries: list[Entry]) -> None:
    assert parse_entries(show_entries(entries)) == tuple(entries)


@given(st.text(max_size=60))
def test_any_other_text_has_no_entries_or_is_one(text: str) -> None:
    found = parse_entries(text)
    assert not found or parse_entries(show_entries(found)) == found


def test_names_and_lengths_that_a_variable_cannot_have_give_no_text() -> None:
    assert show_entries([Entry("n 2", "n2", 1)]) == ""
    assert show_entries([Entry("n2,x", "n2", 1)]) == ""
    assert show_entries([Entry(f"node-{number}", "n", 1, (0,), (1, 3)) for number in range(5000)]) == ""
    assert parse_entries("n:n:1:1:0:0-99999999999") == (Entry("n", "n", 1, (0,), (), 1),)


def test_a_short_text_makes_no_long_list() -> None:
    """The variable is the user's to set where a job's own program starts others, and root reads it on the host."""
    repeated = "/".join(["0-99999"] * 20)
    assert parse_entries(f"n:n:8:8::{repeated}") == ()
    assert parse_entries(f"n:n:8:8:{repeated}:") == ()
    assert parse_entries("+".join(["n:n:8:8::0-99999"] * 20)) == ()
    assert len(parse_entries("+".join(["n:n:8:8::0-99999"] * 10))) == 10
