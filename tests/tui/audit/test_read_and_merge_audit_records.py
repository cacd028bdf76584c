"""The audit view's list: the console's own file and the server's log as one, each change once."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from hooks.audit.shared_audit_file import RECORDED
from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, ScriptedBackend
from tests.tui.written_journal_and_audit import write_changes
from tui.audit.audit_file import UNCONFIRMED, Actor, AuditError, AuditLog
from tui.audit.read_and_merge_audit_records import (
    CONSOLE,
    LOG,
    REQUEST,
    find_problem,
    read_recorded_since_s,
    read_trail,
)
from tui.config.match_server_names import names_of
from tui.pages.cluster.changes_since_opened import changed_lines
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain

NAMES = ("hpc1",)


def test_each_change_is_one_record_the_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write_changes(path, "done", "failed", "refused", "sending")
    trail = read_trail(path, None, NAMES)
    assert [record.stage for record in trail] == [UNCONFIRMED, "refused", "failed", "done"]
    assert trail[1].reply == "Unauthorized"
    assert {(record.user, record.server, record.before, record.after) for record in trail} == {
        ("root", "hpc1", "32", "64")
    }


def test_the_same_command_again_is_another_record(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write_changes(path, "done", "done")
    write_changes(path, "sending")
    assert [record.stage for record in read_trail(path, None, NAMES)] == [UNCONFIRMED, "done", "done"]


COMMAND = "qmgr -c 'set queue workq started = True'"


def test_a_line_after_one_that_was_cut_off_is_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, Actor("root", "here"), "hpc1")
    log.write(NOON_S, "sending", "qhold 1", before="", after="", reply="", change="1")
    path.write_bytes(path.read_bytes()[:-20])
    log.write(NOON_S + 1, "sending", COMMAND, before="", after="", reply="", change="2")
    assert [(record.stage, record.command) for record in read_trail(path, None, NAMES)] == [(UNCONFIRMED, COMMAND)]
    assert [entry["change"] for entry in log.entries()] == ["2"]


def test_a_line_that_is_nested_without_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, Actor("root", "here"), "hpc1")
    log.write(NOON_S, "sending", COMMAND, before="", after="", reply="", change="1")
    with path.open("a") as file:
        file.write("[" * 100_000 + "\n")
    assert [entry["change"] for entry in log.entries()] == ["1"]
    assert len(read_trail(path, None, NAMES)) == 1


def test_a_link_in_the_files_place_is_not_followed_and_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "audit.jsonl", tmp_path / "elsewhere"
    path.symlink_to(elsewhere)
    log = AuditLog(path, Actor("root", "here"), "hpc1")
    with pytest.raises(AuditError, match=f"audit file {path}"):
        log.write(NOON_S, "sending", COMMAND, before="", after="", reply="")
    assert not elsewhere.exists()
    path.unlink()
    path.touch(0o644)
    log.write(NOON_S, "sending", COMMAND, before="", after="", reply="")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_lines_of_a_change_are_found_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, Actor("root", "here"), "hpc1")
    for number, stage, before in (("1", "sending", "a"), ("2", "sending", "b"), ("1", "failed", "a")):
        log.write(NOON_S, stage, COMMAND, before=before, after="", reply="", change=number)
    told = [(record.before, record.stage) for record in read_trail(path, None, NAMES)]
    assert told == [("b", UNCONFIRMED), ("a", "failed")]


def logged(at_s: float, user: str, command: str) -> str:
    """A line that a pass copied from the server's log."""
    time = datetime.fromtimestamp(at_s, tz=timezone.utc).isoformat(timespec="milliseconds")
    texts = {"stage": "done", "user": user, "origin": "login1", "server": "hpc1", "command": command}
    return (
        json.dumps({"time": time, **texts, "before": "", "after": "", "reply": "", "change": "", "log": "20261122:2"})
        + "\n"
    )


def test_all_administrators_changes_are_one_list(tmp_path: Path) -> None:
    own, shared = tmp_path / "audit.jsonl", tmp_path / "changes.jsonl"
    shared.touch(0o640)
    mine = AuditLog(own, Actor("root (sudo from eve)", "here"), "hpc1", shared)
    quota = "qmgr -c 'set queue workq max_run_res_soft.ncpus += \"[u:carol=64]\"'"
    mine.write(NOON_S, "sending", quota, before="32", after="64", reply="", change="1")
    mine.write(NOON_S + 1, "done", quota, before="32", after="64", reply="", change="1")
    hers = AuditLog(tmp_path / "other.jsonl", Actor("root (sudo from zoe)", "there"), "hpc1", shared)
    hers.write(NOON_S + 5, "sending", "qhold -h o 7.hpc1.site", before="n", after="o", reply="", change="2")
    with shared.open("a") as file:
        file.write(logged(NOON_S, "root", "set queue workq max_run_res_soft.ncpus += [u:carol=64]"))
        file.write(logged(NOON_S + 6, "root", "qhold -h o 7.hpc1"))
        file.write(logged(NOON_S + 7, "root", "set sched scheduling = true"))
        file.write(logged(NOON_S + 8, "alice", "set queue workq max_run_res_soft.ncpus += [u:carol=64]"))
        file.write(logged(NOON_S + 60, "root", "set queue workq max_run_res_soft.ncpus += [u:carol=64]"))
    told = [(record.user, record.stage, record.logged) for record in read_trail(own, shared, NAMES)]
    assert told == [
        ("root", "done", True),
        ("alice", "done", True),
        ("root", "done", True),
        ("root (sudo from zoe)", "done", False),
        ("root (sudo from eve)", "done", False),
    ]
    assert "never confirmed to the console" in read_trail(own, shared, NAMES)[3].reply
    assert stat.S_IMODE(shared.stat().st_mode) == 0o640
    assert read_trail(own, None, NAMES) == [read_trail(own, shared, NAMES)[-1]]


