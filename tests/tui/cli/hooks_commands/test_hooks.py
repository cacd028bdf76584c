"""``pbsteer hooks`` where something is not as it should be: one clear line, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.hook_names import HOOKS
from policy.settings.settings_of_server_and_passes import AlertSettings
from policy.settings.site_settings import Settings
from tests.hooks.fake_qmgr import FakeQmgr
from tui.cli.hooks_commands import hooks as hooks_cli
from tui.cli.hooks_commands import send_test_alert as alert_cli


def run(*words: str) -> Result:
    return CliRunner().invoke(hooks_cli.hooks, list(words))


@pytest.fixture(autouse=True)
def _no_file_of_this_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks_cli, "DEFAULT_POLICY", tmp_path / "no-such-policy.toml")


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "pbs.conf"
    path.write_text(f'# a comment\nPBS_HOME="{tmp_path}"\nPBS_EXEC={tmp_path}/exec\nPBS_START_MOM=0\n')
    return path


def test_a_host_without_pbs_is_told(tmp_path: Path) -> None:
    result = run("status", "--pbs-conf", str(tmp_path / "pbs.conf"))
    assert result.exit_code == 1
    assert "No such file or directory: is this the PBS server's host?" in result.output


def test_a_configuration_without_a_home_is_reported(tmp_path: Path) -> None:
    (tmp_path / "pbs.conf").write_text("PBS_EXEC=/opt/pbs\n")
    result = run("plan", "--pbs-conf", str(tmp_path / "pbs.conf"))
    assert "PBS_HOME is not set" in result.output


def test_a_qmgr_that_is_not_there_is_reported(conf: Path) -> None:
    result = run("plan", "--pbs-conf", str(conf))
    assert result.exit_code == 1
    assert "exec/bin/qmgr: No such file or directory" in result.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[quota]\nvictim_order = 'tallest'\n", "quota.victim_order = 'tallest'; allowed is one of newest"),
        (b"nonsense = 1\n", "unknown key 'nonsense'"),
        (b"[quota\n", "site.toml"),
        (b"\xff\xfe", "site.toml"),
    ],
)
def test_settings_that_cannot_be_used_change_nothing(conf: Path, tmp_path: Path, text: bytes, words: str) -> None:
    (tmp_path / "site.toml").write_bytes(text)
    result = run("apply", "--pbs-conf", str(conf), "--policy", str(tmp_path / "site.toml"))
    assert result.exit_code == 1
    assert words in result.output
    assert "qmgr" not in result.output


def test_a_settings_file_that_is_not_there_is_named(conf: Path) -> None:
    result = run("plan", "--pbs-conf", str(conf), "--policy", "no-such.toml")
    assert "no-such.toml" in result.output


def test_the_help_names_the_option_once() -> None:
    shown = run("apply", "--help").output
    assert "--settings FILE" in shown
    assert "--policy" not in shown


class FakeBin:
    """A PBS_EXEC whose qmgr prints a server with nothing of ours, and refuses changes; beside it its home."""

    def __init__(self, folder: Path) -> None:
        (folder / "bin").mkdir(parents=True)
        (folder.parent / "server_priv" / "hooks").mkdir(parents=True)
        (folder.parent / "server_priv" / "server.lock").write_text("1\n")
        texts = {
            "list hook @default": "", "list resource": "", "print server": "set server scheduling = True",
            "list sched": "Sched default\n    scheduling = True", "list queue @default partition": "Queue workq",
            "list node @default partition": "Node n1", "list queue workq": "Queue workq",
            "list node n1": "Node n1", "list node n1 jobs,resv": "Node n1\n    jobs = 7.s/0",
        }  # fmt: skip
        cases = "".join(f"  {line!r}) printf '%b\\n' {text!r};;\n" for line, text in texts.items())
        for name in ("qmgr", "qselect"):
            program = folder / "bin" / name
            program.write_text(f'#!/bin/sh\n[ {name} = qselect ] && exit 0\ncase "$2" in\n{cases}  *) exit 3;;\nesac\n')
            program.chmod(0o755)


def test_the_plan_as_json_has_every_group_with_its_reason_and_steps(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    shown = run("plan", "--pbs-conf", str(conf)).output
    told = json.loads(run("plan", "--json", "--pbs-conf", str(conf)).output)
    headings = "\n".join(line for line in shown.splitlines() if line.startswith("#")).replace("\n#   ", " ")
    assert [line[2:] for line in headings.splitlines()] == [
        f"settings: {told['settings']['source']}", *(group["why"] for group in told["groups"]),
    ]  # fmt: skip
    steps = [step for group in told["groups"] for step in group["steps"]]
    assert {step["do"] for step in steps} == {"write", "qmgr"}
    assert f'qmgr -c "{next(step["line"] for step in steps if "line" in step)}"' in shown
    assert json.loads(run("remove", "--plan", "--json", "--pbs-conf", str(conf)).output)["groups"] == []


def test_a_removal_as_json_is_one_object_planned_or_done(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    (tmp_path / "pbsteer").mkdir()
    planned = json.loads(run("remove", "--plan", "--json", "--pbs-conf", str(conf)).output)
    assert [step["do"] for group in planned["groups"] for step in group["steps"]] == ["remove"]
    assert planned.pop("obstacle") == ""
    assert (tmp_path / "pbsteer").exists()
    result = run("remove", "--json", "--pbs-conf", str(conf))
    assert result.exit_code == 0
    assert json.loads(result.output) == {**planned, "left": []}
    assert not (tmp_path / "pbsteer").exists()
    assert json.loads(run("remove", "--json", "--pbs-conf", str(conf)).output)["groups"] == []
    assert run("remove", "--pbs-conf", str(conf)).output == "nothing to do: nothing of pbsteer is there\n"


def test_an_apply_as_json_that_fails_says_so_beside_and_prints_nothing(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    result = run("apply", "--json", "--pbs-conf", str(conf))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the server is as it was before" in result.stderr


class OnFake:
    """A deployment on a server that takes every line."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.qmgr = FakeQmgr(home)
        monkeypatch.setattr(hooks_cli, "_open", lambda _: (Deployment(str(home), self.qmgr), {"PBS_HOME": str(home)}))


