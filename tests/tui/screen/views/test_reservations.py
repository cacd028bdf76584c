"""PBS's own reservations: a tab where there are some, their state in words, and their jobs."""

from __future__ import annotations

from pathlib import Path

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import NOON_S, ScriptedBackend, a_job, changed, with_job
from tui.tables.columns_by_view.reservation_columns import state_of

R77 = {
    "queue": "R77",
    "reserve_state": "2",
    "reserve_start": str(int(NOON_S + 3600)),
    "reserve_end": str(int(NOON_S + 7200)),
    "resv_nodes": "(v1:ncpus=8)+(v2:ncpus=8)",
    "Reserve_Owner": "DOM\\carol@host",
    "Resource_List.ncpus": "16",
}


async def test_reservations_are_listed_and_lead_to_their_jobs(backend: ScriptedBackend, audit: Path) -> None:
    status = with_job(backend.server_status, "20.hpc1", a_job("carol", 4, queue="R77"))
    backend.server_status = changed(status, reservations={"R77.hpc1": R77, "R78.hpc1": {"reserve_state": "10"}})
    async with open_console(backend, audit, (160, 30)) as steered:
        assert "0 reservations 2" in steered.text
        await steered.press("0")
        (line,) = [line for line in steered.screen_lines if "R77.hpc1" in line]
        for words in ("confirmed", "DOM\\carol", "in 60 min", "16", "v[1-2]"):
            assert words in line or words.replace("60 min", "1 h 00") in line
        assert "degraded" in steered.text
        await steered.command("filter owner:carol")
        await steered.press("enter")
        assert steered.main.view_name == "jobs"
        assert any(line.strip(" ▸").startswith("20 ") for line in steered.screen_lines)


async def test_without_reservations_there_is_no_tab_but_the_view_says_so(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (160, 30)) as steered:
        assert "reservations" not in steered.text
        await steered.command("reservations")
        assert "the server has no reservation: pbs_rsub makes one" in steered.text
        await steered.press("tab")
        assert steered.main.view_name in ("overview", "queues")


def test_every_state_has_words() -> None:
    assert state_of({"reserve_state": "5", "reserve_substate": "5"}) == "running"
    assert state_of({"reserve_state": "99"}) == "99"
    assert state_of({}) == "?"


def test_a_reservation_that_runs_without_some_of_its_vnodes_is_degraded_too() -> None:
    assert state_of({"reserve_state": "5", "reserve_substate": "10"}) == "running, degraded"
    assert state_of({"reserve_state": "10", "reserve_substate": "10"}) == "degraded"
