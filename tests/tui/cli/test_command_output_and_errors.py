"""The command line: what each command prints, and that every error is one clear line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from policy.settings.site_settings import describe_settings
from tests.tui.call_pbsteer_command import run, script_commands
from tests.tui.scripted_server import NOON_S, ScriptedBackend, a_job, changed
from tests.tui.server_with_reservation import RUNS, WAITS, with_reservation
from tests.tui.written_journal_and_audit import a_pass, a_preemption, a_start, write_journal
from tui.backends.interface.backend_protocol import BackendError
from tui.backends.pass_journal import JournalReader
from tui.cli.main import COMMANDS, Part
from tui.cli.open_backend import open_demo
from tui.text.times_and_durations import clock_time


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedBackend:
    return script_commands(monkeypatch, tmp_path)


def test_help_lists_every_command_without_loading_any() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from tui.cli.main import main;"
        "print(CliRunner().invoke(main, ['--help']).output);"
        "print([m for m in ('textual', 'policy', 'hooks', 'sim', 'container') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]"), done.stdout[-200:]
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize(
    "command", [["status"], ["explain"], ["quota", "show"], ["quota", "set"], ["check"], ["do"], ["priority"]]
)
def test_every_help_says_what_it_is_for(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert len(result.output.split("Options:")[0].split()) > 20


def test_a_part_that_cannot_be_loaded_breaks_nothing_else(
    backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "hooks", Part("tui.no_such_module", "hooks", "broken"))
    broken = run("hooks", "plan")
    assert broken.exit_code == 1
    assert "hooks cannot be loaded: ModuleNotFoundError" in broken.output
    assert run("status").exit_code == 0


def test_status_shows_the_cluster_in_lines(backend: ScriptedBackend) -> None:
    result = run("status")
    assert result.exit_code == 0, result.output
    for text in ("hpc1", "12 / 16", "workq", "v3 offline", "alice 12 of 4 in workq"):
        assert text in result.output
    assert backend.closed


def test_status_as_json_counts_what_the_lines_count(backend: ScriptedBackend) -> None:
    data = json.loads(run("status", "--json").output)
    assert data["server"] == "hpc1"
    assert data["simulated"] is False
    assert data["cores"] == {"used": 12, "total": 16, "used_not_up": 0}
    assert data["vnodes"]["not_up"] == {"offline": ["v3"]}
    assert data["jobs"] == {"H": 1, "Q": 12, "R": 2}
    alice = next(user for user in data["queues"]["workq"]["quotas"] if user["name"] == "alice")
    assert (alice["quota"], alice["used"]) == (4, 12)


def test_explain_says_why_a_job_waits(backend: ScriptedBackend) -> None:
    result = run("explain", "14")
    assert result.exit_code == 0, result.output
    assert "14 carol · workq · 64 cores" in result.output
    assert "waits" in result.output


def test_explain_as_json_has_the_reason_and_its_numbers(backend: ScriptedBackend) -> None:
    data = json.loads(run("explain", "14.hpc1", "--json").output)
    assert (data["job"], data["state"]) == ("14.hpc1", "waiting")
    assert data["reason"]["code"]
    assert json.loads(run("explain", "11", "--json").output)["state"] in ("running", "preempted")


def test_explain_writes_where_a_job_runs_as_programs_read_it(backend: ScriptedBackend) -> None:
    hosts = run("explain", "11", "--list", "nodes").output.split()
    told = json.loads(run("explain", "11", "--list", "nodes", "--json").output)
    assert told == {"job": "11.hpc1", "list": "nodes", "lines": hosts}
    slots = run("explain", "11", "--list", "open-mpi").output.splitlines()
    assert slots == [f"{host} slots={hosts.count(host)}" for host in dict.fromkeys(hosts)]
    assert run("explain", "11", "--list", "mpich").output.splitlines() == [
        line.replace(" slots=", ":") for line in slots
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("14", "--list", "nodes"), "neither runs nor would start now"),
        (("11", "--list", "places"), "has nothing to list as places"),
        (("11", "--list", "yaml"), "'yaml' is not one of 'ranked', 'nodes', 'open-mpi', 'mpich', 'places'"),
    ],
)
def test_explain_says_why_there_is_no_list(backend: ScriptedBackend, arguments: tuple[str, ...], said: str) -> None:
    result = run("explain", *arguments)
    assert result.exit_code != 0
    assert said in result.output


def test_explain_says_who_starts_a_job_in_a_reservation(backend: ScriptedBackend) -> None:
    backend.server_status = with_reservation(backend.server_status)
    text = " ".join(run("explain", WAITS).output.split())
    assert "reservation it is in reservation S13 of adm, which begins at " in text
    assert text.count("PBS's scheduler starts its jobs") == 1
    assert "unknown" not in text
    found = json.loads(run("explain", WAITS, "--json").output)
    assert (found["state"], found["reason"]) == ("in-reservation", None)
    assert "is in reservation S13 of adm" in run("explain", WAITS, "--list", "nodes").output
    backend.server_status = with_reservation(backend.server_status, reserve_state="5")
    text = " ".join(run("explain", RUNS).output.split())
    assert "runs on v2" in text
    assert "reservation it is in reservation S13 of adm, which runs until " in text


def test_explain_names_a_job_that_is_not_there(backend: ScriptedBackend) -> None:
    result = run("explain", "999")
    assert (result.exit_code, "job '999' is not on hpc1" in result.output) == (1, True)


def test_explain_says_how_a_job_ended(backend: ScriptedBackend) -> None:
    backend.ended = {
        "8.hpc1": a_job("alice", 2, "F", history_timestamp=str(int(NOON_S))),
        "9.hpc1": a_job("alice", 2, "F", Exit_status="271", obittime=str(int(NOON_S)), exec_vnode="(v1:ncpus=2)"),
        "10.hpc1": a_job("alice", 2, "M"),
        "16[77].hpc1": a_job("dave", 1, "X", Exit_status="0", mtime=str(int(NOON_S)), exec_vnode="(v2:ncpus=1)"),
    }
    at = clock_time(NOON_S)
    for name, ended in (
        ("8", f"deleted {at}"),
        ("9", f"ended {at}, exit 271 (killed by SIGTERM) on v1"),
        ("16[77]", f"ended {at}, exit 0 on v2"),
    ):
        result = run("explain", name)
        assert (result.exit_code, result.output) == (1, f"Error: job '{name}' is no longer on hpc1: {ended}\n")
    assert "job '10' is not on hpc1\n" in run("explain", "10").output


def test_a_server_without_history_has_no_ended_jobs(backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: str, name: str) -> None:
        raise BackendError(f"qstat: PBS is not configured to maintain job history {kind} {name}")

    monkeypatch.setattr(backend, "read", refuse)
    assert run("explain", "999").output == "Error: job '999' is not on hpc1\n"


@pytest.mark.parametrize("command", ["explain", "when"])
def test_a_subjob_that_waits_is_not_said_to_be_missing(
    backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("tui.cli.read_commands.when_job_starts.open_backend_by_options", lambda **_: backend)
    for name in ("16[5]", "16[5].hpc1"):
        result = run(command, name)
        words = " ".join(result.output.split())
        assert (result.exit_code, f"subjob '{name}' does not run: it waits as array 16[] does" in words) == (1, True)
    assert "job '16[77]' is not on hpc1" in run(command, "16[77]").output


def test_a_subjob_that_was_preempted_and_waits_again_has_its_history(backend: ScriptedBackend, tmp_path: Path) -> None:
    backend.folder, backend.journal = tmp_path / "pbsteer", JournalReader(tmp_path / "pbsteer")
    first, second = (a_pass(ago_s) for ago_s in (600, 300))
    first.update(starts=[a_start("16[2].hpc1")], started=["16[2].hpc1"])
    second.update(preempts=[a_preemption("16[2].hpc1", "13.hpc1")], preempted=["16[2].hpc1"])
    write_journal(backend.folder, first, second)
    lines = run("explain", "16[2]").output.splitlines()
    assert lines[0].startswith("Error: subjob '16[2]' does not run: it waits as array 16[] does")
    assert [line.split(maxsplit=1)[1] for line in lines[-2:]] == ["preempted for it: over quota", "started on v1"]
    assert "16[3]' does not run" in run("explain", "16[3]").output
    assert "by the journal" not in run("explain", "16[3]").output
    assert "subjob [2]: preempted for it: over quota" in run("explain", "16[]").output


def test_quota_show_sets_use_beside_quota(backend: ScriptedBackend) -> None:
    result = run("quota", "show", "workq")
    assert result.exit_code == 0, result.output
    assert "over 8" in result.output
    assert json.loads(run("quota", "show", "--json").output)["workq"][0]["name"] == "alice"
    assert "the server has gpu, workq" in run("quota", "show", "nosuch").output


def test_quota_show_has_priorities_beside_the_quotas(backend: ScriptedBackend) -> None:
    queues = {name: dict(texts) for name, texts in backend.server_status.queues.items()}
    queues["workq"]["max_run_res_soft.user_priority"] = "[u:bob=10],[u:PBS_GENERIC=1]"
    backend.server_status = changed(backend.server_status, queues=queues)
    rows = json.loads(run("quota", "show", "--json").output)["workq"]
    assert {row["name"]: row["priority"] for row in rows if row["name"] in ("alice", "bob")} == {"alice": 1, "bob": 10}
    header, bob = (
        next(line for line in run("quota", "show", "workq").output.splitlines() if word in line)
        for word in ("prio", "bob")
    )
    assert bob[: header.index("prio") + 4].endswith("  10")


def test_status_and_explain_tell_of_a_preemption_by_class(backend: ScriptedBackend) -> None:
    """Bob, with a priority, waits for 8 cores: 4 are idle, 4 go with the later of two jobs of alice, who has none."""
    queues = {name: dict(texts) for name, texts in backend.server_status.queues.items()}
    queues["workq"]["max_run_res_soft.user_priority"] = "[u:bob=10]"
    queues["workq"]["max_run_res_soft.ncpus"] = "[u:alice=100],[u:bob=8]"
    backend.server_status = changed(backend.server_status, queues=queues)
    assert json.loads(run("status", "--json").output)["plan"]["preempts"] == ["12.hpc1"]
    assert "preempted for 13, whose class 10 is above its own, base" in " ".join(run("explain", "12").output.split())
    assert "freed their cores: 12" in " ".join(run("explain", "13").output.split())


def test_a_server_that_is_away_is_one_line(backend: ScriptedBackend) -> None:
    backend.failure = "cannot connect to hpc1"
    result = run("status")
    assert (result.exit_code, result.output.strip()) == (2, "Error: cannot connect to hpc1")


def test_without_pbs_the_message_names_the_file_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBS_CONF_FILE", str(tmp_path / "pbs.conf"))
    monkeypatch.delenv("PBS_EXEC", raising=False)
    for command in (["status"], ["explain", "1"], ["quota", "show"]):
        result = run(*command)
        assert result.exit_code == 1
        assert "no PBS on this host" in result.output
        assert "--demo" in result.output


def test_the_console_without_a_terminal_says_so() -> None:
    result = run("--demo")
    assert result.exit_code == 1
    assert "needs a terminal" in result.output


def test_a_trace_belongs_to_the_demo_and_what_is_wrong_with_it_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("--trace", "x.swf").exit_code == 2
    assert run("--demo", "--cluster", "4x8").exit_code == 2
    monkeypatch.setattr("tui.cli.run_console.sys", _Terminal())
    result = run("--demo", "--trace", str(tmp_path / "missing.swf"))
    assert result.exit_code == 1
    assert "missing.swf" in result.output


def test_a_trace_is_the_load_of_a_demo_that_then_loads_another(tmp_path: Path) -> None:
    trace = tmp_path / "a.swf"
    trace.write_text("; MaxNodes: 4\n; MaxProcs: 32\n1 0 -1 600 8 -1 -1 8 900 -1 1 12 3 -1 1 -1 -1 -1\n")
    backend = open_demo(trace)
    try:
        assert len(backend.poll().vnodes) == 4
        backend.set_speed(60)
        with pytest.raises(BackendError, match=r"missing.swf"):
            backend.load(tmp_path / "missing.swf", "")
        with pytest.raises(BackendError, match="NODESxCORES"):
            backend.load(trace, "many")
        assert len(backend.poll().vnodes) == 4
        backend.load(trace, "16x2")
        assert len(backend.poll().vnodes) == 16
        assert [job["euser"] for job in backend.poll().jobs.values()] == ["12"]
        assert backend.speed == 60
        backend.step()
        assert len(backend.journal.read().entries) == 1
    finally:
        backend.close()


class _Terminal:
    """``sys`` of somebody who sits at a terminal."""

    class _Tty:
        encoding = "utf-8"

        @staticmethod
        def isatty() -> bool:
            return True

    stdin = stdout = _Tty()


def test_demo_and_server_exclude_each_other() -> None:
    assert run("--demo", "--server", "hpc1").exit_code == 2
    assert run("status", "--demo", "--server", "hpc1").exit_code == 2


def test_check_accepts_a_good_policy_and_lists_every_problem_of_a_bad_one(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('[backfill]\nshrink_factor = 0.5\n[[queue]]\nname = "workq"\nquotas = "[u:alice=4]"\n')
    bad.write_text('[backfill]\nshrink_factor = 1.5\nshrink = 1\n[quota]\nvictim_order = "random"\n')
    assert run("check", str(good)).output == f"{good}: good\n"
    result = run("check", str(bad))
    assert result.exit_code == 1
    for text in ("backfill.shrink_factor = 1.5", "unknown key backfill.shrink", "quota.victim_order", "3 problems"):
        assert text in result.output


@pytest.mark.parametrize("content", [b"\xff\xfe", b"not = [toml", b""])
def test_check_survives_any_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    assert run("check", str(path)).exit_code == (0 if not content else 1)
    assert run("check", str(tmp_path / "absent.toml")).exit_code == 1


@pytest.mark.parametrize(
    "counted", ['"mem space"', '["ncpus", "ncpus"]', '"1st"', '""', '["ncpus", ""]', '["ncpus\\n"]', "7"]
)
def test_check_refuses_counted_resources_that_cannot_be_meant(tmp_path: Path, counted: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(f"[quota]\ncounted = {counted}\n")
    result = run("check", str(path))
    assert (result.exit_code, "or a list of names, each once" in result.output) == (1, True), result.output


def test_check_notes_what_it_cannot_know_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        '[quota]\ncounted = ["ncpus", "ncpu"]\n[server]\njournal_group = "no such group"\n'
        '[alerts]\ncommand = ["/nofile/x"]\n'
    )
    result = run("check", str(path))
    assert result.exit_code == 0, result.output
    notes = [line for line in result.output.splitlines() if line.startswith("note: ")]
    assert [note.split()[1] for note in notes] == ["quota.counted", "server.journal_group", "alerts.command:"]
    assert "'ncpu'" in notes[0]
    assert "good" in result.output


def test_a_byte_order_mark_is_named(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("[quota]\ndelay_s = 1\n", encoding="utf-8-sig")
    result = run("check", str(path))
    assert (result.exit_code, "byte order mark (BOM)" in result.output) == (1, True)


def test_check_lists_all_keys() -> None:
    lines = run("check", "--keys").output.splitlines()
    assert [line.split()[0] for line in lines] == [key for key, _, _ in describe_settings()]
    assert {line.index(f"  {allowed}") for line, (_, _, allowed) in zip(lines, describe_settings())} == {
        lines[0].index("  one of none, easy")
    }


def test_the_version_is_printed() -> None:
    printed = run("--version").output
    assert printed.startswith("pbsteer, version ")
    assert printed.endswith(", policy from source\n")


def test_opening_turns_into_one_line_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "policy.toml"
    broken.write_text("[quota]\ndelay_s = -1\n")
    monkeypatch.setenv("PBS_EXEC", str(_a_pbs(tmp_path)))
    result = run("status", "--settings", str(broken))
    assert (result.exit_code, "quota.delay_s = -1" in result.output) == (1, True)


def _a_pbs(folder: Path) -> Path:
    """An installed PBS whose programs all fail."""
    programs = folder / "pbs" / "bin"
    programs.mkdir(parents=True)
    for name in ("qstat", "qmgr", "pbsnodes"):
        program = programs / name
        program.write_text('#!/bin/sh\necho "Connection refused" >&2\nexit 1\n')
        program.chmod(0o755)
    return programs.parent


def test_a_pbs_that_does_not_answer_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PBS_EXEC", str(_a_pbs(tmp_path)))
    result = run("status")
    assert (result.exit_code, "Connection refused" in result.output) == (2, True)


# Doing


def test_explain_tells_the_jobs_history_to_its_end(backend: ScriptedBackend) -> None:
    job = next(iter(backend.server_status.jobs))
    said = run("explain", job).output
    assert "looking up" not in said
    assert "history, by the journal" in said
