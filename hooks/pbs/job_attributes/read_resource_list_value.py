"""One value of the ``Resource_List`` of an event's job or reservation."""

from __future__ import annotations

from typing import Any


def read_value(resources: Any, name: str) -> str | None:
    """One value; None if it is not named, or if the server does not know the resource."""
    try:
        value = resources[name]
    except Exception:  # noqa: BLE001 - how PBS says that it does not know a resource differs by version
        return None
    return None if value is None else str(value)
