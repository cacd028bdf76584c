"""The notes that the checkpoint script leaves for the hooks, where a MoM keeps its own files and where that goes wrong.
What it does to processes is tried on a real server (tests/pbs/test_saving_story.py, test_saving_fails.py)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hooks.method import SAVED
from hooks.restarted import RESTARTED
from hooks.scripts import checkpoint


@pytest.fixture
def mom_priv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A MoM's home, as its actions are told of it; descriptors and masks of the test's own process stay as they are."""
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "aux" / "1.s"))
    monkeypatch.setattr(os, "open", _open_none(os.open))
    monkeypatch.setattr(os, "umask", lambda _: 0)
    (tmp_path / "mom_priv").mkdir()
    return tmp_path / "mom_priv"


def _open_none(really: Any) -> Any:
    return lambda path, *rest: 2 if path == os.devnull else really(path, *rest)


def run(what: str, monkeypatch: pytest.MonkeyPatch, result: int | Exception) -> int:
    def answer(*_: object) -> int:
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(checkpoint, what, answer)
    return checkpoint.main([what, "1.s", "-42", "00000001", "/elsewhere/1.s.CK/00000001"])


def test_a_mom_s_folder_is_found_wherever_it_keeps_checkpoints(
    tmp_path: Path, mom_priv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checkpoint.find_mom_priv(Path("/elsewhere/1.s.CK/00000001")) == mom_priv
    monkeypatch.delenv("PBS_NODEFILE")
    assert checkpoint.find_mom_priv(tmp_path / "checkpoint" / "1.s.CK" / "00000001") == mom_priv


@pytest.mark.parametrize("what", ["restart", "restore"])
def test_the_note_of_a_saved_job_goes_when_it_runs_again(
    mom_priv: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    checkpoint.note_saved("1.s", 42, mom_priv)
    assert (mom_priv / f"{SAVED}1.s").read_text() == "42"
    assert run(what, monkeypatch, 0) == 0
    assert [path.name for path in mom_priv.iterdir()] == [f"{RESTARTED}1.s"]


@pytest.mark.parametrize("result", [1, OSError("no"), ValueError("no"), KeyError("no")])
def test_the_note_of_a_job_that_could_not_be_restarted_stays(
    mom_priv: Path, monkeypatch: pytest.MonkeyPatch, result: int | Exception
) -> None:
    checkpoint.note_saved("1.s", 42, mom_priv)
    assert run("restart", monkeypatch, result) == 1
    assert [path.name for path in mom_priv.iterdir()] == [f"{SAVED}1.s"]


def test_a_restarted_job_of_which_nothing_can_be_noted_runs(mom_priv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint.note_saved("1.s", 42, mom_priv)
    (mom_priv / f"{RESTARTED}1.s").symlink_to(mom_priv / "nowhere" / "at all")
    assert run("restart", monkeypatch, 0) == 0
    assert not (mom_priv / f"{SAVED}1.s").exists()


def test_a_job_of_which_nothing_can_be_noted_is_saved_all_the_same(tmp_path: Path) -> None:
    checkpoint.note_saved("1.s", 42, tmp_path / "gone")
    assert not (tmp_path / "gone").exists()


_STOPS = "#!/bin/sh\nkill -STOP $8\ntouch {begun}\nwhile [ ! -e {leave} ]; do sleep 0.1; done\n"
"""As much of CRIU as has a MoM lose its patience: the job's process stands still, and it takes its time."""


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()[0]


def wait_until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(0.05)


def test_a_job_goes_on_where_its_mom_has_no_patience_with_the_dump(tmp_path: Path) -> None:
    criu, begun, leave = (tmp_path / name for name in ("criu", "begun", "leave"))
    criu.write_text(_STOPS.format(begun=begun, leave=leave))
    criu.chmod(0o755)
    (tmp_path / "mom_priv").mkdir()
    environment = {**os.environ, "UID": str(os.getuid()), "PBS_NODEFILE": str(tmp_path / "aux" / "1.s")}
    job = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        words = ["dump", "1.s", str(job.pid), "00000001", str(tmp_path / "00000001"), str(criu)]
        script = subprocess.Popen([sys.executable, checkpoint.__file__, *words], env=environment)
        wait_until(begun.exists, "the dump")
        assert state_of(job.pid) == "T"
        checkpoint.note_saved("1.s", job.pid, tmp_path / "mom_priv")
        script.kill()
        script.wait()
        assert state_of(job.pid) == "T"
        leave.touch()
        wait_until(lambda: state_of(job.pid) == "S", "the job goes on")
        assert not list((tmp_path / "mom_priv").iterdir())
    finally:
        job.kill()
        job.wait()
