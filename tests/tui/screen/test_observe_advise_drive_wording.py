"""What a mode leaves undone is said as what would be: in previews, tables, the plan and explanations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend

WORDS = {
    "observe": (
        "would start 4",
        "would be preempted for 13",
        "would be preempted for",
        "observe: nothing of this is carried out",
    ),
    "advise": ("would start 4", "to be preempted for 13", "is preempted for", "advise: PBS's scheduler starts jobs"),
    "drive": ("starts 4", "to be preempted for 13", "is preempted for", ""),
}


@pytest.mark.parametrize("mode", WORDS)
async def test_each_mode_speaks_of_what_it_does(tmp_path: Path, mode: str) -> None:
    backend = ScriptedBackend()
    backend.set_queue("workq", **{"resources_available.pbsteer_mode": mode})
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=12],[u:bob=8],[u:PBS_GENERIC=2]"})
    this_pass, in_table, in_preview, note = WORDS[mode]
    async with open_console(backend, tmp_path / "audit.jsonl", (140, 40)) as steered:
        await steered.until_shown(this_pass)
        await steered.press("5")
        await steered.until_shown("backfills in the next" if mode == "drive" else "would backfill in the next")
        await steered.command("quota workq alice 4")
        await steered.until_shown("in the next pass", in_preview, f"workq is in {note}" if note else "")
        assert mode == "drive" or "workq is in" in steered.text
        assert ("would be preempted" in steered.text) == (mode == "observe")
        await steered.press("escape")
        backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=4],[u:bob=8],[u:PBS_GENERIC=2]"})
        await steered.repoll()
        await steered.until_shown(in_table)
        assert ("not carried out: starts as soon as" in steered.text) == (mode == "observe")
        await steered.press("7")
        await steered.until_shown("would start" if mode != "drive" else "starts")
        assert ("would preempt" in steered.text) == (mode == "observe")
        await steered.command("job 13")
        await steered.until_shown("13 bob")
        assert ("but" in steered.text.split()) == (mode != "drive")
        assert ("not carried out: starts as soon as" in steered.text) == (mode == "observe")
        assert ("would be victim" in steered.text) == (mode == "observe")
