"""The filter line: fields, comparison, negation and plain text, over rows that are plain dicts here."""

from __future__ import annotations

from typing import Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.core.filters import FilterError, parse_filter

Row = dict[str, Union[str, int, float, None]]

ALICE: Row = {"user": "alice", "state": "Q", "ncpus": 128, "time": 7200.0, "name": "My Run"}
BOB: Row = {"user": "bob", "state": "R", "ncpus": 64, "time": None, "name": "alice's friend"}
FIELDS = {name: (lambda row, name=name: row[name]) for name in ALICE}


def passing(text: str) -> list[str]:
    return [str(row["user"]) for row in parse_filter(text, FIELDS).of([ALICE, BOB])]


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("", ["alice", "bob"]),
        ("user:alice", ["alice"]),
        ("USER:ALI", ["alice"]),
        ("alice", ["alice", "bob"]),
        ("!user:alice", ["bob"]),
        ("!alice", []),
        ("ncpus:>64", ["alice"]),
        ("ncpus:>=64", ["alice", "bob"]),
        ("ncpus:<=64 state:R", ["bob"]),
        ("ncpus:=64", ["bob"]),
        ("ncpus:64", ["bob"]),
        ("time:>1h", ["alice"]),
        ("time:<=02:00:00", ["alice"]),
        ("time:<1d", ["alice"]),
        ("user:=bob", ["bob"]),
        ("user:=bo", []),
        ('name:"my run"', ["alice"]),
        ("user:a*e", ["alice"]),
        ("user:a*i", []),
        ("user:alice !state:Q", []),
    ],
)
def test_a_filter_lets_these_rows_through(text: str, users: list[str]) -> None:
    assert passing(text) == users


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("owner:x", "no field 'owner' here; there are user, state, ncpus, time, name"),
        ("ncpus:>lots", "'lots' is no number"),
    ],
)
def test_an_unreadable_filter_says_what_is_allowed(text: str, says: str) -> None:
    with pytest.raises(FilterError, match=says.replace("(", r"\(")):
        parse_filter(text, FIELDS)


@given(st.sampled_from(["user:alice", "ncpus:>64", "alice", "state:R"]))
def test_a_row_passes_a_filter_or_its_negation_never_both(text: str) -> None:
    assert sorted(passing(text) + passing("!" + text)) == ["alice", "bob"]


@given(st.text(max_size=30))
def test_whatever_is_typed_is_read_or_refused_in_words(text: str) -> None:
    try:
        parse_filter(text, FIELDS).of([ALICE, BOB])
    except FilterError as error:
        assert str(error).startswith("filter: ")
