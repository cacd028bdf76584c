"""``pbsteer quota plan``, ``planned``, ``withdraw``, ``export``, ``import``: what they take, show, write and refuse."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.pbs.custom_resources import MODE_ATTRIBUTE
from hooks.quota_plan.published_quota_plan import PublishedPlan, ShownQuota
from hooks.quota_plan.quota_plan_files import (
    QUOTA_PLAN,
    QUOTA_PLAN_SHOWN,
    plan_locked,
    read_plan,
    write_plan,
    write_record,
)
from hooks.store.state_files import State
from policy.quota_plan.limits_due import CHANGED_BY_HAND, Outcome, PlanRecord
from policy.quota_plan.planned_quotas import LimitKey, PlannedQuota
from tests.tui.call_pbsteer_command import run, script_commands
from tests.tui.scripted_server import NOON_S, ScriptedBackend
from tui.backends.pass_journal import JournalReader
from tui.quota_files.iso_times_in_quota_tables import read_moment, show_moment

HOUR_S = 3600


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedBackend:
    scripted = script_commands(monkeypatch, tmp_path)
    for module in ("quota_plan", "quota_export_and_import"):
        monkeypatch.setattr(f"tui.cli.change_commands.{module}.open_backend_by_options", lambda **_: scripted)
    scripted.folder = tmp_path / "home" / "pbsteer"
    scripted.folder.mkdir(parents=True)
    scripted.journal = JournalReader(scripted.folder)
    scripted.own_audit = tmp_path / "audit.jsonl"
    queues = scripted.server_status.queues
    driven = {name: {**texts, MODE_ATTRIBUTE: "drive"} for name, texts in queues.items()}
    scripted.server_status = replace(scripted.server_status, queues=driven)
    return scripted


def at(hours: float) -> str:
    return show_moment(NOON_S + hours * HOUR_S)


def table(tmp_path: Path, *rows: str, head: str = "user,queue,quota,from,until", name: str = "plan.csv") -> str:
    path = tmp_path / name
    path.write_text("\n".join([head, *rows]) + "\n")
    return str(path)


def plan_of(backend: ScriptedBackend) -> list[tuple[Any, ...]]:
    return [
        (entry.number, *entry.limit, entry.quota, (entry.from_s - NOON_S) / HOUR_S, (entry.until_s - NOON_S) / HOUR_S)
        for entry in read_plan(State(backend.folder))
    ]


def test_a_plan_is_shown_previewed_confirmed_written_and_audited(backend: ScriptedBackend, tmp_path: Path) -> None:
    path = table(tmp_path, f"alice,workq,4,{at(1)},{at(9)}", f"g:chem,@server,none,{at(0)},{at(2)}")
    declined = run("quota", "plan", path, typed="n\n")
    assert declined.exit_code == 1
    assert f"alice 4 ncpus in workq, {at(1)} until {at(9)}" in declined.output
    assert "over the next 9 h 00" in declined.output
    assert plan_of(backend) == []
    done = run("quota", "plan", path, typed="y\n")
    assert done.exit_code == 0, done.output
    assert "plan 2 quotas: done, verified" in done.output
    assert plan_of(backend) == [
        (1, "workq", "ncpus", ("u", "alice"), 4, 1, 9),
        (2, "", "ncpus", ("g", "chem"), None, 0, 2),
    ]
    assert (backend.folder / QUOTA_PLAN).stat().st_mode & 0o777 == 0o600
    assert backend.own_audit is not None
    lines = [json.loads(line) for line in backend.own_audit.read_text().splitlines()]
    assert [(line["stage"], line["command"]) for line in lines] == [
        ("sending", f"pbsteer quota plan {path}"),
        ("done", f"pbsteer quota plan {path}"),
    ]
    assert lines[-1]["after"].startswith("2 planned quotas (")


def test_the_preview_is_over_the_whole_span_with_what_changes_within_it(
    backend: ScriptedBackend, tmp_path: Path
) -> None:
    """alice's runs on 12 cores lose what is over her planned quota, from its begin on."""
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=99],[u:PBS_GENERIC=99]"})
    path = table(tmp_path, f"alice,workq,0,{at(0.5)},{at(30)}")
    data = json.loads(run("quota", "plan", path, "--preview", "--json").output)
    preview = data["preview"]
    assert preview["span_s"] == 30 * HOUR_S
    assert preview["before"]["preemptions"] == 0
    assert preview["after"]["preemptions"] > 0
    assert [each["entity"] for each in data["plan"]] == ["u:alice"]
    assert plan_of(backend) == []


