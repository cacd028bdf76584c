"""The filter line: fields, comparison, negation and plain text, over rows that are plain dicts here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.tables.filter_line import FilterError, SizeKib, Value, parse_filter

Row = dict[str, Value]

ALICE: Row = {
    "user": "alice",
    "state": "Q",
    "ncpus": 128,
    "time": 7200.0,
    "name": "My Run",
    "vnodes": ("v1", "v2"),
    "mem": SizeKib(4 << 20),
}
BOB: Row = {
    "user": "bob",
    "state": "R",
    "ncpus": 64,
    "time": None,
    "name": "alice's friend",
    "vnodes": ("v10",),
    "mem": SizeKib(512 << 10),
}
FIELDS = {name: (lambda row, name=name: row[name]) for name in ALICE}

_TERMS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(("", "!")),
        st.sampled_from((*FIELDS, "custom.Attr", "none-such")),
        st.sampled_from((":", ":>", ":<", ":=", " ")),
        st.sampled_from(("64", "1.5h", "512mb", "*", "nan", "-1", "ü", "")),
    ),
)


def passing(text: str) -> list[str]:
    wanted = parse_filter(text, FIELDS, lambda name: _custom if name == "custom.Attr" else None)
    return [str(row["user"]) for row in wanted.of([ALICE, BOB])]


def _custom(row: Row) -> Value:
    return "yes" if row is BOB else None


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
        ("state:Q|R", ["alice", "bob"]),
        ("state:X|r ncpus:64|65", ["bob"]),
        ('user:"bob"|carol', ["bob"]),
        ("vnodes:=v1", ["alice"]),
        ("vnodes:v1", ["alice", "bob"]),
        ("vnodes:v1*", ["alice", "bob"]),
        ("!vnodes:=v1|v10", []),
        ("mem:>1gb", ["alice"]),
        ("mem:=524288", ["bob"]),
        ("mem:>500m", ["alice", "bob"]),
        ("mem:<=512m", ["bob"]),
        ("mem:=512m", ["bob"]),
        ("mem:<2h", []),
        ("time:=120m", ["alice"]),
        ("ncpus:<1,000", ["alice", "bob"]),
        ("ncpus:=1,28", []),
        ("ncpus:=128|64", ["alice", "bob"]),
        ('name:"my|run"', []),
        (r'name:"\"my"', []),
        ("custom.Attr:yes", ["bob"]),
    ],
)
def test_a_filter_lets_these_rows_through(text: str, users: list[str]) -> None:
    assert passing(text) == users


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("owner:x", "no field 'owner' here; there are user, state, ncpus, time, name, vnodes, mem"),
        ('name:"half', "the quote is not closed"),
        ('name:"half"x', "a blank is missing after the quote"),
        ("user:", "needs a value"),
        ("user:a|", "needs a value"),
        ("!", "needs a value"),
        ("ncpus:>lots", "'lots' is no number"),
        ("ncpus:>1,5", "'1,5' is no number"),
        ("ncpus:>nan", "'nan' is no number"),
        ("ncpus:<inf", "'inf' is no number"),
        ("time:>nanh", "'nanh' is no number"),
    ],
)
def test_an_unreadable_filter_says_what_is_allowed(text: str, says: str) -> None:
    with pytest.raises(FilterError, match=says.replace("(", r"\(")):
        parse_filter(text, FIELDS)


@given(st.sampled_from(["user:alice", "ncpus:>64", "alice", "state:R"]))
def test_a_row_passes_a_filter_or_its_negation_never_both(text: str) -> None:
    assert sorted(passing(text) + passing("!" + text)) == ["alice", "bob"]


@given(st.one_of(st.text(max_size=30), st.lists(_TERMS, min_size=1, max_size=3).map(" ".join)))
def test_whatever_is_typed_is_read_or_refused_in_words(text: str) -> None:
    try:
        parse_filter(text, FIELDS).of([ALICE, BOB])
    except FilterError as error:
        assert str(error).startswith("filter: ")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("user:a owner:x state:R", "owner:x"),
        ("user:a ncpus:>lots x", "ncpus:>lots"),
        ('user:a name:"half a', 'name:"half a'),
        ("user:a state:", "state:"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(text: str, wrong: str) -> None:
    with pytest.raises(FilterError) as error:
        parse_filter(text, FIELDS)
    assert text[error.value.start : error.value.end] == wrong


def test_rows_are_counted_until_nobody_waits() -> None:
    wanted = parse_filter("ncpus:>64", FIELDS)
    assert wanted.count([ALICE, BOB] * 1000, lambda: False) == 1000
    assert wanted.count([ALICE, BOB] * 1000, lambda: True) is None
