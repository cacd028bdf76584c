"""Pausing pbsteer from the screen: looked at, confirmed, undone and refused as other changes to the server are."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.pbs.resources import PAUSED, PAUSED_ATTRIBUTE
from tests.tui.acting import confirm, looking, stages
from tests.tui.scripted import ScriptedSource, changed
from tests.tui.steering import open_console
from tui.config.site import Site

PAUSE = f"qmgr -c 'set server {PAUSED_ATTRIBUTE} = \"water in row 4\"'"
RESUME = f"qmgr -c 'unset server {PAUSED_ATTRIBUTE}'"


@pytest.fixture(autouse=True)
def _with_the_resource(source: ScriptedSource) -> None:
    source.picture = changed(source.picture, resources={**source.picture.resources, PAUSED: {"type": "string"}})


async def test_a_pause_is_looked_at_confirmed_and_undone(source: ScriptedSource, audit: Path) -> None:
    async with looking(source, audit, "pause-pbsteer water in row 4") as steered:
        assert PAUSE in steered.text
        assert "nothing is started or preempted by pbsteer, in any mode" in steered.text
        assert source.lines == []
        await confirm(steered)
        await steered.until_shown("pause pbsteer: done, read back · z undoes it")
        assert source.lines == [PAUSE]
        assert source.picture.server[PAUSED_ATTRIBUTE] == "water in row 4"
        assert stages(audit) == ["sending", "done"]
        await steered.press("z")
        await steered.until_shown("undo: pause pbsteer")
        assert PAUSED_ATTRIBUTE not in source.picture.server


async def test_a_pause_is_ended(source: ScriptedSource, audit: Path) -> None:
    source.picture = changed(source.picture, server={**source.picture.server, PAUSED_ATTRIBUTE: "water"})
    async with looking(source, audit, "resume-pbsteer") as steered:
        assert RESUME in steered.text
        await confirm(steered)
        await steered.until_shown("resume pbsteer: done, read back")
        assert PAUSED_ATTRIBUTE not in source.picture.server


async def test_what_cannot_be_done_is_said(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit, (140, 40)) as steered:
        await steered.command("resume-pbsteer")
        assert "pbsteer is not paused by name" in steered.text
    async with looking(source, audit, 'pause-pbsteer "quoted"') as steered:
        assert "printable ASCII characters, no quotes" in steered.text
        assert source.lines == []


async def test_nothing_is_paused_while_locked(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit, (140, 40)) as steered:
        await steered.command("pause-pbsteer water")
        await confirm(steered)
        assert "read-only: u unlocks" in steered.text
        assert source.lines == []


async def test_a_production_server_asks_for_its_name(source: ScriptedSource, audit: Path) -> None:
    site = Site(frozenset({"hpc1"}))
    async with looking(source, audit, "pause-pbsteer water in row 4", site=site) as steered:
        await confirm(steered)
        assert source.lines == []
        await steered.type("hpc1")
        await steered.until_shown("pause pbsteer: done, read back")
        assert source.lines == [PAUSE]
