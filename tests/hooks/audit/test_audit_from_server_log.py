"""The shared audit: every request of a manager once, whatever passes are killed or logs are turned."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from hooks.audit import audit_from_server_log
from hooks.audit.audit_from_server_log import CURSOR, copy_changes, copy_server_changes
from hooks.audit.shared_audit_file import CHANGES, RECORDED
from hooks.store.state_files import State
from tests.hooks.sample_server_statuses import server_status
from tests.hooks.stand_in import pbs_ifl

NOON_S = time.mktime((2026, 11, 22, 12, 0, 0, 0, 0, -1))
DAY_S = 86_400
TODAY, TOMORROW = "20261122", "20261123"


def line(text: str, at_s: float = NOON_S - 60) -> str:
    return f"{time.strftime('%m/%d/%Y %H:%M:%S', time.localtime(at_s))};0004;Server@hpc1;{text}\n"


def starts(queue: str, user: str = "alice", at_s: float = NOON_S - 60) -> str:
    head = line(f"Que;{queue};attributes set:  at request of {user}@login1", at_s)
    return head + line(f"Que;{queue};attributes set: started = True", at_s)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "server_logs"
    folder.mkdir()
    (folder / TODAY).write_text(starts("before"))
    return folder


@pytest.fixture
def state(tmp_path: Path, logs: Path) -> State:
    """A folder in which the first pass has been."""
    state = State(tmp_path / "pbsteer")
    state.path.mkdir()
    copy_changes(state, logs, (), NOON_S)
    return state


def add(logs: Path, text: str, day: str = TODAY) -> None:
    with (logs / day).open("a") as log:
        log.write(text)


def read(state: State) -> list[dict[str, Any]]:
    return [json.loads(each) for each in (state.path / CHANGES).read_text().splitlines()]


def queues(state: State) -> list[str]:
    return [entry["command"].split()[2] for entry in read(state)]


def test_it_begins_with_the_first_pass(state: State, logs: Path) -> None:
    assert read(state) == []
    add(logs, starts("a") + line("Req;;Type 9 request received from alice@login1, sock=17") + starts("b", "bob"))
    copy_changes(state, logs, (), NOON_S)
    copy_changes(state, logs, (), NOON_S)
    assert [(entry["user"], entry["origin"], entry["command"]) for entry in read(state)] == [
        ("alice", "login1", "set queue a started = True"),
        ("bob", "login1", "set queue b started = True"),
    ]
    assert read(state)[0]["stage"] == "done"


def test_a_request_that_is_being_written_waits_for_the_rest_of_it(state: State, logs: Path) -> None:
    head, rest = starts("a", at_s=NOON_S).splitlines(keepends=True)
    add(logs, head)
    copy_changes(state, logs, (), NOON_S + 1)
    assert read(state) == []
    add(logs, rest[:20])
    copy_changes(state, logs, (), NOON_S + 1)
    assert read(state) == []
    add(logs, rest[20:])
    copy_changes(state, logs, (), NOON_S + 3)
    assert [entry["command"] for entry in read(state)] == ["set queue a started = True"]


def test_a_new_day_has_a_new_log(state: State, logs: Path) -> None:
    add(logs, starts("late", at_s=NOON_S + DAY_S / 2 - 1))
    add(logs, starts("early", at_s=NOON_S + DAY_S / 2 + 60), TOMORROW)
    copy_changes(state, logs, (), NOON_S + DAY_S)
    assert queues(state) == ["late", "early"]
    recorded = state.read_published(CURSOR)
    assert (recorded["day"], recorded["offset"]) == (TOMORROW, (logs / TOMORROW).stat().st_size)


@pytest.mark.parametrize("is_recorded", [True, False])
def test_after_a_clock_that_was_ahead_the_changes_of_today_are_copied(
    state: State, logs: Path, is_recorded: bool
) -> None:
    """A year ahead for two passes, each with a change; not even the first of them may be copied twice."""
    ahead_s = NOON_S + 365 * DAY_S
    future = time.strftime("%Y%m%d", time.localtime(ahead_s))
    add(logs, starts("a"))
    copy_changes(state, logs, (), NOON_S)
    for name in ("b", "c"):
        add(logs, starts(name, at_s=ahead_s), future)
        copy_changes(state, logs, (), ahead_s + 60)
    if not is_recorded:
        (state.path / CURSOR).unlink()
    add(logs, starts("d", at_s=NOON_S + 60))
    copy_changes(state, logs, (), NOON_S + 120)
    add(logs, starts("e", at_s=NOON_S + 180))
    copy_changes(state, logs, (), NOON_S + 240)
    assert queues(state) == ["a", "b", "c", "d", "e"]


def test_a_pass_that_was_killed_before_it_remembered_copies_nothing_twice(state: State, logs: Path) -> None:
    remembered = (state.path / CURSOR).read_bytes()
    add(logs, starts("a"))
    copy_changes(state, logs, (), NOON_S)
    (state.path / CURSOR).write_bytes(remembered)
    add(logs, starts("b"))
    copy_changes(state, logs, (), NOON_S)
    assert queues(state) == ["a", "b"]


def test_a_long_log_is_read_in_pieces(state: State, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"q{number:03}" for number in range(50)]
    add(logs, "".join(starts(name) for name in names))
    monkeypatch.setattr(audit_from_server_log, "_MOST_BYTES", 700)
    copy_changes(state, logs, (), NOON_S)
    assert 0 < len(read(state)) < 50
    for _ in range(50):
        copy_changes(state, logs, (), NOON_S)
    assert queues(state) == names


def test_a_line_that_was_cut_off_swallows_none(state: State, logs: Path) -> None:
    with (state.path / CHANGES).open("a") as file:
        file.write('{"time": "2026-')
    add(logs, starts("a"))
    copy_changes(state, logs, (), NOON_S)
    assert json.loads((state.path / CHANGES).read_text().splitlines()[-1])["command"] == "set queue a started = True"


def test_a_full_file_gets_its_time_into_its_name(state: State, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_from_server_log, "FULL_BYTES", 10)
    for name in ("a", "b"):
        add(logs, starts(name))
        copy_changes(state, logs, (), NOON_S)
    assert queues(state) == ["b"]
    (kept,) = state.path.glob("changes-2*.jsonl")
    assert '"set queue a started = True"' in kept.read_text()


def test_it_is_roots_alone_unless_a_group_is_named(state: State) -> None:
    assert stat.S_IMODE((state.path / CHANGES).stat().st_mode) == 0o600


def test_a_log_that_is_gone_or_cut_is_no_error(state: State, logs: Path) -> None:
    (logs / TODAY).write_text("")
    copy_changes(state, logs, (), NOON_S)
    (logs / TODAY).unlink()
    copy_changes(state, logs, (), NOON_S)
    assert read(state) == []


def test_a_restart_of_the_server_is_no_fault_and_its_log_is_read_later(
    state: State, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(logs, starts("workq"))
    with monkeypatch.context() as away:
        away.setattr(pbs_ifl, "pbs_connect", lambda server: -1)
        assert copy_server_changes(pbs_ifl, state, str(logs.parent), NOON_S) == []
    assert queues(state) == []
    pbs_ifl.WORLD.update(server_status().to_data())
    assert copy_server_changes(pbs_ifl, state, str(logs.parent), NOON_S) == []
    assert queues(state) == ["workq"]


def enable_hook(home: Path, attributes: str = "hook_name=pbsteer_management\nevent=management\n") -> Path:
    """PBS's files of an enabled hook."""
    folder = home / "server_priv" / "hooks"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pbsteer_management.PY").touch()
    (folder / "pbsteer_management.HK").write_text(attributes)
    return folder / "pbsteer_management.HK"