def test_a_shared_file_that_is_not_there_or_not_ours_changes_nothing(tmp_path: Path) -> None:
    own, shared = tmp_path / "audit.jsonl", tmp_path / "folder"
    shared.mkdir()
    log = AuditLog(own, Actor("alice", "here"), "hpc1", shared)
    log.write(NOON_S, "sending", COMMAND, before="", after="", reply="", change="1")
    absent = replace(log, shared=tmp_path / "absent")
    absent.write(NOON_S, "sending", COMMAND, before="", after="", reply="", change="2")
    assert not (tmp_path / "absent").exists()
    assert len(read_trail(own, shared, NAMES)) == len(read_trail(own, tmp_path / "absent", NAMES)) == 2
    assert (find_problem(tmp_path / "absent"), "Is a directory" in find_problem(shared)) == ("", True)


@pytest.mark.parametrize(
    ("console", "log"),
    [
        ("qmgr -c 'set sched default scheduling = true'", "set sched scheduling = true"),
        ("qmgr -c 'set sched default scheduling = true'", "set sched default scheduling = true"),
        ("qmgr -c 'set node v1 state += offline'", "set node v1 state += offline"),
        ("qdel 7.hpc1.site", "qdel 7.hpc1"),
        ("qmove long 7.hpc1", "qmove long 7.hpc1"),
    ],
)
def test_a_command_and_its_line_in_the_log_are_one_change(tmp_path: Path, console: str, log: str) -> None:
    own, shared = tmp_path / "audit.jsonl", tmp_path / "changes.jsonl"
    write_changes(own, "done", command=console)
    shared.write_text(logged(NOON_S - 3600, "root", log))
    assert [record.command for record in read_trail(own, shared, NAMES)] == [console]


def test_a_trail_has_the_changes_to_one_server_alone(tmp_path: Path) -> None:
    own, shared = tmp_path / "audit.jsonl", tmp_path / "changes.jsonl"
    write_changes(own, "done", "sending", command=COMMAND, server="demo")
    shared.write_text(logged(NOON_S - 3597, "root", "set queue workq started = True"))
    assert [(record.server, record.stage, record.logged) for record in read_trail(own, shared, NAMES)] == [
        ("hpc1", "done", True)
    ]
    assert read_trail(own, None, NAMES) == []
    assert [record.stage for record in read_trail(own, None, ("demo",))] == [UNCONFIRMED, "done"]


@pytest.mark.parametrize(
    ("written", "names", "is_found"),
    [
        ("hpc1", ("hpc1.site.org", "hpc1"), True),
        ("hpc1.site.org", ("hpc1",), True),
        ("HPC1.Site.org.", ("hpc1.site.org",), True),
        ("batch", ("hpc1.site.org", "hpc1", "batch"), True),
        ("hpc1.other.org", ("hpc1.site.org",), False),
        ("hpc10", ("hpc1",), False),
        ("", ("hpc1",), False),
    ],
)
def test_a_server_is_found_by_any_of_its_names(
    tmp_path: Path, written: str, names: tuple[str, ...], is_found: bool
) -> None:
    own = tmp_path / "audit.jsonl"
    write_changes(own, "done", server=written)
    assert bool(read_trail(own, None, names)) is is_found


def test_the_name_to_write_down_is_the_one_with_the_domain() -> None:
    assert names_of("hpc1", "hpc1.site.org", "batch") == ("hpc1.site.org", "batch")
    assert names_of("hpc1", "hpc2.site.org", "hpc1") == ("hpc1", "hpc2.site.org")
    assert names_of("hpc1.site.org", "hpc1", "") == ("hpc1.site.org",)


def test_lines_that_are_none_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    assert read_trail(path, None, NAMES) == []
    path.write_bytes(b'{"time": "yesterday"}\n[1]\n\xff\n{"stage": "done"}\nhalf a li\n')
    assert read_trail(path, None, NAMES) == []


def after_a_change() -> ClusterView:
    backend = ScriptedBackend()
    before = see(backend.server_status, Settings(), Ledger(), 0.0)
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=4],[u:bob=8],[u:PBS_GENERIC=2],[u:carol=64]"})
    return see(replace(backend.server_status, time_s=NOON_S + 5), Settings(), Ledger(), 0.0, before=before)


