"""Changing a quota from the screen: its line and effects are seen first, others' changes stay, one key undoes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.console_under_test import Steered, open_console
from tests.tui.scripted_server import ScriptedBackend
from tui.operations.confirmation.read_only_until_unlocked import UNLOCK_S
from tui.screen.dialogs.operation_dialog import OperationDialog


async def open_dialog(steered: Steered, cores: str) -> None:
    """On alice's quota, who is the first of the quotas view, with a number looked at."""
    await steered.press("6", "e")
    await steered.type(cores)
    await steered.until(lambda: "working out" not in steered.text, "the preview")


async def test_the_console_is_read_only_until_unlocked_and_again_after_a_while(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit) as steered:
        await open_dialog(steered, "16")
        await steered.press("a")
        assert "read-only" in steered.text
        assert backend.lines == []
        await steered.press("escape", "u")
        assert f"UNLOCKED {UNLOCK_S:.0f} s" in steered.screen_lines[0]
        steered.elapsed_s += UNLOCK_S + 1
        await open_dialog(steered, "16")
        await steered.press("a")
        assert backend.lines == []


async def test_a_quota_is_changed_after_its_line_and_its_effects_were_seen(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        assert "set queue workq max_run_res_soft.ncpus += [u:alice=16]" in steered.text
        assert "in the next pass" in steered.text
        assert backend.lines == []
        await steered.press("a")
        await steered.until_shown("alice 4 → 16 in workq: done, verified · z undoes it")
        assert backend.lines == ["qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:alice=16]'"]
        stages = [json.loads(line)["stage"] for line in audit.read_text().splitlines()]
        assert stages == ["sending", "done"]
        await steered.until_shown("free 4")


async def test_leaving_the_dialog_changes_nothing(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        await steered.press("escape")
        assert not isinstance(steered.console.screen, OperationDialog)
        assert backend.lines == []
        assert not audit.exists()


async def test_another_number_is_looked_at_before_it_is_applied(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        await steered.press("e")
        await steered.type("32")
        await steered.until_shown("[u:alice=32]")
        await steered.press("a")
        await steered.until_shown("alice 4 → 32 in workq: done")


@pytest.mark.parametrize(("typed", "says"), [("-5", "allowed is a whole number"), ("4", "already has 4")])
async def test_a_number_that_cannot_be_is_reported_in_the_dialog(
    backend: ScriptedBackend, audit: Path, typed: str, says: str
) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("6", "e")
        await steered.type(typed)
        assert says in steered.text


async def test_undo_takes_the_last_change_back_once(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("z")
        assert "no change made from this console is left to undo" in steered.text
        await steered.press("u")
        await open_dialog(steered, "16")
        await steered.press("a")
        await steered.until_shown("z undoes it")
        await steered.press("z")
        await steered.until_shown("in the next pass")
        assert "[u:alice=4]" in steered.text
        assert len(backend.lines) == 1, "z alone changes nothing"
        await steered.press("a")
        await steered.until_shown("undone: alice 4 → 16 in workq: back at 4, verified")
        assert "z undoes it" not in steered.text
        assert backend.server_status.queues["workq"]["max_run_res_soft.ncpus"].count("alice=4") == 1


async def test_a_value_changed_by_someone_else_is_not_overwritten(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=99]"})
        await steered.press("a")
        await steered.until_shown("it was changed meanwhile")
        assert backend.lines == []


async def test_what_pbs_refuses_is_on_the_screen(audit: Path) -> None:
    backend = ScriptedBackend(refusal="Unauthorized Request")
    async with open_console(backend, audit) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        await steered.press("a")
        await steered.until_shown("PBS refused: Unauthorized Request")


async def test_a_quota_is_changed_by_command_for_a_user_without_jobs(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("u")
        await steered.command("quota workq zoe 12")
        await steered.until_shown("[u:zoe=12]")
        await steered.press("a")
        await steered.until_shown("zoe none → 12 in workq: done")
        await steered.command("quota nosuch zoe 12")
        assert "queue 'nosuch'" in steered.text
        await steered.command("quota workq")
        assert "quota: QUEUE USER CORES" in steered.text
