"""A quota change: the exact line, compare and set, what is read back, the way back, and the audit file."""

from __future__ import annotations

import json
import os
import pwd
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import Ledger, Settings
from policy.model.limit_attributes import EntityKey
from policy.quota_plan.planned_quotas import LimitKey
from tests.tui.scripted_server import NOON_S, PBS, ScriptedBackend, a_server_status
from tui.audit.audit_file import Actor, AuditLog, account_name, audit_path
from tui.backends.interface.backend_protocol import Reply
from tui.backends.interface.commands_interface import ChangeError, Target
from tui.model.typed_attributes import limit_entry, soft_limits
from tui.operations.by_target.soft_quota_priority_and_import_ops import import_quotas, set_quota
from tui.operations.compare_and_set import make, make_all
from tui.operations.status_edits_for_preview import edit_queue
from tui.quota_files.check_quota_rows_against_server import ReadQuota
from tui.quota_files.parse_typed_quota import parse_quota
from tui.state.cluster_view import ClusterView, see

CAROL = ("u", "carol")


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "state" / "audit.jsonl", Actor("root (sudo from eve)", "10.0.0.7 port 22"), "hpc1")


def cluster() -> ClusterView:
    return see(a_server_status(), Settings(), Ledger(), 0.0)


def stages(audit: AuditLog) -> list[str]:
    return [entry["stage"] for entry in audit.entries()]


def test_the_command_is_one_that_could_be_typed() -> None:
    (change,) = set_quota(cluster(), PBS, "workq", ("u", "alice"), 1024).changes
    assert change.line == "qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:alice=1024]'"
    (change,) = set_quota(cluster(), PBS, "workq", ("u", "alice"), None).changes
    assert change.line == "qmgr -c 'set queue workq max_run_res_soft.ncpus -= [u:alice=4]'"


def test_the_last_entries_of_a_limit_are_removed_by_unset() -> None:
    """PBS stores no ``-=`` that leaves none: the entries would be there again after a restart of its server."""
    place, soft = Target("queue", "workq"), "max_run_res_soft.ncpus"
    unset, two = f"unset queue workq {soft}", {soft: "[u:alice=4],[u:bob=8]"}
    both: dict[EntityKey, int | None] = {("u", "alice"): None, ("u", "bob"): None}
    change = PBS.set_limits(place, two, "ncpus", both)
    assert (change.argv[-1], change.back[-1]) == (unset, f'set queue workq {soft} += "[u:alice=4],[u:bob=8]"')
    assert PBS.set_limits(place, two, "ncpus", {("u", "bob"): None}).argv[-1] == f"set queue workq {soft} -= [u:bob=8]"
    first = PBS.set_limits(place, {}, "ncpus", {("u", "alice"): 4})
    assert (first.argv[-1], first.back[-1]) == (f"set queue workq {soft} += [u:alice=4]", unset)
    # An unset takes an entry that was added meanwhile too, so with one the value is another than was shown.
    assert first.readback.of(two) == "alice 4, bob 8"
    assert change.readback.of({soft: "[u:alice=4],[u:bob=8],[u:carol=1]"}) != change.before


def test_a_limit_that_cannot_be_read_is_never_unset() -> None:
    place, unreadable = Target("queue", "workq"), {"max_run_res_soft.ncpus": "[x:alice=4]"}
    for limit in (None, 4):
        change = PBS.set_limits(place, unreadable, "ncpus", {("u", "bob"): limit})
        assert "unset" not in change.argv[-1] + change.back[-1]


def test_of_many_removals_in_one_queue_the_one_that_leaves_none_is_an_unset() -> None:
    limits = ",".join(f"[u:user{number}=1]" for number in range(70))
    status = edit_queue(a_server_status(), "workq", {"max_run_res_soft.ncpus": limits})
    rows = [ReadQuota("", LimitKey("workq", "ncpus", ("u", f"user{number}")), None) for number in range(70)]
    changes = import_quotas(see(status, Settings(), Ledger(), 0.0), PBS, rows, "table.csv").changes
    assert [change.argv[-1].split()[0] for change in changes] == ["set", "unset"]