def test_each_wrong_row_is_named_and_nothing_is_planned(backend: ScriptedBackend, tmp_path: Path) -> None:
    path = table(
        tmp_path,
        f"alice,workq,4,{at(1)},{at(9)}",
        f"bob,nosuch,lots,{at(1)},{at(9)}",
        f"x]=1,workq,4,tomorrow,{at(9)}",
        f"bob,workq,4,{at(9)},{at(1)}",
        f"bob,workq,4,{at(-9)},{at(-1)}",
        f"alice,workq,5,{at(8)},{at(12)}",
        "carol,workq,4",
        f"carol,workq,,{at(1)},{at(9)}",
        f"o:all,workq,4,{at(1)},{at(9)}",
    )
    result = run("quota", "plan", path, "--yes")
    assert result.exit_code == 1
    assert "nothing is planned" in result.output
    for says in (
        "line 3: queue 'nosuch': allowed are gpu, workq, @server",
        "line 3: quota 'lots': allowed is a whole number from 0 to 1,000,000,000, or none",
        "line 4: user 'x]=1' is no name that qmgr takes",
        "line 4: from 'tomorrow': allowed is 2026-12-01",
        f"line 5: until {at(1)}: allowed is a moment after from",
        f"line 6: until {at(-1)}: allowed is a moment after now",
        f"line 7: u:alice (ncpus) in queue workq is planned from {at(1)} until {at(9)} in {path} line 2",
        "line 8: 3 fields; allowed are 5",
        "line 9: no quota",
        "line 10: user 'o:all': allowed for all together is o:PBS_ALL",
    ):
        assert says in result.output, says
    assert plan_of(backend) == []


def test_what_is_planned_already_is_left_out_and_an_overlap_with_it_refused(
    backend: ScriptedBackend, tmp_path: Path
) -> None:
    path = table(tmp_path, f"alice,workq,4,{at(1)},{at(9)}")
    assert run("quota", "plan", path, "--yes").exit_code == 0
    again = run("quota", "plan", path, "--yes")
    assert (again.exit_code, "all of it is planned already" in again.output) == (1, True)
    more = table(tmp_path, f"alice,workq,4,{at(1)},{at(9)}", f"alice,workq,6,{at(9)},{at(12)}")
    assert run("quota", "plan", more, "--yes").exit_code == 0
    assert [row[0] for row in plan_of(backend)] == [1, 2]
    other = table(tmp_path, f"alice,workq,5,{at(8)},{at(10)}")
    refused = run("quota", "plan", other, "--yes")
    assert "in entry 1 of the plan: allowed is one quota at a time" in refused.output
    whole = table(tmp_path, f"alice,workq,6,{at(9)},{at(12)}", f"bob,workq,5,{at(8)},{at(10)}")
    replaced = run("quota", "plan", whole, "--replace", "--yes")
    assert replaced.exit_code == 0, replaced.output
    assert "plan 1 quota and withdraw 1: done" in replaced.output
    assert [(row[0], row[3][1], row[4]) for row in plan_of(backend)] == [(2, "alice", 6), (3, "bob", 5)]


