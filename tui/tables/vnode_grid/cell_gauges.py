"""Bars of what is assigned on a cell's vnodes, the course of their temperature, and the steps of the grid's colours."""

from __future__ import annotations

from collections.abc import Sequence

from hooks.record.day_of_activity import SLOT_S
from policy.model.pbs_units import show_duration
from tui.model.typed_attributes import amount
from tui.state.cluster_view import ClusterView
from tui.tables.vnode_grid.grid_colours import COOL, HOT, LONG_S, STEPS, Colours
from tui.tables.vnode_grid.occupancy_grid import Cell
from tui.text.memory_amount_as_text import in_bytes
from tui.text.screen_line import Line, Span
from tui.text.text_bars import day_line, thin_bar

TEMPERATURE_SLOTS = 36
"""How many slots of the temperature are shown, one in a cell: six hours."""
_BAR_CELLS, _BAR_CELLS_WIDE = 8, 16
_WIDE = 110
"""From so many cells of a line on, the bars are longer."""
_BLOCK = 6


def gauges_of_cell(cluster: ClusterView, cell: Cell, cells: int) -> Line:
    """What is assigned of the vnodes' cores, memory and GPUs, each as a bar; for a line of so many ``cells``."""
    bar_cells = _BAR_CELLS_WIDE if cells >= _WIDE else _BAR_CELLS
    known = cluster.server_status.vnodes
    vnodes = [known[name] for name in cell.vnodes if name in known]
    spans: list[Span] = []
    for title, resource in (("cores", cluster.counted), ("memory", "mem"), ("gpus", "ngpus")):
        has = sum(amount(vnode, f"resources_available.{resource}") for vnode in vnodes)
        held = sum(amount(vnode, f"resources_assigned.{resource}") for vnode in vnodes)
        if has:
            shown = f"{held:,}/{has:,}" if resource != "mem" else f"{in_bytes(held)} / {in_bytes(has)}"
            spans += [(f" {title} ", "dim"), *thin_bar(held, has, bar_cells), (f" {shown}  ", "")]
    return tuple(spans)


def course_of_temperature(degrees: Sequence[int | None]) -> Line:
    """The temperatures of some slots of ten minutes, the oldest first; empty until two of them are known."""
    known = [each for each in degrees if each is not None]
    if len(known) < 2:
        return ()
    first = next(number for number, each in enumerate(degrees) if each is not None)
    shown = degrees[first:]
    heights = [None if each is None else max(1.0, each - COOL) for each in shown]
    span = show_duration(len(shown) * SLOT_S)
    least, most = min(known), max(known)
    degrees_in_words = f"{most} °C" if least == most else f"{least} to {most} °C"
    return (
        (" temperature ", "dim"),
        *day_line(heights, HOT - COOL, len(heights)),
        (f" {degrees_in_words} in the last {span}", ""),
    )


_STEPPED = {"gpus": "free GPUs"}
"""What the steps are of, where the name of the colour could be taken for the opposite."""


def steps_of(colours: Colours) -> Line:
    """The steps of the colours of amounts with what each begins at; empty where the cells are names."""
    if colours.who is not None:
        return ()
    spans: list[Span] = [(f" {_STEPPED.get(colours.name, colours.name)} from ", "dim")]
    for step in range(STEPS):
        text = _beginning(colours.name, step / STEPS)
        spans += [(f"{text:^{_BLOCK}}", f"on-heat{step + 1}")]
    return tuple(spans)


def _beginning(name: str, share: float) -> str:
    """The least value of a step, as the cells have it."""
    if name == "temperature":
        return f"{COOL + share * (HOT - COOL):.0f}°"
    if name == "walltime":
        return f"{share * LONG_S / 3600:.0f}h"
    return f"{share:.0%}"