@given(st.one_of(st.none(), st.integers(0, 10**9).filter(lambda number: number != 4)))
def test_undoing_an_undo_is_the_change(after: int | None) -> None:
    (change,) = set_quota(cluster(), PBS, "workq", ("u", "alice"), after).changes
    undo = change.undo()
    assert undo is not None
    assert (undo.argv, undo.before, undo.after) == (change.back, change.after, change.before)
    assert undo.undo() == change


def test_a_change_starts_from_the_entry_itself_not_from_the_generic_one() -> None:
    assert set_quota(cluster(), PBS, "workq", CAROL, 16).changes[0].before == "none"
    assert set_quota(cluster(), PBS, "workq", ("u", "alice"), 16).changes[0].before == "4"


@pytest.mark.parametrize(
    "text", ["-1", "1.5", "lots", "", "1e3", "²", str(10**10), "9" * 5000, "1,5", "1_0", "12,34,567", ",100"]
)
def test_what_is_no_quota_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ChangeError, match="allowed is a whole number from 0"):
        parse_quota(text)


def test_numbers_may_be_typed_with_commas_and_none_takes_the_entry_away() -> None:
    assert (parse_quota(" 1,024 "), parse_quota("none")) == (1024, None)


@pytest.mark.parametrize(
    ("queue", "name", "after", "says"),
    [
        ("nosuch", "carol", 1, "the server has gpu, workq"),
        ("workq", "alice", 4, "already has 4"),
        ("workq", "x]=1],[u:root", 4, "no name that qmgr takes"),
        ("workq", "two words", 4, "no name that qmgr takes"),
        ("workq", "a" * 65, 4, "no name that qmgr takes: allowed are at most 64"),
        ("workq", "dom+bob", 4, "no name that qmgr takes"),
        ("workq", "ünï", 4, "no name that qmgr takes"),
    ],
)
def test_a_change_that_cannot_be_is_refused(queue: str, name: str, after: int, says: str) -> None:
    with pytest.raises(ChangeError, match=says):
        set_quota(cluster(), PBS, queue, ("u", name), after)


def test_a_name_with_a_dollar_sign_is_written_as_pbs_takes_it() -> None:
    change = set_quota(cluster(), PBS, "workq", ("u", "node7$"), 4).changes[0]
    assert change.argv[-1] == "set queue workq max_run_res_soft.ncpus += [u:node7$=4]"


