"""The header: which server, in which mode, locked or not, how old the picture is; never without any of these.

Where the line is too narrow, words give way first and the server's name last; the lock and the age always stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from hooks.pbs.resources import PAUSED_ATTRIBUTE
from tui.state.cluster_view import World
from tui.text.durations import clock_time, short_span
from tui.text.lines import Line, Span, fit_line, joined, safe, width


@dataclass(frozen=True)
class Header:
    """What the header shows. ``away`` says why the last poll failed (empty: it did not); ``age_s`` is the picture's;
    ``simulation`` is the simulated clock's state, empty on a real server."""

    server: str
    world: World | None
    unlocked_s: float
    age_s: float
    now_s: float
    away: str = ""
    simulation: str = ""


def header_line(header: Header, cells: int) -> Line:
    """The header in so many cells."""
    world = header.world
    version = safe(world.picture.server.get("pbs_version", "")) if world else ""
    mode = world.mode if world else "no answer yet"
    if world and world.picture.server.get(PAUSED_ATTRIBUTE):
        mode = f"{mode}, PAUSED"
    lock: Span = (f"UNLOCKED {header.unlocked_s:.0f} s", "warn") if header.unlocked_s > 0 else ("READ-ONLY", "bold")
    simulated: Line = ((f"SIMULATED {header.simulation}", "mark"),) if header.simulation else ()
    clock: Line = ((clock_time(header.now_s, seconds=True), ""),)
    name: Line = ((safe(header.server), "title"),)
    for level in range(5):
        left = joined(
            [part for part in (
                (("pbsteer", "bold"),) if level < 2 else (),
                name,
                ((f"PBS {version}", ""),) if version and level < 3 else (),
                ((mode, "bold"),),
            ) if part],
            " · ",
        )  # fmt: skip
        middle = joined([part for part in (simulated, (lock,)) if part], "  ")
        right = joined([part for part in (_poll(header, level), clock if level < 4 else ()) if part], "   ")
        taken = _cells((*left, *middle, *right))
        if taken + 6 <= cells:
            gap = cells - taken - 2
            # The middle stays in the line's own middle, if it can, so that an age that grows moves nothing else.
            left_gap = (cells - _cells(middle)) // 2 - _cells(left) - 1
            left_gap = min(max(2, left_gap), gap - 2)
            return ((" ", ""), *left, (" " * left_gap, ""), *middle, (" " * (gap - left_gap), ""), *right, (" ", ""))
    return fit_line((*middle, (" ", ""), *right, (" ", ""), *left), cells)


def _cells(line: Line) -> int:
    return sum(width(text) for text, _ in line)


def _poll(header: Header, level: int) -> Line:
    age = short_span(header.age_s)
    if header.away:
        return ((f"AWAY, seen {age} ago" if header.world else "AWAY", "bad"),)
    if header.world is None:
        return (("asking", "dim"),)
    cost = f"poll {header.world.poll_s:.2f} s, " if level < 1 else ""
    return ((f"{cost}{age} ago", "dim"),)
