"""A change whose outcome nobody knows reaches syslog and the site's command, once, from its user's own process."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from hooks.alerts.syslog import WARNING
from hooks.pbs.files_and_output.only_root_can_write import find_other_writers
from tests.tui.scripted_server import ScriptedBackend
from tui.audit.audit_file import UNCONFIRMED, Actor, AuditLog
from tui.audit.unconfirmed_changes import report_unconfirmed
from tui.operations import alert_site_of_unknown_outcome as site_alert
from tui.operations.alert_site_of_unknown_outcome import alert_site, find_command, site_alert_of

COMMAND = "qdel 13.s"
OF_HOOKS, OF_HOST = "/usr/bin/tee", "/bin/cat"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    lines: list[tuple[str, int]] = []
    monkeypatch.setattr(site_alert, "send_line", lambda text, severity: lines.append((text, severity)))
    return lines


def write(log: AuditLog, *stages: str) -> None:
    for stage in stages:
        log.write(1_795_000_000.0, stage, COMMAND, before="Q", after="F", reply="", change="1a2b3c4d")


def wait_for(path: Path, text: str) -> None:
    until_s = time.monotonic() + 30
    while not path.exists() or text not in path.read_text():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def test_a_change_without_an_answer_is_reported_and_others_are_not(tmp_path: Path) -> None:
    told: list[str] = []
    log = AuditLog(tmp_path / "audit.jsonl", Actor("eve", "10.0.0.7 port 22"), "hpc1", alert=told.append)
    write(log, "sending", "done", "sending", "failed", "refused")
    assert told == []
    write(log, "sending", UNCONFIRMED)
    (text,) = told
    assert "sent to hpc1 and never confirmed: qdel 13.s, by eve from 10.0.0.7 port 22" in text


def test_one_whose_console_was_killed_is_told_once_by_the_next(tmp_path: Path) -> None:
    told: list[str] = []
    path = tmp_path / "audit.jsonl"
    write(AuditLog(path, Actor("eve", "here"), "hpc1", alert=told.append), "sending")
    for _ in range(2):
        report_unconfirmed(AuditLog(path, Actor("eve", "here"), "hpc1", alert=told.append), lambda: 1_795_001_000.0)
    assert len(told) == 1


def test_of_a_simulated_server_nobody_is_told(backend: ScriptedBackend) -> None:
    assert site_alert_of(backend) is not None
    backend.simulated = True
    assert site_alert_of(backend) is None


def test_syslog_and_the_command_get_it_as_one_line_as_this_user(tmp_path: Path, sent: list[tuple[str, int]]) -> None:
    got = tmp_path / "got"
    script = 'cat > "$0"; { id -u; env; pwd; } >> "$0"'
    alert_site("sent to hpc1\nand never confirmed", ("/bin/sh", "-c", script, str(got)))
    wait_for(got, "PWD=/")
    lines = got.read_text().splitlines()
    assert lines[0].endswith(": sent to hpc1\\nand never confirmed")
    assert lines[1] == str(os.getuid())
    assert {line.partition("=")[0] for line in lines[2:-1]} <= {"PATH", "HOME", "LANG", "PWD", "SHLVL", "OLDPWD", "_"}
    assert sent == [("sent to hpc1\\nand never confirmed", WARNING)]


def test_a_command_that_cannot_be_run_or_fails_is_reported_in_syslog(
    tmp_path: Path, sent: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("#!/bin/sh\n")
    theirs.chmod(0o777)
    monkeypatch.setattr(site_alert, "TIME_LIMIT_S", 0.2)
    for argv, problem in (
        ((str(theirs),), "not run: "),
        (("/bin/sh", "-c", "exit 3"), "ended with 3"),
        (("/bin/sleep", "60"), "killed, since it took longer than 0.2 s"),
    ):
        sent.clear()
        begun_s = time.monotonic()
        alert_site("x", argv)
        while len(sent) < 2:
            assert time.monotonic() - begun_s < 30
            time.sleep(0.02)
        assert problem in sent[1][0]
        assert argv[0] in sent[1][0]


def publish(path: Path, settings: dict[str, Any], mode: int = 0o640) -> Path:
    path.write_text(json.dumps({"settings": settings}))
    path.chmod(mode)
    return path


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way to a test's folder is no matter here, the file itself is."""
    real = find_other_writers

    def judge(path: str) -> str:
        fault = real(path)
        return fault if Path(path).name in fault else ""

    monkeypatch.setattr(site_alert, "find_other_writers", judge)


def test_the_command_is_the_hooks_else_the_hosts_else_none(tmp_path: Path, trusting: None) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(f'[alerts]\ncommand = ["{OF_HOST}"]\n')
    policy.chmod(0o644)
    last_pass = tmp_path / "last-pass.json"
    assert find_command(last_pass, policy) == (OF_HOST,)
    publish(last_pass, {"alerts": {"command": [OF_HOOKS]}})
    assert find_command(last_pass, policy) == (OF_HOOKS,)
    publish(last_pass, {})
    assert find_command(last_pass, policy) == ()
    last_pass.unlink()
    policy.write_text("[alerts\n")
    assert find_command(last_pass, policy) == ()


def test_no_command_is_taken_from_a_file_that_others_than_root_may_write(tmp_path: Path) -> None:
    if os.getuid():
        pytest.skip("needs root: only a root-owned folder can be one that nobody else may write")
    folder = Path("/run/pbsteer-test-site-alert")
    folder.mkdir(mode=0o755)
    try:
        last_pass = publish(folder / "last-pass.json", {"alerts": {"command": [OF_HOOKS]}})
        none = folder / "none.toml"
        assert find_command(last_pass, none) == (OF_HOOKS,)
        last_pass.chmod(0o666)
        assert find_command(last_pass, none) == ()
        last_pass.chmod(0o640)
        folder.chmod(0o777)
        assert find_command(last_pass, none) == ()
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