FAST = "[schedule]\ninterval_s = 5\nbudget_s = 2\n"


def test_an_apply_as_json_has_what_was_done_and_again_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = OnFake(tmp_path, monkeypatch)
    planned = json.loads(run("plan", "--json").output)
    assert planned.pop("obstacle") == ""
    done = json.loads(run("apply", "--json").output)
    assert done == {**planned, "mode": "observe"}
    assert set(HOOKS) < set(server.qmgr.hooks)
    assert json.loads(run("apply", "--json").output)["groups"] == []
    assert run("apply").output.splitlines()[-1] == "nothing to do: the hooks are as they should be"


def test_an_apply_without_a_file_keeps_what_was_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    OnFake(tmp_path, monkeypatch)
    policy = tmp_path / "site.toml"
    policy.write_text(FAST)
    first = run("apply", "--settings", str(policy)).output.splitlines()
    assert first[:3] == [f"# settings: {policy}", "#   other than built in:", "#   schedule.interval_s: 15 -> 5"]
    assert first[-1].startswith("done: hooks ")
    assert run("apply").output.splitlines() == [
        "# settings: those that the hooks have already", "#   nothing changes in them",
        "nothing to do: the hooks are as they should be",
    ]  # fmt: skip
    changed = run("plan", "--defaults").output.splitlines()
    assert changed[:4] == [
        "# settings: the built-in ones", "#   changed:", "#   schedule.interval_s: 5 -> 15",
        "#   schedule.budget_s: 2 -> 10",
    ]  # fmt: skip
    assert 'qmgr -c "set hook pbsteer_periodic freq = 15"' in changed


def test_the_host_s_own_file_is_taken_where_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    OnFake(tmp_path, monkeypatch)
    policy = tmp_path / "policy.toml"
    policy.write_text(FAST)
    monkeypatch.setattr(hooks_cli, "DEFAULT_POLICY", policy)
    assert run("plan").output.startswith(f"# settings: {policy}\n")
    assert run("plan", "--defaults").output.startswith("# settings: the built-in ones\n")
    told = json.loads(run("plan", "--json").output)["settings"]
    assert told["source"] == str(policy)
    assert told["changes"]["schedule.interval_s"] == {"old": "15", "new": "5"}


