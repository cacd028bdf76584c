"""The room that a dialog has: all lines but the header's, and a line of keys that fits.

On very low screens dialogs have no frame and screens no tabs, but the header, which says where one is, stays in sight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import App

from tui.text.screen_line import Line, plain, width

LEAST_LINES = 10
"""Screens with fewer lines show no tabs, and their dialogs no frame: lines are worth more there."""
NARROW = 56
"""On lines with fewer cells an explanation stands below what it explains, not beside it."""
_HEADER_LINES, _FRAME_LINES, _FRAME_CELLS, _PADDING_CELLS = 1, 2, 2, 2


def lines_in_dialog(app: App[Any]) -> int:
    """The lines that there are inside a dialog."""
    lines = app.size.height - _HEADER_LINES
    return max(1, lines - _FRAME_LINES if app.size.height >= LEAST_LINES else lines)


def cells_in_dialog(app: App[Any], widest: int) -> int:
    """The cells of a line inside a dialog that is at most ``widest`` with its frame."""
    frame = _FRAME_CELLS if app.size.height >= LEAST_LINES else 0
    return max(1, min(app.size.width, widest) - frame - _PADDING_CELLS)


def keys_that_fit(hints: Sequence[Line], cells: int) -> Line:
    """The hints in one line of at most so many cells: closer together where they have to be, then without the last
    ones."""
    for count in range(len(hints), 0, -1):
        for gap in ("   ", " "):
            spans = [span for hint in hints[:count] for span in ((gap, ""), *hint)]
            line: Line = tuple(spans[1:])
            if count == 1 or width(plain(line)) <= cells:
                return line
    return ()
