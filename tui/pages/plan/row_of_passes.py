"""The last passes as a row of cells, oldest first: what each did, which one is shown, and the next pass last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tui.backends.pass_journal import Pass
from tui.text.screen_line import Line, Span, width
from tui.text.times_and_durations import clock_time

_NEXT, _MORE = "next", "…"
_NOTHING, _STARTED, _PREEMPTED, _FAILED = "·", "▄", "█", "!"
_LEGEND: Line = (
    ("   ", ""),
    (_STARTED, "good"),
    (" started  ", "dim"),
    (_PREEMPTED, "warn"),
    (" preempted  ", "dim"),
    (_FAILED, "bad"),
    (" failed", "dim"),
)
_LEGEND_OF_DIM: Line = ((f"  {_STARTED}{_PREEMPTED} decided, not done", "dim"),)
_LEAST_BESIDE_LEGEND = 40
"""The legend is left out where fewer passes would fit beside it."""
_TIME_CELLS = len("00:00 ")


class RowOfPasses(NamedTuple):
    """The row; the index of its first pass, the cell in which that stands, and how many ``passes`` there are from
    there; and the cell in which the next pass begins, None where later passes than those in the row come before it."""

    line: Line
    first: int
    x: int
    passes: int
    next_x: int | None

    def index_at(self, x: int) -> int | None:
        """The index of the pass in a cell; one more than the last pass's for the next pass; None beside them."""
        if self.x <= x < self.x + self.passes:
            return self.first + x - self.x
        is_next = self.next_x is not None and self.next_x <= x < self.next_x + len(_NEXT)
        return self.first + self.passes if is_next else None


def row_of_passes(entries: Sequence[Pass], shown: int, cells: int) -> RowOfPasses:
    """The row for a line of so many cells; ``shown`` is the index of the pass that is shown, the number of passes for
    the next one. Where not all fit these are the last ones, or those around the one that is shown."""
    room = cells - 2 * _TIME_CELLS - len(_NEXT) - 1
    legend = _LEGEND if room - _cells(_LEGEND) >= _LEAST_BESIDE_LEGEND else ()
    count = min(len(entries), max(1, room - _cells(legend)))
    first = len(entries) - count
    if shown < first:
        first = max(0, shown - count // 2)
    here = [_drawn(entry) for entry in entries[first : first + count]]
    spans: list[Span] = [(f"{clock_time(entries[first].time_s):{_TIME_CELLS}}", "dim")]
    spans += [
        (glyph, f"{role} cursor" if index == shown else role) for index, (glyph, role) in enumerate(here, start=first)
    ]
    spans.append((f" {clock_time(entries[first + count - 1].time_s):{_TIME_CELLS}}", "dim"))
    is_last = first + count == len(entries)
    next_x = _cells(spans) if is_last else None
    spans.append((_NEXT, "cursor" if shown >= len(entries) else "dim") if is_last else (_MORE, "dim"))
    spans += legend
    undone = any(role == "dim" and glyph != _NOTHING for glyph, role in here)
    if legend and undone and _cells(spans) + _cells(_LEGEND_OF_DIM) <= cells:
        spans += _LEGEND_OF_DIM
    return RowOfPasses(tuple(spans), first, _TIME_CELLS, count, next_x)


def _cells(spans: Sequence[Span]) -> int:
    return sum(width(text) for text, _ in spans)


def _drawn(entry: Pass) -> Span:
    """What a pass did, the gravest first; dim where it was decided and not done, as in another mode than `drive`."""
    if entry.texts("failures"):
        return _FAILED, "bad"
    preempts = entry.parts("preempts")
    if any(entry.preemption_outcome(part) == "done" for part in preempts):
        return _PREEMPTED, "warn"
    if entry.texts("started"):
        return _STARTED, "good"
    return _PREEMPTED if preempts else _STARTED if entry.parts("starts") else _NOTHING, "dim"
