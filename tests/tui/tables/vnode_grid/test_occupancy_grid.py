"""The grid: cells as large as fit, rows that end with a rack, colours that repeat what the characters say."""

from __future__ import annotations

import pytest

from hooks.pbs.custom_resources_on_hosts import READING
from hooks.telemetry.host_reading_format import Heat, HostReading
from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, a_server_status, a_vnode, changed, running
from tui.state.cluster_view import ClusterView, see
from tui.tables.vnode_grid.grid_colours import COLOURS, colours_by
from tui.tables.vnode_grid.occupancy_grid import Grid, cell_text, jobs_of_cell, lay_out, legend, row_labels
from tui.text.screen_line import plain, width


def cluster(vnodes: int = 40, **racks: range) -> ClusterView:
    named = {f"n{number:03}": a_vnode(8, number % 9) for number in range(vnodes)}
    for rack, numbers in racks.items():
        for number in numbers:
            named[f"n{number:03}"]["resources_available.rack"] = rack
    named["n001"]["resources_available.ngpus"] = "4"
    named["n001"]["resources_assigned.ngpus"] = "1"
    reading = HostReading(NOON_S, None, None, None, Heat(75, 95))
    named["n002"][f"resources_available.{READING}"] = reading.show()
    named["n003"]["state"] = "down"
    jobs = {"7.hpc1": running("alice", 4, "n004"), "8.hpc1": running("bob", 2, "n004")}
    return see(changed(a_server_status(), vnodes=named, jobs=jobs), Settings(), Ledger(), 0.1)


def values(seen: ClusterView, colour: str) -> dict[str, tuple[str, str, str]]:
    grid = lay_out(seen, 200, 40, colours_by(seen, colour))
    return {cell.vnodes[0]: (cell.shade.glyph, cell.shade.value, cell.shade.role) for cell in grid.cells}


@pytest.mark.parametrize(("width_", "height", "cell_cells"), [(120, 30, 7), (60, 10, 7), (60, 4, 3), (30, 3, 1)])
def test_cells_are_as_large_as_fit(width_: int, height: int, cell_cells: int) -> None:
    seen = cluster()
    grid = lay_out(seen, width_, height, colours_by(seen, "fill"))
    assert (grid.cell_cells, grid.group, len(grid.cells)) == (cell_cells, 1, 40)
    assert len(grid.rows) <= height
    for cell in grid.cells:
        assert width(cell_text(cell, cell_cells)) == cell_cells


@pytest.mark.parametrize("vnodes", [1, 7, 300, 3000])
@pytest.mark.parametrize("size", [(20, 1), (40, 8), (80, 18), (300, 90)])
def test_every_vnode_is_in_one_cell_and_no_row_is_too_wide(vnodes: int, size: tuple[int, int]) -> None:
    named = {f"{'ab'[number % 2]}{number}": a_vnode(8) for number in range(vnodes)}
    seen = see(changed(a_server_status(), vnodes=named, jobs={}), Settings(), Ledger(), 0.1)
    grid = lay_out(seen, *size, colours_by(seen, "fill"))
    found = [name for cell in grid.cells for name in cell.vnodes]
    assert sorted(found) == sorted(named)
    for row in grid.rows:
        cells = row.cells * (grid.cell_cells + 1) if grid.cell_cells > 1 else row.cells
        assert 1 + grid.label_cells + cells <= max(size[0], 2 + grid.label_cells)
    assert [row.start for row in grid.rows] == sorted({grid.rows[grid.row_of(i)].start for i in range(len(grid.cells))})


def racks_of(seen: ClusterView, grid: Grid) -> list[set[str]]:
    vnodes = seen.server_status.vnodes
    return [
        {
            vnodes[name].get("resources_available.rack", "")
            for cell in grid.cells[row.start : row.start + row.cells]
            for name in cell.vnodes
        }
        for row in grid.rows
    ]


def test_rows_end_with_a_rack_and_say_which() -> None:
    seen = cluster(r1=range(15), r2=range(15, 40))
    grid = lay_out(seen, 120, 30, colours_by(seen, "fill"))
    assert all(len(racks) == 1 for racks in racks_of(seen, grid))
    assert [label.split() for label in row_labels(grid)] == [
        ["r1", "n000"],
        ["r1", "n013"],
        ["r2", "n015"],
        ["r2", "n028"],
    ]


def test_placement_sets_come_before_racks() -> None:
    seen = cluster(r1=range(15), r2=range(15, 40))
    server_status = changed(seen.server_status, server={**seen.server_status.server, "node_group_key": "switch"})
    for number, vnode in enumerate(server_status.vnodes.values()):
        vnode["resources_available.switch"] = f"s{number % 2}"  # type: ignore[index]
    seen = see(server_status, Settings(), Ledger(), 0.1)
    assert row_labels(lay_out(seen, 120, 30, colours_by(seen, "fill")))[0].split() == ["s0", "n000"]


def test_each_choice_of_colours_shows_its_value_in_characters_too() -> None:
    seen = cluster()
    assert values(seen, "fill")["n004"] == ("▄", "4", "heat3")
    assert values(seen, "fill")["n000"] == ("·", "0", "dim")
    assert values(seen, "user")["n004"][:2] == ("A", "A")
    assert values(seen, "queue")["n004"][2] == "hue1"
    assert values(seen, "job")["n004"][0] == "A"
    assert values(seen, "gpus")["n001"][:2] == ("3", "3")
    assert values(seen, "temperature")["n002"] == ("7", "75", "heat4")
    assert values(seen, "walltime")["n004"][1] != ""
    for colour in COLOURS:
        assert values(seen, colour)["n003"][0] == "d", "what is broken is seen in all of them"
        meant = legend(lay_out(seen, 200, 40, colours_by(seen, colour)), 120, colours_by(seen, colour))
        assert meant
        assert width(meant) <= 120


def test_the_jobs_of_a_cell_are_listed_the_largest_first() -> None:
    seen = cluster()
    grid = lay_out(seen, 200, 40, colours_by(seen, "fill"))
    (cell,) = (cell for cell in grid.cells if cell.vnodes == ("n004",))
    seen.server_status.vnodes["n004"]["jobs"] = "8.hpc1/0, 7.hpc1/0, 7.hpc1/1"  # type: ignore[index]
    assert [plain(line).split()[:3] for line in jobs_of_cell(seen, cell, 5)] == [
        ["7", "alice", "4c"],
        ["8", "bob", "2c"],
    ]
    assert "and 2 more" in plain(jobs_of_cell(seen, cell, 1)[-1])
