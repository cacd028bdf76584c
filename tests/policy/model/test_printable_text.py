"""What users write is shown to others as it is, but for what a terminal or a log would obey."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model.printable_text import printable, printable_lines, replace_unprintable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("aoe=a\x1b]0;OWNED\x07\x1b[31mRED", r"aoe=a\x1b]0;OWNED\x07\x1b[31mRED"),
        ("x\n11/22/2026 11:00:00;0008;forged\r\t", r"x\n11/22/2026 11:00:00;0008;forged\r\t"),
        ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
        ("\x9b31m\u2028", r"\x9b31m\u2028"),
        ("\udcff", r"\udcff"),
        ("Müller's größte Aufgabe, 日本 \\x1b", "Müller's größte Aufgabe, 日本 \\x1b"),
    ],
)
def test_what_is_not_printable_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_it_is_one_printable_line_and_twice_is_as_once(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown


@given(st.text())
def test_no_further_line_of_a_text_looks_like_one_that_begins(text: str) -> None:
    lines = printable_lines(text).split("\n")
    assert all(line.isprintable() for line in lines)
    assert all(line.startswith("  ") for line in lines[1:])


def test_unprintable_characters_are_shown_as_the_caller_likes() -> None:
    assert replace_unprintable("a\x1bb\u202ec", lambda _: "?") == "a?b?c"
    assert replace_unprintable("plain ü", lambda _: "?") == "plain ü"
