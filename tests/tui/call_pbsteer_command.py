"""The command line under test: every command looks at one scripted server."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.tui.scripted_server import ScriptedBackend
from tui.cli.main import main


def script_commands(monkeypatch: pytest.MonkeyPatch, state: Path) -> ScriptedBackend:
    """The server that all commands find from now on, the user's own state being in ``state``."""
    scripted = ScriptedBackend()
    for module in (
        "tui.cli.read_commands.cluster_status",
        "tui.cli.read_commands.explain_job",
        "tui.cli.change_commands.quota_show_set_and_priority",
        "tui.cli.change_commands.run_operation",
    ):
        monkeypatch.setattr(f"{module}.open_backend_by_options", lambda **_: scripted)
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return scripted


def run(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=typed)
