"""Columns over keys, for what is done with columns: one that identifies, one that sorts, two that can be left out."""

from __future__ import annotations

from tui.tables.columns import Column

SIZES = {"a": 3, "b": None, "c": 1, "d": 2}
COLUMNS: list[Column[str]] = [
    Column("key", "key", 6, lambda key: key, lambda key: ((key, ""),)),
    Column("size", "size", 6, lambda key: SIZES[key], lambda key: ((str(SIZES[key]), ""),), ">", rank=1),
    Column("more", "more", 9, lambda key: key, lambda key: ((key * 3, ""),), rank=2),
    Column("rest", "rest", 0, lambda key: key, lambda key: ((key * 50, ""),)),
]
