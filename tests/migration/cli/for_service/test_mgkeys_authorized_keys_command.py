"""What sshd is told of a key, and how little is done for one that is none of ours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from migration.cli.for_service import mgdata_ssh_forced_rsync_command, mgkeys_authorized_keys_command
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.job_record_and_copy_updates import Record

OF_B, OF_JOB = "ssh-ed25519 " + "B" * 68, "ssh-ed25519 " + "J" * 68
CLUSTER_FILE = f"""
this = "a"
[[cluster]]
name = "b"
ssh = "mg@b"
key = "{OF_B}"
[[cluster]]
name = "a"
scheduler = "pbs"
landing = "/scratch"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cluster.toml").write_text(CLUSTER_FILE)
    monkeypatch.setenv("MG_HOME", str(tmp_path))
    return tmp_path


def put(home: Path, queue: Queue, state: str) -> None:
    with Spool(home).change() as change:
        change.put(queue, Record(gid="a.7", src="a", dst="b", attempt=2, state=state, datakey=OF_JOB))


def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    monkeypatch.setattr(sys, "argv", ["mgkeys", "mg", *words])
    mgkeys_authorized_keys_command.main()
    return capsys.readouterr().out


def test_each_key_gets_its_line_and_that_of_an_aborted_job_none(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, Queue.SENT, "Uploading")
    assert "mgserve b" in said(capsys, monkeypatch, *OF_B.split())
    assert "mgdata a.7 2" in said(capsys, monkeypatch, *OF_JOB.split())
    assert said(capsys, monkeypatch, "ssh-ed25519", "X" * 68) == ""
    spool = Spool(home)
    assert mgdata_ssh_forced_rsync_command._find(spool, "a.7", "2") is not None
    assert mgdata_ssh_forced_rsync_command._find(spool, "a.7", "1") is None
    with spool.change() as change:
        change.remove(Queue.SENT, "a.7")
    put(home, Queue.DONE, "Aborted")
    assert said(capsys, monkeypatch, *OF_JOB.split()) == ""
    assert mgdata_ssh_forced_rsync_command._find(Spool(home), "a.7", "2") is None


@pytest.mark.parametrize(
    "words", [(), ("ssh-ed25519",), ("ssh-dss", "A" * 68), ("ssh-ed25519", "A" * 2000), ("ssh-ed25519", "A\nB")]
)
def test_what_is_no_key_costs_no_look_at_the_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(mgkeys_authorized_keys_command, "home", lambda: pytest.fail("looked at the files"))
    assert said(capsys, monkeypatch, *words) == ""
