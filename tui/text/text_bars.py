"""Bars as text: for a share, for use beside a quota, a row of heights, and a common scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tui.text.screen_line import Line

HEIGHTS = " ▁▂▃▄▅▆▇█"
FULL, FREE, OVER, QUOTA = "█", "░", "═", "┃"
THIN, THIN_FREE = "▬", "─"
UNKNOWN = "·"
_PICTURE_GLYPHS = frozenset(HEIGHTS + FULL + OVER + FREE + QUOTA + THIN + THIN_FREE + UNKNOWN)


def is_picture(text: str) -> bool:
    """Whether a text is part of a bar or a chart, which in reverse would read as its opposite."""
    return not text.isspace() and _PICTURE_GLYPHS.issuperset(text)


def share_bar(part: float, whole: float, cells: int) -> Line:
    """The used part of the whole; any use shows at least one full cell, any rest at least one free cell."""
    if whole <= 0 or cells <= 0:
        return ((FREE * max(0, cells), "dim"),)
    filled = round(cells * min(1.0, max(0.0, part / whole)))
    if 0 < part < whole and cells > 1:
        filled = min(max(filled, 1), cells - 1)
    return (FULL * filled, "bar"), (FREE * (cells - filled), "dim")


def thin_bar(part: float, whole: float, cells: int) -> Line:
    """As :func:`share_bar`, as a line instead of a block: bars above each other stay apart."""
    (filled, _), *rest = share_bar(part, whole, cells)
    return (THIN * len(filled), "bar"), (THIN_FREE * sum(len(text) for text, _ in rest), "dim")


def area(values: Sequence[float | None], rows: int) -> list[str]:
    """A chart of shares from 0 to 1 in so many rows, the top one first; nothing where there is no value, and a mark
    of the least height where the share is above 0."""
    steps = len(HEIGHTS) - 1
    levels = [0 if not value else max(1, round(min(1.0, value) * rows * steps)) for value in values]
    return [
        "".join(HEIGHTS[max(0, min(steps, level - row * steps))] for level in levels) for row in reversed(range(rows))
    ]


def quota_bar(used: int, quota: int | None, scale: int, cells: int) -> Line:
    """Use beside quota on a common scale: used cells, the quota's mark, cells over it or free below it; lines, so that
    bars above each other stay apart."""
    if scale <= 0 or cells <= 0:
        return ()

    def at(amount: int) -> int:
        return min(cells, round(cells * amount / scale))

    if quota is None:
        return (THIN * at(used), "bar"), (" " * (cells - at(used)), "")
    mark = min(at(quota), cells - 1)
    within = min(at(used), mark) if used else 0
    over = max(0, at(used) - mark - 1) if used > quota else 0
    if used > quota:
        over = max(over, 1) if mark + 1 < cells else 0
    return (
        (THIN * within, "bar"),
        (THIN_FREE * (mark - within), "dim"),
        (QUOTA, "mark"),
        (OVER * over, "warn"),
        (" " * (cells - mark - 1 - over), ""),
    )


def ruler(scale: int, cells: int) -> str:
    """The numbers of a common scale, each beginning where its bar would end, the last one ending with the bars: five,
    three or two of them, evenly apart, as many as have room."""
    for steps in (4, 2, 1):
        text = ""
        for step in range(steps + 1):
            label = f"{scale * step // steps:,}"
            start = min(round(cells * step / steps), cells - len(label))
            if text and start <= len(text):
                break
            text = text.ljust(start) + label
        else:
            return text.ljust(cells)[:cells]
    return f"{scale:,}".rjust(cells)[:cells]


def round_scale(largest: int) -> int:
    """The smallest power of two, or three quarters of one, that is at least ``largest`` and divisible by four."""
    scale = 4
    while scale < largest:
        scale *= 2
    shorter = scale * 3 // 4
    return shorter if shorter >= largest and shorter % 4 == 0 else scale


def heights(values: Sequence[float], most: float) -> str:
    """One character for each value; its height is the value's share of ``most``."""
    top = len(HEIGHTS) - 1
    return "".join(
        HEIGHTS[min(top, max(1 if value > 0 else 0, round(top * value / most)))] if most > 0 else HEIGHTS[0]
        for value in values
    )


def day_line(hours: Sequence[float | None], most: float, cells: int) -> Line:
    """Hours as heights, several of them in one cell where there are fewer ``cells``; a dot where nothing is known."""
    groups = [hours[cell * len(hours) // cells : (cell + 1) * len(hours) // cells] for cell in range(cells)]
    known = [[hour for hour in group if hour is not None] for group in groups]
    drawn = heights([sum(group) / len(group) if group else 0.0 for group in known], most)
    spans = [(glyph, "bar") if group else (UNKNOWN, "dim") for glyph, group in zip(drawn, known)]
    return tuple(("".join(text for text, _ in run), role) for role, run in groupby(spans, key=lambda span: span[1]))
