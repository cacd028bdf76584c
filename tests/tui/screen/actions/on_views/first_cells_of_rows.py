"""The ids that a table on the screen shows."""

from __future__ import annotations

from tests.tui.console_under_test import Steered


def ids(steered: Steered) -> list[str]:
    """The first cell of each row on the screen, from the top."""
    rows = [line.replace("▸", " ").replace("*", " ").split() for line in steered.table[1:]]
    return [row[0] for row in rows if row and row[0].rstrip("[]").isdigit()]
