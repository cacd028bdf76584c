"""The commands that change something: what they show and ask first, what they do, and what they leave out or refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hooks.pbs.custom_resources import MODE_ATTRIBUTE, PAUSED
from tests.tui.call_pbsteer_command import run, script_commands
from tests.tui.scripted_server import ScriptedBackend
from tests.tui.server_with_reservation import with_reservation


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedBackend:
    return script_commands(monkeypatch, tmp_path)


def test_quota_set_shows_its_line_and_asks_first(backend: ScriptedBackend) -> None:
    declined = run("quota", "set", "workq", "carol", "16", typed="n\n")
    assert declined.exit_code == 1
    assert "set queue workq max_run_res_soft.ncpus += [u:carol=16]" in declined.output
    assert backend.lines == []
    done = run("quota", "set", "workq", "carol", "16", "--yes")
    assert done.exit_code == 0, done.output
    assert "carol none → 16 in workq: done, verified" in done.output
    assert backend.lines == ["qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:carol=16]'"]


def test_quota_set_with_preview_changes_nothing(backend: ScriptedBackend) -> None:
    result = run("quota", "set", "workq", "carol", "16", "--preview")
    assert result.exit_code == 0, result.output
    assert "no start, preemption or reservation of the next pass changes" in result.output
    assert backend.lines == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("workq", "carol", "lots"), "allowed is a whole number"),
        (("nosuch", "carol", "4"), "the server has gpu, workq"),
        (("workq", "x]=1,[u:root", "4"), "no name that qmgr takes"),
    ],
)
def test_quota_set_refuses_what_cannot_be(backend: ScriptedBackend, arguments: tuple[str, ...], says: str) -> None:
    result = run("quota", "set", *arguments, "--yes")
    assert result.exit_code == 1
    assert says in result.output
    assert backend.lines == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("hold", "13"), "qhold -h o 13.hpc1"),
        (("move", "gpu", "13"), "qmove gpu 13.hpc1"),
        (("priority", "-5", "13"), "qalter -p -5 13.hpc1"),
        (("drain", "v2"), "qmgr -c 'set node v2 state += offline, comment = \"pbsteer drain by root\"'"),
        (("stop", "workq"), "qmgr -c 'set queue workq started = False'"),
        (("mode", "workq", "observe"), "qmgr -c 'set queue workq resources_available.pbsteer_mode = observe'"),
    ],
)
def test_do_shows_the_command_asks_and_does_it(
    backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], line: str
) -> None:
    monkeypatch.setattr("tui.audit.audit_file.account_name", lambda _: "root")
    monkeypatch.delenv("SUDO_USER", raising=False)
    assert line in run("do", *arguments, "--preview").output
    declined = run("do", *arguments, typed="n\n")
    assert (declined.exit_code, backend.lines) == (1, [])
    done = run("do", *arguments, typed="y\n")
    assert (done.exit_code, backend.lines) == (0, [line]), done.output
    assert "done, verified" in done.output


def test_do_asks_for_the_name_or_the_number_as_the_screen_does(backend: ScriptedBackend) -> None:
    refused = run("do", "delete", "13", "--yes")
    assert (refused.exit_code, "asks for --confirm '13'" in refused.output) == (2, True)
    wrong = run("do", "delete", "13", "14", typed="1\n")
    assert (wrong.exit_code, "not done: asked for was '2'" in wrong.output) == (1, True)
    assert backend.lines == []
    assert run("do", "delete", "13", "14", typed="2\n").exit_code == 0
    assert backend.lines == ["qdel 13.hpc1", "qdel 14.hpc1"]


def test_do_and_quota_set_ask_for_a_production_server_by_name(
    backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "pbsteer").mkdir()
    settings = tmp_path / "pbsteer" / "console.toml"
    settings.write_text('production = ["hpc1"]')
    for arguments in (
        ["do", "hold", "13"],
        ["quota", "set", "workq", "alice", "9"],
        ["priority", "workq", "alice", "9"],
    ):
        assert run(*arguments, "--yes").exit_code == 2
        assert run(*arguments, "--confirm", "hpc1").exit_code == 0
    settings.write_text("production = 1")
    assert f"{settings}: production is 1" in run("do", "hold", "14", "--yes").output


def test_a_text_that_confirms_something_else_is_refused_where_a_yes_would_do(backend: ScriptedBackend) -> None:
    for options in (["--confirm", "14"], ["--confirm", "14", "--yes"], ["--confirm", "2"]):
        wrong = run("do", "hold", "13", *options)
        assert (wrong.exit_code, "asks for --yes, not for --confirm" in wrong.output) == (2, True), wrong.output
    assert backend.lines == []
    assert run("do", "hold", "13", "--confirm", "13").exit_code == 0
    assert run("do", "stop", "workq", "--confirm", "workq", "--yes").exit_code == 0


def test_a_queue_that_is_not_driven_though_its_mode_is_drive_is_not_called_done(backend: ScriptedBackend) -> None:
    server = {**backend.server_status.server, "job_sort_formula": "ncpus"}
    queues = {
        **backend.server_status.queues,
        "workq": {**backend.server_status.queues["workq"], MODE_ATTRIBUTE: "observe"},
    }
    backend.server_status = replace(backend.server_status, server=server, queues=queues)
    preview = run("do", "mode", "workq", "drive", "--preview", "--json")
    assert (preview.exit_code, len(json.loads(preview.output)["unmet"])) == (0, 1)
    done = run("do", "mode", "workq", "drive", "--yes")
    assert "→ drive: done, verified" in done.output
    assert "but queue workq is not driven: " in done.output
    assert done.exit_code == 1


def test_do_as_json_says_what_was_done_and_asks_nothing(backend: ScriptedBackend) -> None:
    asked = run("do", "hold", "13", "--json")
    assert (asked.exit_code, "asks for --yes" in asked.output) == (2, True)
    data = json.loads(run("do", "hold", "13", "--json", "--yes").output)
    assert data["commands"] == ["qhold -h o 13.hpc1"]
    assert [outcome["ok"] for outcome in data["done"]] == [True]
    assert data["preview"].keys() == {"next_pass", "from_then_on"}


def test_do_says_in_its_exit_status_what_was_left_out_or_refused(backend: ScriptedBackend) -> None:
    part = run("do", "hold", "13", "11", "--yes")
    assert (part.exit_code, "left out: hold: 11 is running" in part.output) == (1, True)
    backend.refusal = "Unauthorized Request"
    refused = run("do", "hold", "14", "--yes")
    assert (refused.exit_code, "PBS refused: Unauthorized Request" in refused.output) == (1, True)
    unknown = run("do", "hold", "14", "99", "--confirm", "2")
    assert (unknown.exit_code, unknown.output) == (1, "Error: job '99' is not on the server\n")


def test_the_preview_of_a_stop_names_the_command_that_ends_it(backend: ScriptedBackend) -> None:
    preview = run("do", "stop", "workq", "--preview")
    assert preview.exit_code == 0, preview.output
    assert "12 jobs that wait in workq cannot start until pbsteer do start workq\n" in preview.output


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("start", "S13"), "PBS itself starts and stops it"),
        (("stop", "S13"), "PBS itself starts and stops it"),
        (("mode", "S13", "drive"), "it has no mode, PBS's scheduler starts its jobs"),
    ],
)
def test_the_queue_of_a_reservation_is_left_to_pbs(backend: ScriptedBackend, words: tuple[str, ...], why: str) -> None:
    backend.server_status = with_reservation(backend.server_status)
    refused = run("do", *words, "--yes")
    assert (refused.exit_code, backend.lines) == (1, [])
    assert f"Error: {words[0]}: queue S13 is that of reservation S13 of adm, which begins at " in refused.output
    assert why in refused.output
    # Whether it takes new jobs is the administrator's to say.
    assert run("do", "disable", "S13", "--yes").exit_code == 0


def test_priority_sets_a_users_priority_in_a_queue(backend: ScriptedBackend) -> None:
    done = run("priority", "workq", "alice", "10", "--yes")
    assert done.exit_code == 0, done.output
    assert backend.lines == ["qmgr -c 'set queue workq max_run_res_soft.user_priority += [u:alice=10]'"]


# Said clearly


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("do", "mode", "observ", "workq"), "mode 'workq': allowed is observe, advise, drive, in mode QUEUE... MODE"),
        (("do", "mode", "workq", "observ"), "mode 'observ': allowed is observe, advise, drive, in mode QUEUE... MODE"),
        (("quota", "set", "workq", "alice", "-5"), "quota '-5': allowed is a whole number from 0 to"),
        (("priority", "workq", "alice", "-5"), "priority '-5': allowed is a whole number from 0 to"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    backend: ScriptedBackend, arguments: tuple[str, ...], said: str
) -> None:
    result = run(*arguments)
    assert (result.exit_code, said in result.output) == (1, True), result.output
    assert backend.lines == []


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("pause", "--reason", "water in row 4"), "--yes"),
        (("quota", "set", "workq", "alice", "10"), "--yes"),
        (("do", "stop", "workq"), "--yes"),
        (("do", "delete", "13"), "--confirm '13'"),
    ],
)
def test_without_a_terminal_the_option_that_is_missing_is_named(
    backend: ScriptedBackend, arguments: tuple[str, ...], option: str
) -> None:
    backend.server_status = replace(
        backend.server_status, resources={**backend.server_status.resources, PAUSED: {"type": "string"}}
    )
    result = run(*arguments, typed="")
    assert (result.exit_code, backend.lines) == (2, [])
    assert f"asks for {option} where there is no terminal" in result.output
    assert "Aborted" not in result.output
