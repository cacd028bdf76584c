"""``pbsteer testbed`` says what is wrong in one line and never guesses; nothing here needs root or PBS."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from container import cli, cli_common
from container.run_program import SYSTEM_PATH
from container.testbed_spec import TestbedSpec


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder without testbeds; whoever runs the tests counts as root."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return tmp_path.resolve()


def invoke(*words: str) -> Result:
    return CliRunner().invoke(cli.testbed, list(words))


def test_a_users_command_has_nothing_of_roots_environment_but_the_terminals_words() -> None:
    environ = {"PATH": "/root/bin", "TERM": "xterm", "LANG": "C", "COLORTERM": "truecolor", "FOO_SECRET": "hunter2"}
    path = f"{SYSTEM_PATH}:{sys.prefix}/bin"
    user = cli.inherited("alice", environ)
    assert user == {"PATH": path, "TERM": "xterm", "LANG": "C", "COLORTERM": "truecolor"}
    assert cli.inherited(None, environ)["FOO_SECRET"] == "hunter2"


def test_nobody_but_root_can_do_anything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for words in (["up"], ["down"], ["status"], ["exec", "server", "--", "true"]):
        result = invoke(words[0], "--state", str(tmp_path), *words[1:])
        assert result.exit_code == 1
        assert "needs root" in result.output


def test_status_of_no_testbed_says_so_and_fails(state: Path) -> None:
    result = invoke("status", "--state", str(state), "--name", "absent")
    assert (result.exit_code, result.output) == (1, "there is no testbed absent\n")


def test_status_as_json_is_one_object(state: Path) -> None:
    found = json.loads(invoke("status", "--json", "--state", str(state), "--name", "absent").output)
    assert (found["name"], found["exists"], found["is_up"], found["vnodes"]) == ("absent", False, False, [])


def test_down_of_no_testbed_is_no_error_and_touches_nothing(state: Path) -> None:
    precious = state / "absent" / "file"
    precious.parent.mkdir()
    precious.touch()
    result = invoke("down", "--state", str(state), "--name", "absent")
    assert (result.exit_code, result.output) == (0, "there is no testbed absent\n")
    assert precious.exists()


def test_down_removes_a_folder_that_was_left_half_made(state: Path) -> None:
    left = state / "pbsteer-testbed" / "broken"
    left.mkdir(parents=True)
    (left / "spec.json").write_text("{")
    assert invoke("down", "--state", str(state), "--name", "broken").exit_code == 0
    assert list(state.iterdir()) == []


@pytest.mark.parametrize("words", [["status"], ["down"], ["exec", "server", "true"]])
def test_a_name_that_would_leave_the_folder_is_refused(state: Path, words: list[str]) -> None:
    result = invoke(words[0], "--state", str(state), "--name", "../..", *words[1:])
    assert result.exit_code == 1
    assert "testbed name '../..'" in result.output


def test_exec_on_no_testbed_says_how_to_start_one(state: Path) -> None:
    result = invoke("exec", "--state", str(state), "--name", "absent", "server", "--", "true")
    assert result.exit_code == 1
    assert "pbsteer testbed up --name absent" in result.output


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    result = invoke("up", "--engine", "tents")
    assert result.exit_code == 2
    assert "'netns'" in result.output


def test_every_option_of_up_is_in_the_testbeds_page() -> None:
    page = (Path(cli.__file__).parents[1] / "docs" / "testbed.md").read_text()
    for option in cli.up_command.params:
        assert f"| `{option.opts[0]}" in page


def test_up_with_an_engine_that_is_not_installed_says_what_brings_it(
    state: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path_factory.mktemp("pbs")
    (installed / "sbin").mkdir()
    (installed / "sbin" / "pbs_server.bin").touch()
    monkeypatch.setenv("PATH", str(installed))
    result = invoke("up", "--engine", "podman", "--pbs-exec", str(installed), "--state", str(state))
    assert result.exit_code == 1
    assert "no program 'podman'" in result.output
    assert list(state.iterdir()) == []


def test_the_ways_in_can_be_pasted_whatever_the_path_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "a b" / "pbsteer"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program), "testbed", "up"])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert shlex.split(cli_common.own_command()) == [str(program)]
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{program.parent}")
    assert cli_common.own_command() == "pbsteer"
    spec = TestbedSpec(name="t")
    ways = [line.split(None, 1)[1] for line in cli._ways_in(spec, Path("/srv/beds"), "pbsteer") if "MoM" not in line]
    assert all("--name t --state /srv/beds" in way for way in ways)
    for way in ways:
        words = shlex.split(way)[2:]
        named = cli.testbed.commands[words[0]]
        named.make_context(words[0], words[1:])


def test_hosts_find_pbsteer_behind_all_else() -> None:
    assert cli.inherited(None, {"PATH": "/usr/bin:/bin"})["PATH"] == f"/usr/bin:/bin:{sys.prefix}/bin"