def test_of_objects_nothing_is_copied_that_the_hook_records(state: State, logs: Path, tmp_path: Path) -> None:
    """Whatever time a line claims: any user can write into the log."""
    file = enable_hook(tmp_path)
    os.utime(file, (NOON_S, NOON_S))
    add(logs, starts("early") + starts("late", at_s=NOON_S) + line("Job;7.s;Job to be deleted at request of olga@h"))
    pbs_ifl.WORLD.update(server_status(server={"name": "server", "operators": "olga@*"}).to_data())
    assert copy_server_changes(pbs_ifl, state, str(tmp_path), NOON_S + 60) == []
    assert [entry["command"] for entry in read(state)] == ["set queue early started = True", "qdel 7.s"]
    assert state.read_published(RECORDED) == {"since_s": NOON_S}
    os.utime(file, (NOON_S + 90, NOON_S + 90))
    add(logs, starts("forged") + line("Job;8.s;Job to be deleted at request of olga@h"))
    copy_server_changes(pbs_ifl, state, str(tmp_path), NOON_S + 120)
    assert [entry["command"] for entry in read(state)][2:] == ["qdel 8.s"]
    assert {entry["source"] for entry in read(state)} == {"log"}
    assert state.read_published(RECORDED) == {"since_s": NOON_S}


@pytest.mark.parametrize("gone", ["disabled", "deleted"])
def test_without_the_hook_objects_are_copied_and_the_audit_says_so(
    state: State, logs: Path, tmp_path: Path, gone: str
) -> None:
    pbs_ifl.WORLD.update(server_status().to_data())
    file = enable_hook(tmp_path)
    copy_server_changes(pbs_ifl, state, str(tmp_path), NOON_S)
    assert state.read_published(RECORDED)["since_s"] is not None
    if gone == "disabled":
        enable_hook(tmp_path, "hook_name=pbsteer_management\nenabled=false\n")
    else:
        file.unlink()
    add(logs, starts("a"))
    copy_server_changes(pbs_ifl, state, str(tmp_path), NOON_S)
    assert queues(state) == ["a"]
    assert state.read_published(RECORDED) == {"since_s": None}