@pytest.mark.parametrize("options", [(), ("--replace",)])
def test_a_file_may_be_handed_in_again_after_one_of_its_rows_has_ended(
    backend: ScriptedBackend, tmp_path: Path, options: tuple[str, ...]
) -> None:
    ended = PlannedQuota(1, LimitKey("workq", "ncpus", ("u", "alice")), 4, NOON_S - 2 * HOUR_S, NOON_S - HOUR_S, "olga")
    write_plan(State(backend.folder), [ended])
    path = table(tmp_path, f"alice,workq,4,{at(-2)},{at(-1)}", f"bob,workq,5,{at(1)},{at(2)}")
    planned = run("quota", "plan", path, "--yes", *options)
    assert planned.exit_code == 0, planned.output
    assert [(row[0], row[3][1]) for row in plan_of(backend)] == [(1, "alice"), (2, "bob")]
    again = run("quota", "plan", path, "--yes", *options)
    assert (again.exit_code, "all of it is planned already" in again.output) == (1, True)


def test_a_row_that_is_over_and_in_no_plan_is_to_be_removed(backend: ScriptedBackend, tmp_path: Path) -> None:
    refused = run("quota", "plan", table(tmp_path, f"alice,workq,4,{at(-2)},{at(-1)}"), "--yes")
    assert (refused.exit_code, "remove a row whose time is over" in refused.output) == (1, True)


def test_planned_quotas_are_listed_and_withdrawn(backend: ScriptedBackend, tmp_path: Path) -> None:
    entries = [
        PlannedQuota(number, LimitKey("workq", "ncpus", ("u", user)), 4, NOON_S - HOUR_S, NOON_S + HOUR_S, "olga")
        for number, user in enumerate(("alice", "bob"), 1)
    ]
    state = State(backend.folder)
    assert "no quota is planned" in run("quota", "planned").output
    write_plan(state, entries)
    shown = PublishedPlan((ShownQuota(entries[0], "in force", "", 64),))
    state.publish(QUOTA_PLAN_SHOWN, shown.to_data(), shared=True)
    listed = run("quota", "planned")
    assert listed.exit_code == 0, listed.output
    span = f"{at(-1)} until {at(1)}"
    assert f"1  alice 4 ncpus in workq, {span}: in force, before 64, by olga" in listed.output
    assert f"2  bob 4 ncpus in workq, {span}: new, by olga" in listed.output
    unknown = run("quota", "withdraw", "7", "--yes")
    assert (unknown.exit_code, "planned quota 7: allowed are" in unknown.output) == (1, True)
    assert run("quota", "withdraw").exit_code == 2
    gone = run("quota", "withdraw", "1", "--yes")
    assert gone.exit_code == 0, gone.output
    assert "1 of the withdrawn is set now: the next pass takes them back" in gone.output
    assert [entry.number for entry in read_plan(state)] == [2]
    assert run("quota", "withdraw", "--all", "--yes").exit_code == 0
    assert read_plan(state) == ()


