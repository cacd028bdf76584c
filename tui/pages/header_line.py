"""The header: server, mode, lock and age of the server status.

If the line is too narrow, other words are dropped first; what kind of server it is, the lock and the server's name stay
longest.
"""

from __future__ import annotations

from dataclasses import dataclass

from hooks.pbs.custom_resources import PAUSED_ATTRIBUTE
from tui.backends.interface.backend_protocol import SteeredBackend
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, Span, fit_line, joined, safe, width
from tui.text.times_and_durations import clock_time, day_of, short_span


@dataclass(frozen=True)
class Header:
    """The header's contents. ``away`` says why the last poll failed (empty: it did not); ``age_s`` is the server
    status's; ``simulation`` is the state of the simulated clock, empty for a real server. ``production``: the server is
    listed as a production server. ``system`` is what the workload manager is called."""

    server: str
    cluster: ClusterView | None
    unlocked_s: float
    age_s: float
    now_s: float
    away: str = ""
    simulation: str = ""
    production: bool = False
    system: str = "PBS"


_SLOW = 0.9
"""A simulation that runs at less of its speed is shown with both."""


def speed_in_words(simulation: SteeredBackend) -> str:
    """The speed that was chosen; before it the real one, where the machine cannot keep up."""
    speed, rate = simulation.speed, simulation.rate
    return f"×{speed:,}" if rate is None or rate >= _SLOW * speed else f"×{rate:,} of ×{speed:,}"


def header_line(header: Header, cells: int) -> Line:
    """The header in exactly so many cells."""
    cluster = header.cluster
    version = safe(cluster.server_status.server.get("pbs_version", "")) if cluster else ""
    mode = cluster.mode if cluster else "no answer yet"
    if cluster and cluster.server_status.server.get(PAUSED_ATTRIBUTE):
        mode = f"{mode}, PAUSED"
    lock: Span = (f"UNLOCKED {header.unlocked_s:.0f} s", "warn") if header.unlocked_s > 0 else ("READ-ONLY", "bold")
    badge: Line = (("PRODUCTION", "bad cursor"),) if header.production else ()
    simulated: Line = ((f"SIMULATED {header.simulation}", "mark"),) if header.simulation else ()
    time_of_day: Line = ((clock_time(header.now_s, seconds=True), ""),)
    with_day: Line = ((day_of(header.now_s), ""), *time_of_day)
    times: tuple[Line, ...] = (with_day, *[time_of_day] * 3, ())
    name: Line = ((safe(header.server), "title"),)
    for level in range(5):
        left = joined(
            [part for part in (
                (("pbsteer", "bold"),) if level < 2 else (),
                name,
                ((f"{header.system} {version}", ""),) if version and level < 3 else (),
                ((mode, "bold"),),
            ) if part],
            " · ",
        )  # fmt: skip
        middle = joined([part for part in (badge, simulated, (lock,)) if part], "  ")
        right = joined(
            [part for part in (_poll(header, level), times[level]) if part],
            "   ",
        )
        taken = _cells((*left, *middle, *right))
        if taken + 6 <= cells:
            gap = cells - taken - 2
            # The middle part is centred if possible, so that a growing age moves nothing else.
            left_gap = (cells - _cells(middle)) // 2 - _cells(left) - 1
            left_gap = min(max(2, left_gap), gap - 2)
            return ((" ", ""), *left, (" " * left_gap, ""), *middle, (" " * (gap - left_gap), ""), *right, (" ", ""))
    return fit_line((*_in_short(header, cells - _cells(name) - 1), (" ", ""), *name, (" ", ""), *right), cells)


def _in_short(header: Header, cells: int) -> Line:
    """What kind of cluster it is, and the lock, which stay: in shorter words where the whole ones do not fit."""
    open_s = header.unlocked_s
    whole = "PRODUCTION", "SIMULATED", f"UNLOCKED {open_s:.0f} s"
    short = "PROD", "SIM", "UNLOCKED"
    for production, simulated, unlocked in (whole, short):
        found = [
            ((production, "bad cursor"),) if header.production else (),
            ((simulated, "mark"),) if header.simulation else (),
            ((unlocked, "warn") if open_s > 0 else ("READ-ONLY", "bold"),),
        ]
        line = joined([part for part in found if part], " ")
        if _cells(line) <= cells:
            break
    return line


def _cells(line: Line) -> int:
    return sum(width(text) for text, _ in line)


def _poll(header: Header, level: int) -> Line:
    age = short_span(header.age_s)
    if header.away:
        return ((f"AWAY, seen {age} ago" if header.cluster else "AWAY", "bad"),)
    if header.cluster is None:
        return (("polling", "dim"),)
    cost = f"poll {header.cluster.poll_s:.2f} s, " if level < 1 else ""
    return ((f"{cost}{age} ago", "dim"),)
