"""Options before a command's name: they reach the command, or are refused with a word on where they go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tui.call_pbsteer_command import run
from tests.tui.scripted_server import ScriptedBackend

MODULES = (
    "tui.cli.read_commands.cluster_status",
    "tui.cli.read_commands.explain_job",
    "tui.cli.read_commands.table_commands",
    "tui.cli.change_commands.quota_show_set_and_priority",
    "tui.cli.change_commands.run_operation",
)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """What the commands asked to open."""
    asked: list[dict[str, Any]] = []

    def remember(**options: Any) -> ScriptedBackend:
        asked.append(options)
        return ScriptedBackend()

    for module in MODULES:
        monkeypatch.setattr(f"{module}.open_backend_by_options", remember)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return asked


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("status", "--json"),
        ("jobs",),
        ("quota", "show", "workq"),
        ("do", "hold", "13", "--preview"),
        ("priority", "workq", "alice", "5", "--preview"),
    ],
)
def test_the_server_named_before_a_command_is_the_one_that_it_asks(
    opened: list[dict[str, Any]], words: tuple[str, ...]
) -> None:
    result = run("--server", "hpc2", "--settings", "site.toml", *words)
    assert result.exit_code == 0, result.output
    (asked,) = opened
    assert (asked["server"], asked["settings_path"], asked["demo"]) == ("hpc2", Path("site.toml"), False)


def test_the_option_after_the_command_wins(opened: list[dict[str, Any]]) -> None:
    run("--server", "hpc2", "status", "--server", "hpc3")
    assert opened[0]["server"] == "hpc3"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--json", "status"), "--json goes after the command: pbsteer status --json"),
        (("--theme", "light", "jobs"), "--theme before jobs: pbsteer jobs has no such option"),
        (("--server", "hpc2", "hooks", "plan"), "pbsteer hooks plan has no such option"),
        (("--demo", "check", "policy.toml"), "--demo before check"),
        (("--nonsense",), "No such option"),
    ],
)
def test_what_the_command_does_not_have_is_refused(
    opened: list[dict[str, Any]], words: tuple[str, ...], says: str
) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert says in result.output
    assert not opened


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("explain", "13"),
        ("jobs",),
        ("quota", "show"),
        ("quota", "set", "workq", "alice", "9", "--yes"),
        ("do", "hold", "13", "--yes"),
        ("pause", "--yes"),
    ],
)
def test_a_server_that_is_away_is_one_sentence_and_exit_status_2(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    for module in MODULES:
        away = ScriptedBackend(failure="the PBS server on hpc1 is down")
        monkeypatch.setattr(f"{module}.open_backend_by_options", lambda away=away, **_: away)
    result = run(*words)
    assert result.exit_code == 2
    assert result.output == "Error: the PBS server on hpc1 is down\n"
