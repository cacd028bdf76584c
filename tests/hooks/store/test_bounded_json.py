"""JSON of damaged files: whatever a text has, the answer is a bounded value or ValueError."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hooks.store.bounded_json import parse_json


def nested(depth: int, text: str = "") -> str:
    return "[" * depth + text + "]" * depth


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        True,
        0,
        -1.5,
        "x",
        {"a": [1, {"b": [[2.5], None, "\u20ac"]}], "c": -(10**30)},
        10**99,
        1e308,
        json.loads(nested(100)),
    ],
)
def test_a_value_comes_as_it_was_written(value: Any) -> None:
    found = parse_json(json.dumps(value))
    assert (found, type(found)) == (value, type(value))
    assert parse_json(json.dumps(value).encode("ascii")) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'a': 1}",
        "NaN",
        "[Infinity]",
        '{"a": -Infinity}',
        "1e999",
        "-1e999",
        "9" * 400 + ".0",
        "9" * 101,
        "-" + "9" * 100,
        "9" * 100_000,
        nested(101),
        nested(101, "1"),
        '{"a":' * 101 + "1" + "}" * 101,
        nested(200_000),
        "[" * 200_000,
        b"\xff\xfe\x00",
        b"\xed\xa0",
    ],
    ids=range(19),
)
def test_what_is_not_bounded_is_a_value_error_and_no_other(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_every_number_that_is_read_can_be_used_as_the_other_kind() -> None:
    for number in parse_json(f"[{10**99}, {-(10**98)}, 1e308, -1e308]"):
        assert float(int(float(number))) == float(number)
