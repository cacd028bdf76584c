"""What a victim's mark says, there and back, and to which run it belongs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.checkpoint.victims.withdraw_save_requests import CANNOT_START, GIVEN_UP, GONE, RUNS
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, read_marks, show_marks
from policy.model.save_method_names import SAVE_METHODS as METHODS

ASKED = Mark("12.server", "signal", asked_s=1000, until_s=1060, saved_s=50, then_s=250)

TIMES = st.integers(-(10**12), 10**12)
IDS = st.from_regex(r"[0-9]{1,9}(\[[0-9]{0,5}\])?\.[a-z][a-z0-9.-]{0,20}", fullmatch=True)
WHYS = st.sampled_from(("", GONE, RUNS, CANNOT_START, GIVEN_UP))
MARKS = st.builds(
    Mark, st.just("") | IDS, st.sampled_from(("", *METHODS)), TIMES, TIMES, TIMES, TIMES, st.booleans(), WHYS
)


@given(st.dictionaries(st.none() | st.integers(0, 10**6), MARKS.filter(lambda mark: mark != Mark()), max_size=5))
def test_what_is_written_is_read_back(marks: dict[int | None, Mark]) -> None:
    assert read_marks({MARK_KEY: show_marks(marks)}) == marks


def test_an_administrator_can_read_it() -> None:
    shown = show_marks({None: ASKED._replace(held=True), 3: Mark("7.server")})
    assert shown == ("pbsteer for=12.server how=signal asked=1000 until=1060 saved=50 then=250 held; [3] for=7.server")


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    for said in (text, f"pbsteer {text}"):
        assert all(isinstance(mark, Mark) for mark in read_marks({MARK_KEY: said}).values())


@pytest.mark.parametrize("text", ["", "pbsteer", "Cray 12", "pbsteer for=12.server asked=soon", "pbsteer who=12"])
def test_what_makes_no_sense_is_no_mark(text: str) -> None:
    assert read_marks({MARK_KEY: text}) == {}


def test_words_of_a_newer_version_are_passed_over() -> None:
    text = "pbsteer for=12.server how=signal by=policy asked=1000 until=1060 held urgent; [3] new=1; [4] for=7.server x"
    held = Mark("12.server", "signal", asked_s=1000, until_s=1060, held=True)
    assert read_marks({MARK_KEY: text}) == {None: held, 4: Mark("7.server")}


def test_nothing_to_say_is_no_text() -> None:
    assert show_marks({}) == show_marks({None: Mark(), 3: Mark()}) == ""


@pytest.mark.parametrize(("start_s", "asked"), [(900.0, True), (1000.0, True), (1001.0, False), (None, False)])
def test_a_mark_belongs_to_the_run_that_was_asked(start_s: float | None, asked: bool) -> None:
    assert ASKED.is_of_run(start_s) is asked
    assert ASKED.saved_before(start_s) == (50 if asked else 250)
