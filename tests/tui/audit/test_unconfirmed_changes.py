"""A change that another console has just sent is no unconfirmed one yet: it is neither reported nor marked."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.tui.scripted_server import NOON_S
from tui.audit.audit_file import Actor, AuditLog
from tui.audit.unconfirmed_changes import LONGEST_CHANGE_S, report_unconfirmed
from tui.backends.pbs.server import WRITE_TIMEOUT_S
from tui.backends.reader_or_programs.server_by_reader_or_programs import READ_TIMEOUT_S


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def log(tmp_path: Path, told: list[str]) -> AuditLog:
    return AuditLog(tmp_path / "audit.jsonl", Actor("root", "here"), "hpc1", alert=told.append)


def send(log: AuditLog, at_s: float, stage: str = "sending") -> None:
    log.write(at_s, stage, "qrerun 11.hpc1", before="running", after="changed", reply="", change="ab12")


def test_a_command_that_is_on_its_way_is_not_reported(log: AuditLog, told: list[str]) -> None:
    send(log, NOON_S)
    for now_s in (NOON_S, NOON_S + 2, NOON_S + LONGEST_CHANGE_S - 1):
        assert report_unconfirmed(log, partial(float, now_s)) == ""
    send(log, NOON_S + 5, "done")
    assert report_unconfirmed(log, lambda: NOON_S + LONGEST_CHANGE_S) == ""
    assert (told, [entry["stage"] for entry in log.entries()]) == ([], ["sending", "done"])


def test_one_without_an_outcome_is_reported_once_no_command_can_last_so_long(log: AuditLog, told: list[str]) -> None:
    send(log, NOON_S)
    assert "qrerun 11.hpc1" in report_unconfirmed(log, lambda: NOON_S + LONGEST_CHANGE_S)
    assert report_unconfirmed(log, lambda: NOON_S + 2 * LONGEST_CHANGE_S) == ""
    assert len(told) == 1


def test_a_line_from_the_future_or_without_a_time_is_reported(log: AuditLog) -> None:
    send(log, NOON_S)
    assert report_unconfirmed(log, lambda: NOON_S - 3600)
    log.path.write_text('{"stage": "sending", "change": "cd34", "command": "qdel 1", "server": "hpc1"}\n')
    assert report_unconfirmed(log, lambda: NOON_S)


def test_a_command_and_its_readback_take_less_than_that() -> None:
    longest_by_torque_s = 302.0
    assert max(WRITE_TIMEOUT_S, longest_by_torque_s) + READ_TIMEOUT_S < LONGEST_CHANGE_S
