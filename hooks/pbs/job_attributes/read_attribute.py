"""One attribute of an event's job or reservation, as text."""

from __future__ import annotations

from typing import Any


def read_attribute(subject: Any, name: str) -> str:
    """An attribute of an event's job or reservation; empty if it has none, or if this version of PBS does not know
    it."""
    value = getattr(subject, name, None)
    return "" if value is None else str(value)
