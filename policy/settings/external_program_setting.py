"""Checks a program and its arguments in the settings: a list of texts, run without a shell."""

from __future__ import annotations

from typing import Any

_MOST_WORDS = 64
_LONGEST = 1024


def read_program_line(value: Any) -> tuple[str, ...] | None:
    """The list as a tuple, empty where it is empty; None where it is no list of printable texts within the bounds, or
    the first is no absolute path."""
    if not isinstance(value, (list, tuple)) or len(value) > _MOST_WORDS:
        return None
    if not all(isinstance(word, str) and len(word) <= _LONGEST and word.isprintable() for word in value):
        return None
    return tuple(value) if not value or value[0].startswith("/") else None
