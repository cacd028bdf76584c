"""PBS's sizes, durations and amounts: what is read, in which unit, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model.pbs_units import (
    UnitError,
    parse_amount,
    parse_duration_s,
    parse_measure,
    parse_resource,
    parse_size_kib,
    show_duration,
    show_resource,
)


@pytest.mark.parametrize(
    ("text", "kib"),
    [
        ("4gb", 4 << 20),
        ("512MB", 512 << 10),
        ("1kb", 1),
        ("1tb", 1 << 30),
        ("1pb", 1 << 40),
        ("1024", 1),
        ("1025", 2),
        ("1b", 1),
        ("0", 0),
        ("2kw", 16),
        ("128w", 1),
        (" 3gb ", 3 << 20),
        ("5g", 5 << 20),
    ],
)
def test_a_size_is_read_in_kib_rounded_up(text: str, kib: int) -> None:
    assert parse_size_kib(text) == kib


@pytest.mark.parametrize("text", ["", "gb", "-1gb", "1.5gb", "4 gb", "4xb", "4gbb", "1e3", "٣gb"])
def test_what_is_no_size_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(UnitError, match="allowed is a whole number") as refused:
        parse_size_kib(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1:30", 90), ("01:00:00", 3600), ("100:00:01", 360001), ("0.5", 1), ("7.000", 7)]
)
def test_a_duration_is_read_in_seconds(text: str, seconds: int) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", ":", "1:", ":5", "1:2:3:4", "-5", "1.", "one", "1.5:00"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UnitError, match="no duration"):
        parse_duration_s(text)


@given(st.integers(0, 10**7))
def test_hours_minutes_and_seconds_add_up(seconds: int) -> None:
    assert parse_duration_s(f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}") == seconds


@pytest.mark.parametrize(
    ("text", "amount"),
    [("4", 4), ("4gb", 4 << 20), ("2.9", 2), ("inf", None), ("nan", None), ("-1", None), ("", None), ("a", None)],
)
def test_an_amount_that_is_there_is_rounded_down(text: str, amount: int | None) -> None:
    assert parse_amount(text) == amount


@pytest.mark.parametrize(
    ("name", "text", "amount"),
    [
        ("fpgas", "0.5", 1),
        ("fpgas", "2", 2),
        ("mem", "1073741824", 1 << 20),
        ("mem", "1gb", 1 << 20),
        ("vmem", "1", 1),
        ("ncpus", "4", 4),
        ("fpgas", "x", None),
    ],
)
def test_what_is_asked_for_is_rounded_up_and_a_bare_size_is_bytes(name: str, text: str, amount: int | None) -> None:
    assert parse_resource(name, text) == amount


@given(st.sampled_from(("mem", "vmem", "ncpus", "fpgas")), st.integers(0, 10**12))
def test_a_resource_is_shown_as_it_is_read(name: str, amount: int) -> None:
    shown_name, _, text = show_resource(name, amount).partition("=")
    assert (shown_name, parse_resource(name, text)) == (name, amount)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (119, "119 s"),
        (119.6, "2 min"),
        (120, "2 min"),
        (1080, "18 min"),
        (3599, "1 h 00"),
        (4080, "1 h 08"),
        (47 * 3600, "47 h 00"),
        (76 * 3600, "3 d 4 h"),
    ],
)
def test_durations_are_shown_as_people_say_them(seconds: float, shown: str) -> None:
    assert show_duration(seconds) == shown


@pytest.mark.parametrize(
    ("text", "measure"),
    [("3", 3.0), ("2.5", 2.5), ("-1", -1.0), ("2kb", 2048.0), ("1gb", float(1 << 30)), ("2w", 16.0), ("inf", None)],
)
def test_a_measure_is_a_number_or_a_size_in_bytes(text: str, measure: float | None) -> None:
    assert parse_measure(text) == measure


def test_numbers_beyond_all_reason_are_none() -> None:
    assert parse_measure("fast") is parse_measure("1e999") is None
    assert parse_amount("9" * 400) is None
    assert parse_resource("mem", "9" * 400 + "gb") is None
    for parse in (parse_size_kib, parse_duration_s):
        with pytest.raises(UnitError):
            parse("9" * 400)
