"""``pbsteer audit`` shows the changes to the server that is asked: no practice on a demo, no other server's."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.audit.shared_audit_file import CHANGES, RECORDED
from tests.tui.written_journal_and_audit import a_pass, write_changes, write_journal
from tui.cli.main import main
from tui.cli.open_backend import open_demo, open_real

COMMAND = "qmgr -c 'set queue workq started = True'"
_QSTAT = """#!/bin/sh
echo '{"Server": {"hpc1": {"server_host": "hpc1.site.org"}}}'
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this user's audit is, on the host of the server hpc1."""
    (tmp_path / "bin").mkdir()
    qstat = tmp_path / "bin" / "qstat"
    qstat.write_text(_QSTAT)
    qstat.chmod(0o755)
    conf = tmp_path / "pbs.conf"
    conf.write_text(f"PBS_EXEC={tmp_path}\nPBS_HOME={tmp_path}/home\nPBS_SERVER=batch\n")
    monkeypatch.setenv("PBS_CONF_FILE", str(conf))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "home" / "pbsteer").mkdir(parents=True)
    return tmp_path / "state" / "pbsteer"


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result


def servers(*arguments: str) -> list[str]:
    told = json.loads(run("audit", "--json", *arguments).stdout)
    return [change["server"] for change in told["changes"]]


@pytest.mark.parametrize(
    "change",
    [
        ("quota", "set", "workq", "alice", "10"),
        ("do", "stop", "workq"),
        ("pause",),
    ],
)
def test_practice_on_the_demo_is_in_no_record_of_a_real_server(state: Path, change: tuple[str, ...]) -> None:
    run(*change, "--demo", "--yes")
    assert not state.exists()
    assert servers() == []
    assert "only as long as it runs" in run("audit", "--demo").stderr


def test_a_demos_own_record_goes_with_it() -> None:
    demo = open_demo()
    try:
        folder = demo.own_audit.parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        demo.close()
    assert not folder.exists()


def test_the_audit_of_a_server_has_its_own_changes_by_whatever_name_it_had(state: Path) -> None:
    for server in ("hpc1", "hpc2", "hpc1.site.org", "hpc1.other.org", "batch", "demo"):
        write_changes(state / "audit.jsonl", "done", command=COMMAND, server=server)
    assert servers() == ["hpc1", "hpc1.site.org", "batch"]


def test_the_shared_file_of_this_host_is_that_of_its_own_server_alone(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = state.parents[1] / "home" / "pbsteer" / "changes.jsonl"
    write_changes(shared, "done", command=COMMAND, server="hpc1")
    assert open_real(os.environ, "", None).shared_audit() == shared
    assert open_real(os.environ, "hpc1", None).shared_audit() is None
    monkeypatch.setattr("socket.gethostname", lambda: "hpc1")
    assert open_real(os.environ, "hpc1", None).shared_audit() == shared, "the server of this host, by another name"
    assert servers() == ["hpc1"]
    qstat = state.parents[1] / "bin" / "qstat"
    qstat.write_text(_QSTAT.replace("hpc1", "hpc2"))
    assert open_real(os.environ, "hpc2", None).shared_audit() is None
    assert servers("--server", "hpc2") == []


def test_the_passes_on_this_host_are_told_of_its_own_server_alone(state: Path) -> None:
    folder = state.parents[1] / "home" / "pbsteer"
    write_journal(folder, a_pass(60))
    assert len(open_real(os.environ, "", None).journal.read().entries) == 1
    other = open_real(os.environ, "hpc2", None).journal
    assert (other.read().entries, other.about("1.s")) == ((), [])
    home = open_real(os.environ, "", None).name
    assert other.problem == f"the passes on this host are those of {home}: hpc2 has its own on its host"


def test_a_server_that_does_not_answer_goes_by_the_name_that_was_asked_for(state: Path) -> None:
    (state.parents[1] / "bin" / "qstat").write_text("#!/bin/sh\nexit 1\n")
    write_changes(state / "audit.jsonl", "done", command=COMMAND, server="batch.site.org")
    assert servers() == ["batch.site.org"]


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        (None, "no pass has said yet whether the server records requests"),
        ({"since_s": None}, "the server does not record requests: it has no hook pbsteer_management"),
        ({"since_s": 1_795_796_574.0}, "requests are recorded since "),
    ],
)
def test_it_says_since_when_requests_are_recorded_and_which_lines_can_be_forged(
    state: Path, recorded: dict[str, float | None] | None, words: str
) -> None:
    folder = state.parents[1] / "home" / "pbsteer"
    entry = {"time": "2026-11-22T12:00:00+00:00", "stage": "done", "user": "olga", "origin": "h", "server": "hpc1"}
    lines = [
        {**entry, "command": "qdel 7.hpc1", "log": "20261122:9"},
        {**entry, "command": "create queue a", "source": "request"},
    ]  # fmt: skip
    (folder / CHANGES).write_text("".join(json.dumps(line) + "\n" for line in lines))
    if recorded is not None:
        (folder / RECORDED).write_text(json.dumps(recorded))
    result = run("audit")
    assert words in result.stderr
    assert [line.split(": ")[1] for line in result.stdout.splitlines() if line.endswith("  [log]")] == [
        "qdel 7.hpc1  [log]"
    ]
    told = json.loads(run("audit", "--json").stdout)
    assert {change["command"]: change["source"] for change in told["changes"]} == {
        "qdel 7.hpc1": "log",
        "create queue a": "request",
    }
    assert told["recorded_since_s"] == (recorded or {}).get("since_s")
