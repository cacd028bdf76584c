"""How the views look, at two sizes and without Unicode: the same seed and clocks draw the same picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.scripted import ScriptedSimulation
from tests.tui.steering import a_console

SIZES = {"80x24": (80, 24), "160x48": (160, 48)}
KEYS = {"overview": "1", "jobs": "5", "quotas": "6"}


@pytest.fixture(autouse=True)
def _one_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.core.durations._local", _utc)


def _utc(time_s: float) -> Any:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(time_s, tz=timezone.utc)


@pytest.mark.parametrize("view", KEYS)
@pytest.mark.parametrize("size", SIZES)
def test_a_view_looks_as_it_did(snap_compare: Any, tmp_path: Path, view: str, size: str) -> None:
    console = a_console(ScriptedSimulation(), tmp_path / "audit.jsonl", [])

    async def settle(pilot: Pilot[None]) -> None:
        while console.main.world is None or console.main.world.decision is None:
            await pilot.pause(0.01)
        await pilot.press(KEYS[view])
        await pilot.pause()

    assert snap_compare(console, terminal_size=SIZES[size], run_before=settle)


def test_the_overview_in_ascii_looks_as_it_did(snap_compare: Any, tmp_path: Path) -> None:
    console = a_console(ScriptedSimulation(), tmp_path / "audit.jsonl", [], ascii_only=True)

    async def settle(pilot: Pilot[None]) -> None:
        while console.main.world is None or console.main.world.decision is None:
            await pilot.pause(0.01)
        await pilot.pause()

    assert snap_compare(console, terminal_size=(80, 24), run_before=settle)
