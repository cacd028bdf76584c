"""Pausing pbsteer from the screen: looked at, confirmed, undone and refused as other changes to the server are."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.pbs.custom_resources import PAUSED, PAUSED_ATTRIBUTE
from tests.tui.console_under_test import open_console
from tests.tui.operate_on_screen import confirm, looking, stages, undo
from tests.tui.scripted_server import ScriptedBackend, changed
from tui.config.production_servers_and_server_list import Site

PAUSE = f"qmgr -c 'set server {PAUSED_ATTRIBUTE} = \"water in row 4\"'"
RESUME = f"qmgr -c 'unset server {PAUSED_ATTRIBUTE}'"


@pytest.fixture(autouse=True)
def _with_the_resource(backend: ScriptedBackend) -> None:
    backend.server_status = changed(
        backend.server_status, resources={**backend.server_status.resources, PAUSED: {"type": "string"}}
    )


async def test_a_pause_is_looked_at_confirmed_and_undone(backend: ScriptedBackend, audit: Path) -> None:
    async with looking(backend, audit, "pause-pbsteer water in row 4") as steered:
        assert PAUSE in steered.text
        assert "nothing is started or preempted by pbsteer, in any mode" in steered.text
        assert backend.lines == []
        await confirm(steered)
        await steered.until_shown("pause pbsteer: done, verified · z undoes it")
        assert backend.lines == [PAUSE]
        assert backend.server_status.server[PAUSED_ATTRIBUTE] == "water in row 4"
        assert stages(audit) == ["sending", "done"]
        await undo(steered)
        await steered.until_shown("undone: pause pbsteer")
        assert PAUSED_ATTRIBUTE not in backend.server_status.server


async def test_a_pause_is_ended(backend: ScriptedBackend, audit: Path) -> None:
    backend.server_status = changed(
        backend.server_status, server={**backend.server_status.server, PAUSED_ATTRIBUTE: "water"}
    )
    async with looking(backend, audit, "resume-pbsteer") as steered:
        assert RESUME in steered.text
        await confirm(steered)
        await steered.until_shown("resume pbsteer: done, verified")
        assert PAUSED_ATTRIBUTE not in backend.server_status.server


async def test_what_cannot_be_done_is_reported(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.command("resume-pbsteer")
        assert "pbsteer is not paused by name" in steered.text
    async with looking(backend, audit, 'pause-pbsteer "quoted"') as steered:
        assert "printable ASCII characters, no quotes" in steered.text
        assert backend.lines == []


async def test_nothing_is_paused_while_locked(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.command("pause-pbsteer water")
        await confirm(steered)
        assert "read-only: u unlocks" in steered.text
        assert backend.lines == []


async def test_a_production_server_asks_for_its_name(backend: ScriptedBackend, audit: Path) -> None:
    site = Site(frozenset({"hpc1"}))
    async with looking(backend, audit, "pause-pbsteer water in row 4", site=site) as steered:
        await confirm(steered)
        assert backend.lines == []
        await steered.type("hpc1")
        await steered.until_shown("pause pbsteer: done, verified")
        assert backend.lines == [PAUSE]
