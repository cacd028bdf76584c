"""The overview's lines: is the cluster well, and what needs somebody?"""

from __future__ import annotations

from tui.core.attention import attention, in_short
from tui.core.bars import heights, share_bar
from tui.core.columns import Sort, header, place, row
from tui.core.durations import clock_time
from tui.core.history import IdleHistory
from tui.core.lines import Line, safe, spread
from tui.core.queue_rows import execution_queues, queue_columns
from tui.core.world import World

_NARROW = 70


def overview_lines(world: World, history: IdleHistory, cells: int) -> list[Line]:
    """The whole view for a line of so many cells."""
    return [
        _cores(world, cells),
        _jobs(world, history, cells),
        (),
        *_queues(world, cells),
        (),
        *_labelled("attention", attention(world) or [(("nothing needs you", "good"),)]),
        *_labelled("this pass", [_pass(world)]),
    ]


def _cores(world: World, cells: int) -> Line:
    vnodes = world.tally.vnodes
    share = vnodes.used / vnodes.total if vnodes.total else 0.0
    by_state = "".join(f" · {len(names):,} {safe(state)}" for state, names in sorted(vnodes.not_up.items()))
    right: Line = ((f"vnodes {vnodes.busy:,} busy · {vnodes.free:,} free{by_state}", ""),)
    numbers = f"cores   {vnodes.used:,} / {vnodes.total:,}  "
    bar_cells = max(8, min(48, cells - len(numbers) - len(right[0][0]) - 10))
    left: Line = ((numbers, "bold"), *share_bar(vnodes.used, vnodes.total, bar_cells), (f"  {share:.0%}  ", "bold"))
    return spread(left, right, cells) if cells > _NARROW else left


def _jobs(world: World, history: IdleHistory, cells: int) -> Line:
    states = world.tally.states
    waiting = states["Q"] + states["W"] + states["T"]
    running = sum(states[state] for state in "RESU")
    left: Line = ((f"jobs    R {running:,}  Q {waiting:,}  H {states['H']:,}", "bold"),)
    if history.ratio is None or cells <= _NARROW:
        return left
    hours = history.hours
    drawn = heights([hour.mean for hour in hours], max(hour.mean for hour in hours))
    watched = "1 h" if len(hours) == 1 else f"{len(hours)} h"
    return spread(left, ((f"idle, {watched} watched ", ""), (drawn, "bar"), (f" {history.ratio:.1%}", "")), cells)


def _queues(world: World, cells: int) -> list[Line]:
    placed = place(queue_columns(world), cells)
    names = execution_queues(world)
    return [header(placed, Sort()), *(row(placed, name) for name in names)]


def _labelled(label: str, lines: list[Line]) -> list[Line]:
    gap = " " * 11
    return [
        ((f"{label:<11}" if index == 0 else gap, "title" if index == 0 else ""), *line)
        for index, line in enumerate(lines)
    ]


def _pass(world: World) -> Line:
    cost = f" {world.decision.cost_s:.2f} s" if world.decision else ""
    return ((f"{clock_time(world.now_s, seconds=True)}{cost} · {in_short(world)}", ""),)
