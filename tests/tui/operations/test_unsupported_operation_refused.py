"""A manager that cannot do an operation says so, on the screen and on the command line, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tui.call_pbsteer_command import run, script_commands
from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend
from tui.backends.pbs.build_change_commands import PbsCommands

NO_LIMITS = "this manager has no soft limits"
NO_MOVES = "this manager cannot move jobs"


class LesserCommands(PbsCommands):
    """A manager that lacks some of what PBS can do."""

    unsupported: Mapping[str, str] = {"quota": NO_LIMITS, "move": NO_MOVES, "hold": "no operator holds"}


async def test_the_screen_gives_the_reason_instead_of_a_dialog(audit: Path) -> None:
    async with open_console(ScriptedBackend(commands=LesserCommands()), audit, (120, 40)) as steered:
        await steered.press("u")
        await steered.command("quota workq alice 9")
        assert f"quota: {NO_LIMITS}" in steered.text
        await steered.command("move gpu 13")
        assert f"move: {NO_MOVES}" in steered.text
        await steered.press("6", "e")
        assert f"quota: {NO_LIMITS}" in steered.text


async def test_the_menu_shows_the_reason_beside_the_operation(audit: Path) -> None:
    async with open_console(ScriptedBackend(commands=LesserCommands()), audit, (120, 40)) as steered:
        await steered.press("5", "a")
        await steered.until_shown("no operator holds", NO_MOVES)


@pytest.mark.parametrize(
    ("words", "reason"),
    [(("quota", "set", "workq", "alice", "9"), NO_LIMITS), (("do", "move", "gpu", "13"), NO_MOVES)],
)
def test_the_command_line_gives_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    backend = script_commands(monkeypatch, tmp_path)
    backend.commands = LesserCommands()
    result = run(*words, "--yes")
    assert result.exit_code == 1
    assert reason in result.output
    assert backend.lines == []
