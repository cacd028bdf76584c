"""What an expression of a settings file may be, and that nothing else in it is ever run."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.settings.arithmetic_expression import LONGEST, ExpressionError, read_expression

NAMES = ("a", "b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", 2),
        (" a + b * 3 ", 32),
        ("(a + b) / 4", 3),
        ("min(a, b, 1) - max(a, b)", -9),
        ("-a + +b", 8),
        ("1.5e1 - a", 13),
    ],
)
def test_arithmetic_is_that_of_python(text: str, expected: float) -> None:
    assert read_expression(text, NAMES).value({"a": 2.0, "b": 10.0}) == expected


def test_names_are_reported_in_the_order_in_which_they_are_allowed() -> None:
    assert read_expression("b + a - b", NAMES).uses == ("a", "b")
    assert read_expression("1", NAMES).uses == ()


@pytest.mark.parametrize(
    "text",
    [
        "", "a b", "a +", "c", "a ** b", "a // b", "a % b", "a if b else a", "a < b", "a and b", "not a", "~a", "True",
        "'a'", "[a]",
        "a.real", "a[0]", "min(a)", "min()", "min(a, *b)", "min(a, b, key=a)", "abs(a)", "__import__('os')",
        "(lambda: a)()", "f'{a}'", "a := b", "a; b", "a\nb", "1j", "\0", "a" * (LONGEST + 1),
    ],
)  # fmt: skip
def test_all_else_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="allowed"):
        read_expression(text, NAMES)


@given(st.text(alphabet="ab0159.+-*/(), minaxe", max_size=40))
def test_a_text_is_an_expression_or_refused(text: str) -> None:
    try:
        expression = read_expression(text, NAMES)
    except ExpressionError:
        return
    with contextlib.suppress(ZeroDivisionError):
        assert isinstance(expression.value({"a": 0.5, "b": 0.25}), (int, float))


def test_a_deep_expression_is_read_or_refused_but_breaks_nothing() -> None:
    assert read_expression("-" * (LONGEST - 2) + "a", NAMES).value({"a": 1.0}) in (1.0, -1.0)
    assert read_expression("(" * 80 + "a" + ")" * 80, NAMES).value({"a": 1.0}) == 1.0
