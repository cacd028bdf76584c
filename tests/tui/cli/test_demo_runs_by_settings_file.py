"""A policy tried on the demo: the file that was named is the one that its hooks run by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tui.cli.main import main
from tui.cli.open_backend import open_any, open_demo

POLICY = """
[quota]
counted = ["mem"]
[alerts]
command = ["/nowhere/mail", "root"]
[server]
journal_group = "chem"
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


@pytest.mark.parametrize("command", [("status",), ("jobs",), ("do", "stop", "workq", "--preview"), ("audit",)])
def test_a_bad_file_is_refused_on_the_demo_as_anywhere(tmp_path: Path, command: tuple[str, ...]) -> None:
    absent = tmp_path / "absent.toml"
    result = run(*command, "--demo", "--settings", str(absent))
    assert result.exit_code == 1
    assert f"{absent}: cannot be read: No such file or directory" in result.output
    absent.write_text("[quota]\ndelay_s = -1\n")
    result = run(*command, "--demo", "--settings", str(absent))
    assert (result.exit_code, "quota.delay_s = -1" in result.output) == (1, True)


def test_the_demo_decides_by_the_file(policy: Path) -> None:
    def over_quota(*more: str) -> int:
        jobs = json.loads(run("jobs", "--demo", "--columns", "id,why", "--json", *more).output)["rows"]
        return sum("of a quota of" in job["why"] for job in jobs)

    assert over_quota() > 0
    assert over_quota("--settings", str(policy)) == 0, "there is no quota on memory"


def test_its_hooks_run_by_the_file_but_tell_nobody_outside(policy: Path) -> None:
    demo = open_demo(settings=policy)
    try:
        demo.step()
        settings = demo.settings()
        assert settings.quota.counted == ("mem",)
        assert (settings.alerts.command, settings.server.journal_group) == ((), "")
        applied = json.loads((demo.journal.changes.parent / "last-pass.json").read_text())["settings"]
        assert applied["quota"]["counted"] == ["mem"]
    finally:
        demo.close()


def test_a_demo_for_want_of_a_server_runs_by_it_too(policy: Path) -> None:
    backend, simulation = open_any({"PBS_CONF_FILE": "/nonexistent"}, "", policy)
    assert simulation is not None
    assert simulation.settings().quota.counted == ("mem",)
    backend.close()
