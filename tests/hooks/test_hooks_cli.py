"""``pbsteer hooks`` where something is not as it should be: one clear line, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tui import hooks_cli

ENTRY: dict[str, Any] = {
    "time_s": 100.0,
    "modes": {"workq": "drive", "idle": "observe"},
    "acted": [],
    "seconds": {"read_s": 0.1, "decide_s": 0.2, "act_s": 0.0},
    "running": 3,
    "waiting": 2,
    "starts": [{}],
    "preempts": [],
    "started": [],
    "requeued": [],
    "notes": ["queue workq is not driven: \x1b[2J"],
    "failures": [],
}


def run(*words: str) -> Result:
    return CliRunner().invoke(hooks_cli.hooks, list(words))


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "pbs.conf"
    path.write_text(f'# a comment\nPBS_HOME="{tmp_path}"\nPBS_EXEC={tmp_path}/exec\nPBS_START_MOM=0\n')
    return path


def test_a_host_without_pbs_is_told(tmp_path: Path) -> None:
    result = run("status", "--pbs-conf", str(tmp_path / "pbs.conf"))
    assert result.exit_code == 1
    assert "No such file or directory: is this the PBS server's host?" in result.output


def test_a_configuration_without_a_home_is_told(tmp_path: Path) -> None:
    (tmp_path / "pbs.conf").write_text("PBS_EXEC=/opt/pbs\n")
    result = run("plan", "--pbs-conf", str(tmp_path / "pbs.conf"))
    assert "PBS_HOME is not set" in result.output


def test_a_qmgr_that_is_not_there_is_told(conf: Path) -> None:
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


def test_the_last_pass_is_told_with_what_stands_in_the_way() -> None:
    told = "\n".join(hooks_cli._describe_last_pass(ENTRY, 107.0))
    assert "workq              drive, not driven: see below" in told
    assert (
        "last pass: 7 s ago, took 0.30 s; 3 jobs run, 2 wait; planned 1 starts and 0 preemptions; done: 0 and 0" in told
    )
    assert "\x1b" not in told


def test_what_passes_would_have_done_is_told_once_there_is_something() -> None:
    would = {"since_s": 100.0, "starts": 3, "preempts": 1}
    told = "\n".join(hooks_cli._describe_last_pass({**ENTRY, "would": would}, 107.0))
    assert "it would have started 3 jobs and preempted 1" in told
    for entry in (ENTRY, {**ENTRY, "would": {**would, "starts": 0, "preempts": 0}}):
        assert "would have" not in "\n".join(hooks_cli._describe_last_pass(entry, 107.0))


def test_before_the_first_pass_that_is_told() -> None:
    assert hooks_cli._describe_last_pass({}, 107.0) == ["last pass: none has been seen"]


class FakeBin:
    """A PBS_EXEC whose qmgr prints a server with nothing of ours; what it is told to change is refused."""

    def __init__(self, folder: Path) -> None:
        (folder / "bin").mkdir(parents=True)
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
    assert [line[2:] for line in shown.splitlines() if line.startswith("# ")] == [
        group["why"] for group in told["groups"]
    ]
    steps = [step for group in told["groups"] for step in group["steps"]]
    assert {step["do"] for step in steps} == {"write", "qmgr"}
    assert f'qmgr -c "{next(step["line"] for step in steps if "line" in step)}"' in shown
    assert json.loads(run("remove", "--plan", "--json", "--pbs-conf", str(conf)).output)["groups"] == []


def test_json_alone_is_refused_and_nothing_is_removed(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    (tmp_path / "pbsteer").mkdir()
    result = run("remove", "--json", "--pbs-conf", str(conf))
    assert result.exit_code == 2
    assert "remove --plan --json" in result.output
    told = json.loads(run("remove", "--plan", "--json", "--pbs-conf", str(conf)).output)
    assert [step["do"] for group in told["groups"] for step in group["steps"]] == ["remove"]
    assert (tmp_path / "pbsteer").exists()


def test_status_of_a_server_without_hooks_ends_with_1_and_says_what_is_missing(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    result = run("status", "--pbs-conf", str(conf))
    assert result.exit_code == 1
    assert "needs attention:\n  pbsteer_queuejob: is not there" in result.output
    told = json.loads(run("status", "--json", "--pbs-conf", str(conf)).output)
    assert (told["well"], told["last_pass"]) == (False, None)


def test_a_partition_whose_vnode_runs_a_job_is_told_before_anything_is_done(conf: Path, tmp_path: Path) -> None:
    FakeBin(tmp_path / "exec")
    for command in ("plan", "apply"):
        result = run(command, "--partition", "p", "--queue", "workq", "--vnode", "n1", "--pbs-conf", str(conf))
        assert result.exit_code == 1
        assert "n1 (7.s)" in result.output
    assert not (tmp_path / "pbsteer").exists()


@pytest.mark.parametrize("words", [("--queue", "q"), ("--vnode", "v")])
def test_a_part_without_a_partition_is_a_wrong_use(conf: Path, tmp_path: Path, words: tuple[str, str]) -> None:
    FakeBin(tmp_path / "exec")
    result = run("plan", *words, "--pbs-conf", str(conf))
    assert result.exit_code == 2
    assert "belong to --partition" in result.output


@pytest.mark.parametrize(("options", "words"), [((), "save"), (("--criu", "/opt/criu/criu"), "dump")])
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
    program = f"!{tmp_path}/exec/bin/pbs_python {folder}/checkpoint.py {words} %jobid %sid %taskid %path"
    assert " ".join((f"$action checkpoint_abort 40 {program}", *options[1:])) in result.output.splitlines()


def test_a_folder_that_a_mom_could_not_read_from_its_configuration_is_refused(conf: Path, tmp_path: Path) -> None:
    result = run("scripts", "--to", str(tmp_path / "a b"), "--pbs-conf", str(conf))
    assert result.exit_code == 1
    assert "a path without blanks" in result.output
    assert not (tmp_path / "a b").exists()
