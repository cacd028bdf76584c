"""Preferences as a value: written and read back the same, refused in words where they make no sense."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.tables.columns import Sort
from tui.user.prompt_history import MOST, Typed
from tui.user.user_preferences import Layout, Preferences, PreferencesError, problem_of

NAMES = st.text(min_size=1, max_size=8)
LAYOUTS = st.builds(Layout, st.lists(NAMES, max_size=4).map(tuple), st.builds(Sort, st.text(max_size=5), st.booleans()))
PREFERENCES = st.builds(
    Preferences,
    st.text(max_size=5),
    st.none() | st.booleans(),
    st.dictionaries(NAMES, LAYOUTS, max_size=3),
    st.dictionaries(NAMES, st.dictionaries(NAMES, NAMES, min_size=1, max_size=3), max_size=3),
)


@given(PREFERENCES)
def test_what_is_written_is_read_back(liked: Preferences) -> None:
    assert Preferences.from_data(json.loads(json.dumps(liked.to_data()))) == liked


@given(PREFERENCES, NAMES, NAMES, NAMES)
def test_a_filter_that_is_saved_and_forgotten_leaves_the_others(liked: Preferences, view: str, a: str, b: str) -> None:
    saved = liked.with_filter(view, a, "user:x")
    assert saved.filters[view][a] == "user:x"
    forgotten = saved.with_filter(view, a, "")
    assert a not in forgotten.filters[view]
    others = {name: text for name, text in liked.filters.get(view, {}).items() if name != a}
    assert dict(forgotten.filters[view]) == others


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"theme": 1}, "theme is 1; allowed is"),
        ({"ascii": "yes"}, "ascii is 'yes'; allowed is true or false"),
        ({"tables": []}, "tables is []; allowed is an object"),
        ({"tables": {"jobs": {"columns": "id"}}}, "tables.jobs is"),
        ({"tables": {"jobs": {"columns": [], "down": 1}}}, "tables.jobs sorts by '', 1"),
        ({"filters": {"jobs": {"mine": 3}}}, "filters.jobs is {'mine': 3}; allowed are names"),
    ],
)
def test_what_makes_no_sense_is_named(data: dict[str, object], says: str) -> None:
    with pytest.raises(PreferencesError) as error:
        Preferences.from_data(data)
    assert says in str(error.value)
    assert problem_of(data) == str(error.value)


def test_typed_lines_are_bounded_each_once_and_the_last_one_last() -> None:
    typed = Typed()
    for number in range(MOST + 50):
        typed = typed.with_line(":", f"job {number}")
    typed = typed.with_line(":", "job 100").with_line("/", "alice").with_line(":", "")
    assert len(typed.lines[":"]) == MOST
    assert typed.lines[":"].count("job 100") == 1
    assert typed.lines[":"][-1] == "job 100"
    assert typed.with_line(":", "x" * 100_000) == typed
    assert Typed.from_data(json.loads(json.dumps(typed.to_data()))) == typed


@pytest.mark.parametrize("data", [{"lines": 3}, {"lines": {":": 3}}, {"lines": {":": [3, None]}}])
def test_what_is_no_line_is_left_out(data: dict[str, object]) -> None:
    assert not any(Typed.from_data(data).lines.values())
