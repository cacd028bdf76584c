"""A TOML text that would do harm or that cannot be understood is a ValueError, whatever it has."""

from __future__ import annotations

import pytest

from migration.config.parse_toml import parse_toml


def test_tables_and_values_are_read() -> None:
    assert parse_toml('a.b = [1, "x"]\n[c]\nd = true\n') == {"a": {"b": [1, "x"]}, "c": {"d": True}}


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{a = [" * 60 + "]}" * 60, "a." * 5_000 + "a = 1"])
def test_a_text_nested_deeply_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_toml(text)


def test_a_byte_order_mark_is_named() -> None:
    with pytest.raises(ValueError, match=r"byte order mark \(BOM\)"):
        parse_toml("\ufeffa = 1\n")
