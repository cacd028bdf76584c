"""Numbers in CSV files: a whole one has no decimal point, whether it was read so or worked out."""

from __future__ import annotations

from collections.abc import Iterable


def plain(row: Iterable[object]) -> list[object]:
    """A row in which every number that is whole is an integer."""
    return [int(value) if isinstance(value, float) and value.is_integer() else value for value in row]