def test_what_changed_names_who_did_it_where_the_audit_file_tells(tmp_path: Path) -> None:
    cluster = after_a_change()
    assert any("u:carol in workq: ncpus none → 64" in plain(line) for line in changed_lines(cluster, [], 5))
    path = tmp_path / "audit.jsonl"
    write_changes(path, "done")
    records = [record._replace(time_s=NOON_S) for record in read_trail(path, None, NAMES)]
    told = [plain(line) for line in changed_lines(cluster, records, 5)]
    assert told[1].endswith("u:carol in workq: ncpus none → 64 by root from 10.0.0.7 port 50022")
    other = [record._replace(command=record.command.replace("carol", "bob")) for record in records]
    assert "by root" not in "".join(plain(line) for line in changed_lines(cluster, other, 5))


def test_more_changes_than_there_is_room_for_are_counted() -> None:
    backend = ScriptedBackend()
    cluster = see(backend.server_status, Settings(), Ledger(), 0.0)
    for number in range(6):
        backend.set_queue("workq", **{"max_run_res_soft.ncpus": f"[u:alice={10 + number}]"})
        server_status = replace(backend.server_status, time_s=NOON_S + number)
        cluster = see(server_status, Settings(), Ledger(), 0.0, before=cluster)
    told = [plain(line) for line in changed_lines(cluster, [], 4)]
    assert len(told) == 4
    assert told[-1] == "and 6 changes before"


def test_only_an_entry_that_a_pass_copied_counts_as_the_servers_log(tmp_path: Path) -> None:
    own, shared = tmp_path / "audit.jsonl", tmp_path / "changes.jsonl"
    sent = {"time": datetime.fromtimestamp(NOON_S, tz=timezone.utc).isoformat(), "stage": "sending", "user": "root"}
    sent = {**sent, "server": "hpc1", "command": COMMAND, "change": "1"}
    entry = {**sent, "stage": "done", "command": "set queue workq started = True", "change": ""}
    servers: tuple[dict[str, str], ...] = ({"log": "20261123:99"}, {"source": "request"})
    for forged, unconfirmed, claim in [(own, True, each) for each in servers] + [
        (shared, False, each) for each in servers
    ]:
        own.write_text(json.dumps(sent) + "\n")
        shared.write_text("")
        with forged.open("a") as file:
            file.write(json.dumps({**entry, **claim}) + "\n")
        trail = read_trail(own, shared, NAMES)
        assert any(record.stage == UNCONFIRMED for record in trail) is unconfirmed
        assert not any(record.logged for record in trail)
    shared.write_text(json.dumps({**entry, "log": "made up"}) + "\n")
    assert UNCONFIRMED in {record.stage for record in read_trail(own, shared, NAMES)}


def recorded(at_s: float, user: str, command: str, stage: str = "done", reply: str = "") -> str:
    """A line that the server's hook recorded."""
    entry = json.loads(logged(at_s, user, command))
    del entry["log"]
    return json.dumps({**entry, "stage": stage, "reply": reply, "source": "request"}) + "\n"


def test_each_change_says_whether_any_user_may_have_written_it(tmp_path: Path) -> None:
    own, shared = tmp_path / "audit.jsonl", tmp_path / "changes.jsonl"
    shared.write_text(recorded(NOON_S, "alice", "set queue a started = True") + logged(NOON_S + 1, "bob", "qdel 7.s"))
    own.write_text(recorded(NOON_S + 2, "eve", "set queue b started = True"))
    told = [(record.source, record.user, record.logged) for record in read_trail(own, shared, NAMES)]
    assert told == [(CONSOLE, "eve", False), (LOG, "bob", True), (REQUEST, "alice", True)]


def test_a_recorded_request_confirms_a_change_before_a_line_of_the_log_does(tmp_path: Path) -> None:
    own, shared = tmp_path / "audit.jsonl", tmp_path / "changes.jsonl"
    command = "set queue workq started = True"
    AuditLog(own, Actor("root", "here"), "hpc1").write(NOON_S, "sending", COMMAND, before="", after="", reply="")
    shared.write_text(logged(NOON_S + 1, "root", command) + recorded(NOON_S + 2, "root", command, "failed", "Unknown"))
    told = [(record.source, record.stage, record.reply) for record in read_trail(own, shared, NAMES)]
    assert told == [
        (LOG, "done", ""),
        (CONSOLE, "failed", "never confirmed to the console, but the server recorded it; Unknown"),
    ]


@pytest.mark.parametrize(
    ("text", "since_s"), [('{"since_s": 5.5}', 5.5), ('{"since_s": null}', None), ("[]", None), ("x", None)]
)
def test_the_begin_of_the_record_is_read_beside_it(tmp_path: Path, text: str, since_s: float | None) -> None:
    shared = tmp_path / "changes.jsonl"
    assert read_recorded_since_s(shared) is None
    (tmp_path / RECORDED).write_text(text)
    assert read_recorded_since_s(shared) == since_s
    assert read_recorded_since_s(None) is None
