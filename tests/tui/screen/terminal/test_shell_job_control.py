"""ctrl+z goes back to a shell that can continue the console, and does nothing where none could."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend
from tui.screen.actions import command_line_theme_help_quit as actions
from tui.screen.app import Console

ASK = "from tui.screen.terminal.shell_job_control import has_shell_to_return_from as has; print(has())"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"process_group": 0}, "True", id="a job of a shell"),
        pytest.param({}, "False", id="of a script"),
        pytest.param({"start_new_session": True}, "False", id="of ssh or a terminal window"),
    ],
)
def test_only_a_shell_with_job_control_brings_it_back(options: dict[str, bool | int], expected: str) -> None:
    if options.pop("process_group", None) is not None:
        options = {"preexec_fn": os.setpgrp}  # type: ignore[dict-item]
    ran = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True, **options)  # type: ignore[call-overload]
    assert ran.stdout.strip() == expected


@pytest.mark.parametrize("shell", [True, False])
async def test_the_key_stops_the_console_or_says_why_not(
    backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch, shell: bool
) -> None:
    stopped: list[bool] = []
    monkeypatch.setattr(actions, "has_shell_to_return_from", lambda: shell)
    monkeypatch.setattr(Console, "action_suspend_process", lambda _: stopped.append(True))
    async with open_console(backend, audit) as steered:
        await steered.press("ctrl+z")
        assert stopped == [True] * shell
        assert ("no shell started this console" in steered.text) is not shell
