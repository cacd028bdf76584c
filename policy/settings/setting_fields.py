"""Fields of settings, by kind: each declaration holds its default, the text of what is allowed, and the check."""

from __future__ import annotations

import math
import re
from dataclasses import field
from typing import Any, Callable, Optional

Check = Callable[[Any], Optional[Any]]

_RESOURCE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
"""PBS's syntax for the name of a resource."""
_MOST = 1e15
"""Far beyond every sensible number. Larger and infinite numbers, and NaN, are refused."""


def setting(default: Any, allowed: str, check: Check) -> Any:
    """A field with the text of what it allows. ``check`` returns the value to keep, or None for one that is not
    allowed."""
    return field(default=default, metadata={"allowed": allowed, "check": check})


def number_setting(default: float, low: float, high: float = math.inf, unit: str = "") -> Any:
    """A number within bounds, in this unit."""
    allowed = f"a number from {low:g}" + ("" if high == math.inf else f" to {high:g}") + (f" ({unit})" if unit else "")
    return setting(default, allowed, lambda value: value if is_number(value) and low <= value <= high else None)


def whole_setting(default: int | None, low: int, high: int) -> Any:
    """A whole number within bounds; None where there is none."""

    def check(value: Any) -> int | None:
        return value if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high else None

    return setting(default, f"a whole number from {low} to {high}", check)


def choice_setting(default: str, choices: tuple[str, ...]) -> Any:
    """One of a few words."""
    return setting(default, "one of " + ", ".join(choices), lambda value: value if value in choices else None)


def flag_setting(default: bool) -> Any:
    """True or false."""
    return setting(default, "true or false", lambda value: value if isinstance(value, bool) else None)


def text_setting(default: str, allowed: str) -> Any:
    """A text of printable characters; empty only as the default."""

    def check(value: Any) -> str | None:
        return value if isinstance(value, str) and value and value.isprintable() else None

    return setting(default, allowed, check)


def read_names(value: Any) -> tuple[str, ...] | None:
    """One name or a list of names as a tuple; None for anything else."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)):
        return None
    if not all(isinstance(name, str) and _RESOURCE_NAME.fullmatch(name) for name in names):
        return None
    return tuple(names) if len(set(names)) == len(names) else None


def is_number(value: Any) -> bool:
    """Whether this is a finite number, of a sensible size."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_MOST <= value <= _MOST