def test_a_change_is_sent_read_back_and_written_down_before_and_after(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    outcome = make(backend, set_quota(cluster(), PBS, "workq", CAROL, 16).changes[0], audit, lambda: NOON_S)
    assert outcome.ok, outcome.text
    assert limit_entry(backend.server_status.queues["workq"], "ncpus", CAROL) == 16
    sending, done = audit.entries()
    assert (sending["stage"], done["stage"]) == ("sending", "done")
    assert done["command"] == backend.lines[0] == "qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:carol=16]'"
    assert (done["before"], done["after"]) == ("none", "16")
    assert (done["user"], done["origin"], done["server"]) == ("root (sudo from eve)", "10.0.0.7 port 22", "hpc1")


def test_the_other_entries_of_the_queue_are_left_alone(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    make(backend, set_quota(cluster(), PBS, "workq", ("u", "alice"), 16).changes[0], audit, lambda: NOON_S)
    assert limit_entry(backend.server_status.queues["workq"], "ncpus", ("u", "bob")) == 8


def test_undo_brings_back_what_was_there(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    (change,) = set_quota(cluster(), PBS, "workq", CAROL, 16).changes
    make(backend, change, audit, lambda: NOON_S)
    undo = change.undo()
    assert undo is not None
    assert make(backend, undo, audit, lambda: NOON_S).ok
    assert limit_entry(backend.server_status.queues["workq"], "ncpus", CAROL) is None


def test_a_value_that_someone_else_changed_meanwhile_is_not_overwritten(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    (change,) = set_quota(cluster(), PBS, "workq", ("u", "alice"), 16).changes
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=99]"})
    outcome = make(backend, change, audit, lambda: NOON_S)
    assert not outcome.ok
    assert "4 when you looked, 99 now" in outcome.text
    assert (backend.lines, stages(audit)) == ([], ["refused"])


def test_what_pbs_refuses_is_reported_in_its_words(audit: AuditLog) -> None:
    backend = ScriptedBackend(refusal="Unauthorized Request")
    outcome = make(backend, set_quota(cluster(), PBS, "workq", CAROL, 16).changes[0], audit, lambda: NOON_S)
    assert (outcome.ok, outcome.text) == (False, "PBS refused: Unauthorized Request")
    assert stages(audit) == ["sending", "failed"]


def test_a_server_that_is_away_changes_nothing(audit: AuditLog) -> None:
    outcome = make(
        ScriptedBackend(failure="gone"), set_quota(cluster(), PBS, "workq", CAROL, 16).changes[0], audit, lambda: NOON_S
    )
    assert (outcome.ok, outcome.text) == (False, "not changed: gone")


def test_a_server_that_goes_away_while_writing_leaves_sent_and_not_confirmed(audit: AuditLog) -> None:
    backend = ScriptedBackend()

    def die_on_write() -> None:
        backend.failure = "connection reset"

    backend.before_read = die_on_write
    outcome = make(backend, set_quota(cluster(), PBS, "workq", CAROL, 16).changes[0], audit, lambda: NOON_S)
    assert outcome.text == "sent, but not confirmed: connection reset"
    assert stages(audit) == ["sending", "unconfirmed"]
    assert audit.entries()[1]["after"] == "unknown"


def test_without_an_audit_file_nothing_is_changed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    audit = AuditLog(tmp_path / "file" / "audit.jsonl", Actor("me", "here"), "hpc1")
    backend = ScriptedBackend()
    outcome = make(backend, set_quota(cluster(), PBS, "workq", CAROL, 16).changes[0], audit, lambda: NOON_S)
    assert not outcome.ok
    assert "audit file" in outcome.text
    assert backend.lines == []


def test_only_its_owner_reads_the_audit_file_and_lines_are_only_added(audit: AuditLog) -> None:
    for number in range(3):
        audit.write(NOON_S, "done", f"line {number}\n", before="a", after="b", reply="\x1b[2J")
    assert stat.S_IMODE(audit.path.stat().st_mode) == 0o600
    lines = audit.path.read_text().splitlines()
    assert [json.loads(line)["command"] for line in lines] == ["line 0\n", "line 1\n", "line 2\n"]


def test_a_torn_line_is_left_out_when_the_audit_file_is_read(audit: AuditLog) -> None:
    audit.write(NOON_S, "done", "x", before="a", after="b", reply="")
    with audit.path.open("a") as file:
        file.write('{"stage": "send')
    assert stages(audit) == ["done"]


def test_the_audit_file_follows_xdg() -> None:
    assert audit_path({"XDG_STATE_HOME": "/var/s"}) == Path("/var/s/pbsteer/audit.jsonl")
    assert audit_path({"XDG_STATE_HOME": "relative"}) == Path.home() / ".local/state/pbsteer/audit.jsonl"


def test_who_and_from_where_come_from_the_login() -> None:
    actor = Actor.of_environment({"SSH_CONNECTION": "10.0.0.7 5022 10.0.0.1 22"})
    assert actor == Actor(pwd.getpwuid(os.getuid()).pw_name, "10.0.0.7 port 5022")


def test_nobody_is_audited_under_a_name_that_they_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "daemon")
    assert Actor.of_environment(os.environ).user == pwd.getpwuid(os.getuid()).pw_name


@pytest.mark.parametrize(
    ("effective", "said", "user"),
    [
        (0, "daemon", "admin (sudo from daemon)"),
        (0, "admin", "admin"),
        (0, "no-such-account", "admin"),
        (0, "da\0emon", "admin"),
        (0, "", "admin"),
        (1, "daemon", "admin"),
    ],
)
def test_the_user_behind_sudo_is_named_where_that_can_be_believed(
    monkeypatch: pytest.MonkeyPatch, effective: int, said: str, user: str
) -> None:
    monkeypatch.setattr("tui.audit.audit_file.account_name", lambda _: "admin")
    monkeypatch.setattr("os.geteuid", lambda: effective)
    assert Actor.of_environment({"SUDO_USER": said}).user == user


def test_an_account_without_a_name_is_its_number() -> None:
    assert account_name(2**31 - 7) == f"uid {2**31 - 7}"


def test_what_was_done_although_the_server_ended_while_it_answered_is_done(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    take = backend.run

    def run(argv: Sequence[str]) -> Reply:
        take(argv)
        return Reply(False, "End of File")

    backend.run = run  # type: ignore[method-assign]
    outcome = make(backend, set_quota(cluster(), PBS, "workq", CAROL, 16).changes[0], audit, lambda: NOON_S)
    assert outcome.ok
    assert "done, verified, though PBS said: End of File" in outcome.text
    assert stages(audit) == ["sending", "done"]


def rows_of(quotas: dict[str, int | None]) -> list[ReadQuota]:
    return [ReadQuota("", LimitKey("workq", "ncpus", ("u", user)), quota) for user, quota in quotas.items()]


def test_an_import_sets_many_quotas_with_few_commands_and_each_is_undone(audit: AuditLog) -> None:
    backend = ScriptedBackend(a_server_status())
    before = dict(soft_limits(a_server_status().queues["workq"], "ncpus").entries)
    quotas: dict[str, int | None] = {f"u{number:03d}": number for number in range(120)}
    operation = import_quotas(cluster(), PBS, rows_of({**quotas, "alice": None, "bob": 77}), "a file")
    assert [change.title for change in operation.changes] == [
        "50 quotas in workq, u000 … u049",
        "50 quotas in workq, u050 … u099",
        "20 quotas in workq, u100 … u119",
        f"alice {before['u', 'alice']} → none in workq",
        f"bob {before['u', 'bob']} → 77 in workq",
    ]
    assert all(outcome.ok for outcome in make_all(backend, operation.changes, audit, lambda: NOON_S))
    entries = soft_limits(backend.read("queue", "workq") or {}, "ncpus").entries
    added = {("u", user): quota for user, quota in quotas.items()}
    left = {entity: quota for entity, quota in before.items() if entity != ("u", "alice")}
    assert entries == {**left, **added, ("u", "bob"): 77}
    undone = [change.undo() for change in operation.changes]
    assert all(outcome.ok for outcome in make_all(backend, [each for each in undone if each], audit, lambda: NOON_S))
    assert soft_limits(backend.read("queue", "workq") or {}, "ncpus").entries == before


def test_an_import_leaves_quotas_alone_that_somebody_changed_meanwhile_and_names_them(audit: AuditLog) -> None:
    backend = ScriptedBackend(a_server_status())
    operation = import_quotas(cluster(), PBS, rows_of({"u1": 1, "u2": 2}), "a file")
    make(backend, set_quota(cluster(), PBS, "workq", ("u", "u2"), 9).changes[0], audit, lambda: NOON_S)
    (outcome,) = make_all(backend, operation.changes, audit, lambda: NOON_S)
    assert not outcome.ok
    assert "u1 none, u2 none when you looked, u1 none, u2 9 now" in outcome.text
    assert ("u", "u1") not in soft_limits(backend.read("queue", "workq") or {}, "ncpus").entries


def test_one_command_does_not_both_set_and_remove() -> None:
    with pytest.raises(ChangeError, match="either sets entries of a limit or removes them"):
        PBS.set_limits(Target("queue", "workq"), {}, "ncpus", {("u", "alice"): 1, ("u", "bob"): None})
