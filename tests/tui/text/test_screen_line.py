"""Text for a terminal: nothing in it can be obeyed, and everything has the width it says."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.scripted_server import HOSTILE_NAMES
from tui.text.screen_line import fit, fit_line, plain, safe, spread, to_ascii, width, wrap


@given(st.text())
def test_safe_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in safe(text))


@given(st.text(st.characters(blacklist_categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"])))
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert safe(text) == text


def test_control_characters_become_their_pictures() -> None:
    assert safe("\x1b[2J\n\x7f") == "␛[2J␊␡"


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_markup_is_left_alone_since_it_means_nothing_here(name: str) -> None:
    assert "[/red]" not in name or safe(name) == name


@given(st.text(), st.integers(0, 40), st.sampled_from("<>"))
def test_fitted_text_has_exactly_the_cells_asked_for(text: str, cells: int, align: str) -> None:
    assert width(fit(safe(text), cells, align)) == cells


@given(st.lists(st.tuples(st.text(), st.sampled_from(["", "bold"])), max_size=5), st.integers(1, 60))
def test_a_fitted_line_has_exactly_the_cells_asked_for(spans: list[tuple[str, str]], cells: int) -> None:
    line = fit_line(tuple((safe(text), role) for text, role in spans), cells)
    assert sum(width(text) for text, _ in line) == cells


def test_a_wide_character_takes_two_cells() -> None:
    assert fit("字字字", 4) == "字 …"


@given(st.text(), st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_no_word(text: str, cells: int) -> None:
    cleaned = safe(text)
    lines = wrap(cleaned, cells)
    assert all(width(line) <= cells for line in lines)
    assert "".join(lines).replace(" ", "") == cleaned.replace(" ", "")


@given(st.text())
def test_ascii_text_is_ascii_and_as_wide(text: str) -> None:
    cleaned = safe(text)
    assert to_ascii(cleaned).isascii()
    assert width(to_ascii(cleaned)) == width(cleaned)


def test_spread_keeps_the_right_end_whole() -> None:
    assert plain(spread((("a long left end", ""),), (("right", ""),), 12)) == "a long…right"


def test_a_line_that_stays_is_not_fitted_again() -> None:
    line = (("one", ""), ("two", "dim"))
    assert fit_line(line, 40) is fit_line((("one", ""), ("two", "dim")), 40)
    assert fit_line(line, 41) != fit_line(line, 40)
