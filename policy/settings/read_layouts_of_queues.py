"""Layouts of queues, as the settings have them (docs/policies.md, P5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAYOUT_CHOICES = ("none", "pack", "stripe", "learn", "auto")


def read_layouts(value: Any) -> tuple[tuple[str, str], ...] | None:
    """The layouts by queue, sorted; None for anything else."""
    pairs = value.items() if isinstance(value, Mapping) else value
    if isinstance(pairs, str):
        return None
    try:
        layouts = tuple(sorted((queue, layout) for queue, layout in pairs))
    except (TypeError, ValueError):
        return None
    good = all(isinstance(queue, str) and queue and layout in LAYOUT_CHOICES for queue, layout in layouts)
    return layouts if good else None
