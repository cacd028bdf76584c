"""How many lines of the screen a dialog may take: all but the header's, on screens that are not very low."""

from __future__ import annotations

from typing import Any

from textual.app import App

LEAST_LINES = 10
"""Screens with fewer lines show no tabs, and dialogs cover their header: lines are worth more there."""


def lines_for_dialog(app: App[Any]) -> int:
    """The lines that there are for a dialog with its border."""
    lines = app.size.height
    return lines - 1 if lines >= LEAST_LINES else lines
