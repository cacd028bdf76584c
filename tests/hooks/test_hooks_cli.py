"""``pbsteer hooks`` where something is not as it should be: one clear line, never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tui import hooks_cli

ENTRY: dict[str, Any] = {
    "time_s": 100.0,
    "modes": {"workq": "drive", "idle": "observe"},
    "acted": [],
    "seconds": {"read_s": 0.1, "decide_s": 0.2, "act_s": 0.0},
    "running": 3,
    "waiting": 2,
    "starts": [{}],
    "preempts": [],
    "started": [],
    "requeued": [],
    "notes": ["queue workq is not driven: \x1b[2J"],
    "failures": [],
}


def run(*words: str) -> Result:
    return CliRunner().invoke(hooks_cli.hooks, list(words))


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "pbs.conf"
    path.write_text(f'# a comment\nPBS_HOME="{tmp_path}"\nPBS_EXEC={tmp_path}/exec\nPBS_START_MOM=0\n')
    return path


def test_a_host_without_pbs_is_told(tmp_path: Path) -> None:
    result = run("status", "--pbs-conf", str(tmp_path / "pbs.conf"))
    assert result.exit_code == 1
    assert "No such file or directory: is this the PBS server's host?" in result.output


def test_a_configuration_without_a_home_is_told(tmp_path: Path) -> None:
    (tmp_path / "pbs.conf").write_text("PBS_EXEC=/opt/pbs\n")
    result = run("plan", "--pbs-conf", str(tmp_path / "pbs.conf"))
    assert "PBS_HOME is not set" in result.output


def test_a_qmgr_that_is_not_there_is_told(conf: Path) -> None:
    result = run("plan", "--pbs-conf", str(conf))
    assert result.exit_code == 1
    assert "exec/bin/qmgr: No such file or directory" in result.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[quota]\nvictim_order = 'tallest'\n", "quota.victim_order = 'tallest'; allowed is one of newest"),
        (b"nonsense = 1\n", "unknown key 'nonsense'"),
        (b"[quota\n", "site.toml"),
        (b"\xff\xfe", "site.toml"),
    ],
)
def test_settings_that_cannot_be_used_change_nothing(conf: Path, tmp_path: Path, text: bytes, words: str) -> None:
    (tmp_path / "site.toml").write_bytes(text)
    result = run("apply", "--pbs-conf", str(conf), "--policy", str(tmp_path / "site.toml"))
    assert result.exit_code == 1
    assert words in result.output
    assert "qmgr" not in result.output


def test_a_settings_file_that_is_not_there_is_named(conf: Path) -> None:
    result = run("plan", "--pbs-conf", str(conf), "--policy", "no-such.toml")
    assert "no-such.toml" in result.output


def test_the_last_pass_is_told_with_what_stands_in_the_way() -> None:
    told = "\n".join(hooks_cli._describe_last_pass(ENTRY, 107.0))
    assert "workq              drive, not driven: see below" in told
    assert (
        "last pass: 7 s ago, took 0.30 s; 3 jobs run, 2 wait; planned 1 starts and 0 preemptions; done: 0 and 0" in told
    )
    assert "\x1b" not in told


def test_before_the_first_pass_that_is_told() -> None:
    assert hooks_cli._describe_last_pass({}, 107.0) == ["last pass: none has been seen"]
