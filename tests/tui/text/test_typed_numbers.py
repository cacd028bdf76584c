"""Numbers and lengths of time as they are typed: read as meant, or not at all."""

from __future__ import annotations

import pytest

from tui.text.times_and_durations import parse_span_s
from tui.text.typed_numbers import parse_decimal, parse_whole


@pytest.mark.parametrize(
    ("text", "whole", "decimal"),
    [
        ("12", 12, 12.0),
        ("1,024", 1024, 1024.0),
        ("1_024", 1024, 1024.0),
        ("1.5", None, 1.5),
        (".5", None, 0.5),
        ("-2", None, -2.0),
        ("1e3", None, 1000.0),
        ("1,5", None, None),
        ("1_0", None, None),
        ("1,024_000", None, None),
        ("nan", None, None),
        ("-inf", None, None),
        ("1e999", None, None),
        ("9" * 5000, None, None),
        ("٣", None, None),
        ("", None, None),
    ],
)
def test_a_number_is_read_as_it_is_meant_or_not_at_all(text: str, whole: int | None, decimal: float | None) -> None:
    assert (parse_whole(text), parse_decimal(text)) == (whole, decimal)


def test_a_length_of_time_is_a_finite_number_of_a_unit() -> None:
    assert [parse_span_s(text) for text in ("90", "1.5h", "15m", "12:00:00")] == [90.0, 5400.0, 900.0, 43200.0]
    for text in ("infd", "nanh", "1_0m", "1,5h", "h", "9" * 5000):
        with pytest.raises(ValueError, match="is no length of time"):
            parse_span_s(text)
