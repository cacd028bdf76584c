"""What stands below the grid about the cell under the cursor: bars, its temperature, and the steps of the colours."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import a_server_status, a_vnode, changed
from tui.state.cluster_view import see
from tui.tables.vnode_grid.cell_gauges import course_of_temperature, gauges_of_cell, steps_of
from tui.tables.vnode_grid.grid_colours import COLOURS, STEPS, Shade, colours_by
from tui.tables.vnode_grid.occupancy_grid import Cell
from tui.text.screen_line import plain, width

VNODES = {
    "g1": {**a_vnode(8, 6), "resources_available.ngpus": "4", "resources_assigned.ngpus": "1"},
    "n1": a_vnode(8, 2),
}
CLUSTER = see(changed(a_server_status(), vnodes=VNODES, jobs={}), Settings(), Ledger(), 0.1)


def test_the_bars_have_what_is_assigned_of_what_the_cells_vnodes_have() -> None:
    shown = plain(gauges_of_cell(CLUSTER, Cell(("g1",), Shade("6", "6", "heat4")), 120))
    assert "cores ▬▬▬▬▬▬▬▬▬▬▬▬──── 6/8" in shown
    assert "1/4" in shown.partition("gpus")[2]
    both = plain(gauges_of_cell(CLUSTER, Cell(("g1", "n1", "gone"), Shade("8", "8", "heat4")), 80))
    assert "cores ▬▬▬▬──── 8/16" in both


def test_a_vnode_without_gpus_has_no_bar_of_them() -> None:
    assert "gpus" not in plain(gauges_of_cell(CLUSTER, Cell(("n1",), Shade("2", "2", "heat2")), 120))


def test_the_course_of_the_temperature_begins_with_the_first_that_is_known() -> None:
    assert course_of_temperature([None, 50, None]) == ()
    shown = plain(course_of_temperature([None, None, 31, 60, None, 90]))
    assert shown.startswith(" temperature ▁▄·█ ")
    assert "31 to 90 °C" in shown


@pytest.mark.parametrize("colour", COLOURS)
def test_amounts_have_steps_and_names_have_none(colour: str) -> None:
    steps = steps_of(colours_by(CLUSTER, colour))
    if colour in ("user", "queue", "job"):
        assert steps == ()
    else:
        assert [role for _, role in steps[1:]] == [f"on-heat{step}" for step in range(1, STEPS + 1)]
        assert width(plain(steps)) <= 60


def test_the_steps_of_gpus_say_that_they_are_of_free_ones() -> None:
    assert plain(steps_of(colours_by(CLUSTER, "gpus"))).startswith(" free GPUs from ")
