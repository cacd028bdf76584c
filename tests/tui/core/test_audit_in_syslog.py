"""A change that nobody knows the outcome of goes to the host's syslog, from the console that sent it or the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.syslog import WARNING
from tui.core import audit as audit_module
from tui.core.audit import UNCONFIRMED, Actor, AuditLog
from tui.core.unconfirmed import tell_unconfirmed

COMMAND = "qdel 13.s"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    lines: list[tuple[str, int]] = []
    monkeypatch.setattr(audit_module, "send_line", lambda text, severity: lines.append((text, severity)))
    return lines


def write(log: AuditLog, *stages: str) -> None:
    for stage in stages:
        log.write(1_795_000_000.0, stage, COMMAND, before="Q", after="F", reply="", change="1a2b3c4d")


def test_a_change_without_an_answer_is_told_and_others_are_not(tmp_path: Path, sent: list[tuple[str, int]]) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", Actor("eve", "10.0.0.7 port 22"), "hpc1", in_syslog=True)
    write(log, "sending", "done", "sending", "failed", "refused")
    assert sent == []
    write(log, "sending", UNCONFIRMED)
    ((text, severity),) = sent
    assert severity == WARNING
    assert "sent to hpc1 and never confirmed: qdel 13.s, by eve from 10.0.0.7 port 22" in text


def test_one_whose_console_was_killed_is_told_once_by_the_next(tmp_path: Path, sent: list[tuple[str, int]]) -> None:
    write(AuditLog(tmp_path / "audit.jsonl", Actor("eve", "here"), "hpc1", in_syslog=True), "sending")
    for _ in range(2):
        after = AuditLog(tmp_path / "audit.jsonl", Actor("eve", "here"), "hpc1", in_syslog=True)
        tell_unconfirmed(after, lambda: 1_795_000_100.0)
    assert len(sent) == 1


def test_a_simulated_server_tells_nobody(tmp_path: Path, sent: list[tuple[str, int]]) -> None:
    write(AuditLog(tmp_path / "audit.jsonl", Actor("eve", "here"), "demo"), "sending", UNCONFIRMED)
    assert sent == []