def test_times_on_both_sides_of_a_change_of_clocks_are_shown_with_their_offsets(
    backend: ScriptedBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        path = table(tmp_path, "alice,workq,4,2026-12-01,2026-12-24 12:00", "bob,workq,4,2027-07-01,2027-07-02")
        planned = run("quota", "plan", path, "--yes")
        listed = run("quota", "planned")
        withdrawn = run("quota", "withdraw", "1", "--yes")
    time.tzset()
    assert planned.exit_code == listed.exit_code == withdrawn.exit_code == 0, planned.output
    assert "set and taken back by the passes (each with its offset from UTC):" in planned.output
    assert "times are local: each with its offset from UTC\n" in listed.output
    for output in (planned.output, listed.output):
        assert "alice 4 ncpus in workq, 2026-12-01 00:00+01:00 until 2026-12-24 12:00+01:00" in output
        assert "bob 4 ncpus in workq, 2027-07-01 00:00+02:00 until 2027-07-02 00:00+02:00" in output
    assert "withdrawn (CET, UTC+01:00):" in withdrawn.output
    assert "alice 4 ncpus in workq, 2026-12-01 00:00 until 2026-12-24 12:00" in withdrawn.output


def test_a_stored_quota_that_ends_beyond_the_calendar_is_listed_and_withdrawn(
    backend: ScriptedBackend, tmp_path: Path
) -> None:
    state = State(backend.folder)
    write_plan(state, [PlannedQuota(1, LimitKey("workq", "ncpus", ("u", "alice")), 4, NOON_S, 253402336799.0, "olga")])
    listed = run("quota", "planned")
    assert listed.exit_code == 0, listed.output
    assert f"alice 4 ncpus in workq, {at(0)} until beyond the calendar: new" in listed.output
    path = table(tmp_path, f"bob,workq,4,{at(1)},9999-12-31T23:59:59-10:00")
    refused = run("quota", "plan", path, "--yes")
    assert "line 2: until '9999-12-31T23:59:59-10:00': allowed are days from" in refused.output
    assert run("quota", "withdraw", "1", "--yes").exit_code == 0
    assert read_plan(state) == ()


def test_what_is_planned_after_a_withdrawal_does_not_get_its_number(backend: ScriptedBackend, tmp_path: Path) -> None:
    state, limit = State(backend.folder), LimitKey("workq", "ncpus", ("u", "alice"))
    write_plan(state, [PlannedQuota(1, limit, 4, NOON_S - HOUR_S, NOON_S + HOUR_S, "olga")])
    write_record(state, PlanRecord({}, {1: Outcome(CHANGED_BY_HAND, NOON_S, 64)}))
    assert run("quota", "withdraw", "1", "--yes").exit_code == 0
    for options, number in (((), 2), (("--replace",), 3)):
        path = table(tmp_path, f"bob,workq,{number},{at(-1)},{at(9)}")
        planned = run("quota", "plan", path, "--yes", *options)
        assert planned.exit_code == 0, planned.output
        assert [entry[0] for entry in plan_of(backend)] == [number]


def test_a_plan_that_changed_meanwhile_a_broken_and_a_locked_one_are_left(
    backend: ScriptedBackend, tmp_path: Path
) -> None:
    state = State(backend.folder)
    path = table(tmp_path, f"alice,workq,4,{at(1)},{at(9)}")
    with plan_locked(state):
        assert "another command is changing the plan" in run("quota", "plan", path, "--yes").output
    (backend.folder / QUOTA_PLAN).write_text("{")
    for words in (("plan", path, "--yes"), ("withdraw", "--all", "--yes"), ("planned",)):
        result = run("quota", *words)
        assert result.exit_code == 1
        assert f"{QUOTA_PLAN} cannot be used" in result.output
    assert (backend.folder / QUOTA_PLAN).read_text() == "{"


def test_where_no_pass_was_made_nothing_is_planned(backend: ScriptedBackend, tmp_path: Path) -> None:
    backend.folder.rmdir()
    result = run("quota", "plan", table(tmp_path, f"alice,workq,4,{at(1)},{at(9)}"), "--yes")
    assert (result.exit_code, "no pass has been made on this host yet" in result.output) == (1, True)


def test_who_may_only_read_the_journal_sees_what_passes_published_and_changes_nothing(
    backend: ScriptedBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = PlannedQuota(1, LimitKey("workq", "ncpus", ("u", "alice")), 4, NOON_S, NOON_S + HOUR_S, "olga")
    state = State(backend.folder)
    write_plan(state, [entry])
    state.publish(QUOTA_PLAN_SHOWN, PublishedPlan((ShownQuota(entry, "in force", "", 64),)).to_data(), shared=True)

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hooks.quota_plan.quota_plan_files._read", denied)
    listed = run("quota", "planned")
    assert (listed.exit_code, ": in force, before 64, by olga" in listed.output) == (0, True)
    refused = run("quota", "withdraw", "1", "--yes")
    assert "only root on the server's host may change the plan" in refused.output


def test_observe_and_a_pause_are_reported(backend: ScriptedBackend, tmp_path: Path) -> None:
    backend.set_queue("workq", **{MODE_ATTRIBUTE: "observe"})
    server = {**backend.server_status.server, "resources_available.pbsteer_paused": "works"}
    backend.server_status = replace(backend.server_status, server=server)
    output = run("quota", "plan", table(tmp_path, f"alice,workq,4,{at(1)},{at(9)}"), "--preview").output
    assert "workq in observe: nothing is set there until the mode is advise or drive" in output
    assert "pbsteer is paused (works): nothing is set or taken back until pbsteer resume" in output


def test_an_export_reads_back_and_an_import_sets_only_what_differs(backend: ScriptedBackend, tmp_path: Path) -> None:
    limits = {
        "max_run_res_soft.ncpus": "[u:alice=8],[g:chem=4],[u:PBS_GENERIC=2],[o:PBS_ALL=64]",
        "max_run_res_soft.user_priority": "[u:alice=3]",
        "max_run_res_soft.mem": "[u:alice=4gb]",
    }
    backend.set_queue("workq", **limits)
    for kind in ("csv", "toml"):
        exported = run("quota", "export", "workq", "--format", kind)
        assert exported.exit_code == 1, "memory is left out"
        assert "left out: workq max_run_res_soft.mem" in exported.stderr
        path = tmp_path / f"quotas.{kind}"
        path.write_text(exported.stdout)
        nothing = run("quota", "import", str(path), "--yes")
        assert (nothing.exit_code, "all of its 5 quotas are set already" in nothing.output) == (1, True)
    (tmp_path / "quotas.csv").write_text("user,queue,quota\nalice,workq,16\ng:chem,workq,none\nPBS_GENERIC,workq,2\n")
    declined = run("quota", "import", str(tmp_path / "quotas.csv"), typed="n\n")
    assert "alice 8 → 16 in workq" in declined.output
    assert "1 of 3 are set already" in declined.output
    assert backend.lines == []
    done = run("quota", "import", str(tmp_path / "quotas.csv"), "--yes")
    assert done.exit_code == 0, done.output
    assert backend.lines == [
        "qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:alice=16]'",
        "qmgr -c 'set queue workq max_run_res_soft.ncpus -= [g:chem=4]'",
    ]


def test_an_import_with_a_wrong_row_sets_nothing(backend: ScriptedBackend, tmp_path: Path) -> None:
    path = tmp_path / "quotas.toml"
    path.write_text(
        '[[quota]]\nuser = "alice"\nqueue = "workq"\nquota = 16\n\n'
        '[[quota]]\nuser = "bob"\nqueue = "workq"\nquota = 1.5\n\n'
        '[[quota]]\nuser = "alice"\nqueue = "workq"\nquota = 17\nresource = "ncpus"\n\n'
        '[[quota]]\nuser = "bob"\nqueue = "workq"\nquota = 1\nresource = "mem"\n'
    )
    result = run("quota", "import", str(path), "--yes")
    assert result.exit_code == 1
    assert "nothing is set" in result.output
    assert f"{path} line 6: quota '1.5': allowed is a whole number" in result.output
    assert f"{path} line 11: u:alice (ncpus) in queue workq is in {path} line 1 already" in result.output
    assert f"{path} line 17: resource 'mem': quotas on sizes are set by qmgr alone" in result.output
    assert backend.lines == []


def test_quota_show_lists_what_is_planned(backend: ScriptedBackend) -> None:
    entry = PlannedQuota(1, LimitKey("workq", "ncpus", ("u", "zoe")), 4, NOON_S + HOUR_S, NOON_S + 2 * HOUR_S)
    shown = PublishedPlan((ShownQuota(entry, "planned"),))
    State(backend.folder).publish(QUOTA_PLAN_SHOWN, shown.to_data(), shared=True)
    assert f"planned: zoe 4 ncpus in workq, {at(1)} until {at(2)}: planned" in run("quota", "show", "workq").output
    data = json.loads(run("quota", "show", "workq", "--json").output)["workq"]
    (zoe,) = [row for row in data if row["name"] == "zoe"]
    assert [each["until_s"] for each in zoe["planned"]] == [NOON_S + 2 * HOUR_S]


def test_moments_of_tables_are_local_times() -> None:
    assert read_moment(at(3)) == NOON_S + 3 * HOUR_S