def test_a_file_and_the_built_in_settings_at_once_is_a_wrong_use(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    result = run("apply", "--settings", "x.toml", "--defaults", "--pbs-conf", str(conf))
    assert result.exit_code == 2
    assert "give one of them" in result.output


def test_status_of_a_server_without_hooks_ends_with_1_and_says_what_is_missing(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    result = run("status", "--pbs-conf", str(conf))
    assert result.exit_code == 1
    assert result.output.endswith("needs attention:\n  pbsteer is not installed here: pbsteer hooks plan shows how\n")
    told = json.loads(run("status", "--json", "--pbs-conf", str(conf)).output)
    assert (told["well"], told["last_pass"]) == (False, None)


def test_a_partition_whose_vnode_runs_a_job_is_told_before_anything_is_done(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    part = ("--partition", "p", "--queue", "workq", "--vnode", "n1", "--pbs-conf", str(conf))
    result = run("apply", *part)
    assert result.exit_code == 1
    assert "n1 (7.s)" in result.output
    assert not (tmp_path / "pbsteer").exists()


def test_a_plan_is_shown_whole_with_what_it_would_stop_at_below(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    part = ("--partition", "p", "--queue", "workq", "--vnode", "n1", "--pbs-conf", str(conf))
    result = run("plan", *part)
    assert result.exit_code == 0
    steps, _, obstacle = result.output.partition("# apply would stop here, before it changes anything: ")
    assert 'qmgr -c "set node n1 partition = p"' in steps
    assert "n1 (7.s)" in " ".join(obstacle.replace("#", " ").split())
    assert "n1 (7.s)" in json.loads(run("plan", *part, "--json").output)["obstacle"]
    assert "would stop" not in run("plan", "--pbs-conf", str(conf)).output


@pytest.mark.parametrize("words", [("--queue", "q"), ("--vnode", "v")])
def test_a_part_without_a_partition_is_a_wrong_use(conf: Path, tmp_path: Path, words: tuple[str, str]) -> None:
    FakeBin(tmp_path / "exec")
    result = run("plan", *words, "--pbs-conf", str(conf))
    assert result.exit_code == 2
    assert "belong to --partition" in result.output


@pytest.mark.parametrize(("options", "words"), [((), "save"), (("--criu", "/usr/sbin/criu"), "dump")])
def test_the_scripts_are_written_with_the_lines_that_a_mom_needs(
    conf: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    folder = tmp_path / "etc" / "pbsteer"
    for _ in range(2):
        result = run("scripts", "--to", str(folder), *options, "--pbs-conf", str(conf))
        assert result.exit_code == 0
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "checkpoint.py": 0o755,
        "profile.sh": 0o644,
    }
    program = f"!{tmp_path}/exec/bin/pbs_python -I {folder}/checkpoint.py {words} %jobid %sid %taskid %path"
    assert " ".join((f"$action checkpoint_abort 40 {program}", *options[1:])) in result.output.splitlines()


def test_a_folder_that_a_mom_could_not_read_from_its_configuration_is_refused(conf: Path, tmp_path: Path) -> None:
    result = run("scripts", "--to", str(tmp_path / "a b"), "--pbs-conf", str(conf))
    assert result.exit_code == 1
    assert "a path without blanks" in result.output
    assert not (tmp_path / "a b").exists()


@pytest.mark.parametrize("command", ["plan", "apply"])
@pytest.mark.parametrize(
    ("partition", "words"), [("", "''"), ("a;b", "'a;b'"), ("pbs-default", "partition 'pbs-default' is PBS's own")]
)
def test_a_name_of_a_partition_that_cannot_be_is_a_wrong_use(
    conf: Path, tmp_path: Path, command: str, partition: str, words: str
) -> None:
    FakeBin(tmp_path / "exec")
    result = run(command, "--partition", partition, "--queue", "workq", "--pbs-conf", str(conf))
    assert result.exit_code == 2
    assert words in result.output
    assert "allowed" in result.output


def test_a_test_alert_says_what_became_of_it(conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    settings = Settings(alerts=AlertSettings(("/usr/bin/tee", str(told))))
    monkeypatch.setattr(hooks_cli, "read_applied", lambda _: settings)
    monkeypatch.setattr(Deployment, "read", lambda _: None)
    monkeypatch.setattr(alert_cli, "send_line", lambda *_: "")
    result = run("alert", "--pbs-conf", str(conf))
    assert result.exit_code == 0
    assert "command /usr/bin/tee: ended with 0" in result.output
    assert "a test of alerts" in told.read_text()
    settings = Settings(alerts=AlertSettings(("/no/such",)))
    result = run("alert", "--pbs-conf", str(conf))
    assert result.exit_code == 1
    assert "command /no/such: not run: /no/such: No such file or directory" in result.output


@pytest.mark.parametrize("command", ['"mail"', '["mail"]', "[1]", '["/bin/mail", "a\\u0000b"]', "3"])
def test_a_command_that_is_no_list_with_an_absolute_path_is_refused(conf: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "site.toml").write_text(f"[alerts]\ncommand = {command}\n")
    result = run("apply", "--pbs-conf", str(conf), "--policy", str(tmp_path / "site.toml"))
    assert result.exit_code == 1
    assert "allowed is a list: a program's absolute path, then its arguments" in result.output
