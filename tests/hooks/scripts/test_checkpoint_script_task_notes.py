"""The notes that the checkpoint script leaves for the hooks, where a MoM keeps its own files and where that goes wrong.
What it does to processes is tried on a real server (tests/pbs/saving/test_preempted_programs_save_and_continue.py,
test_checkpoint_or_restart_fails.py)."""

from __future__ import annotations

import json
import os
import pwd
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.checkpoint.on_job_host.read_saved_task_notes import SAVED
from hooks.checkpoint.on_job_host.report_restarted_as_running import RESTARTED
from hooks.deploy.install_mom_scripts_run_as_root import read_script
from hooks.scripts import (
    checkpoint,
    criu,
    restore_task_limits,
    save_by_signal_and_restart,
    session_processes,
    write_saved_task_notes,
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become the job's user")


@pytest.fixture
def mom_priv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A MoM's home, as its actions are told of it."""
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "aux" / "1.s"))
    (tmp_path / "mom_priv").mkdir()
    return tmp_path / "mom_priv"


def note_saved(job_id: str, sid: int, mom_priv: Path) -> None:
    write_saved_task_notes.begin_note(job_id, sid, mom_priv)
    write_saved_task_notes.note_saved(job_id, sid, mom_priv)


def run(what: str, monkeypatch: pytest.MonkeyPatch, result: int | Exception) -> int:
    def answer(*_: object) -> int:
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(checkpoint, what, answer)
    return checkpoint.act([what, "1.s", "-42", "00000001", "/elsewhere/1.s.CK/00000001"])


def test_a_mom_s_folder_is_found_wherever_it_keeps_checkpoints(
    tmp_path: Path, mom_priv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write_saved_task_notes.find_mom_priv(Path("/elsewhere/1.s.CK/00000001")) == mom_priv
    monkeypatch.delenv("PBS_NODEFILE")
    assert write_saved_task_notes.find_mom_priv(tmp_path / "checkpoint" / "1.s.CK" / "00000001") == mom_priv


@pytest.mark.parametrize("what", ["restart", "restore"])
def test_the_note_of_a_saved_job_goes_when_it_runs_again(
    mom_priv: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    note_saved("1.s", 42, mom_priv)
    assert [path.name for path in mom_priv.iterdir()] == [f"{SAVED}1.s.42"]
    assert run(what, monkeypatch, 0) == 0
    assert [path.name for path in mom_priv.iterdir()] == [f"{RESTARTED}1.s"]


def test_each_task_has_a_note_which_says_what_sessions_of_the_job_were_saved_before(
    mom_priv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for job_id, sid in (("1.s", 42), ("1.s.t", 7), ("1.s", 43)):
        note_saved(job_id, sid, mom_priv)
    told = {f"{SAVED}1.s.42": "", f"{SAVED}1.s.t.7": "", f"{SAVED}1.s.43": "42"}
    assert {path.name: path.read_text() for path in mom_priv.iterdir()} == told
    assert run("restart", monkeypatch, 0) == 0
    assert {path.name for path in mom_priv.iterdir()} == {*told, f"{RESTARTED}1.s"} - {f"{SAVED}1.s.42"}


@pytest.mark.parametrize("result", [1, OSError("no"), ValueError("no"), KeyError("no")])
def test_the_note_of_a_job_that_could_not_be_restarted_stays(
    mom_priv: Path, monkeypatch: pytest.MonkeyPatch, result: int | Exception
) -> None:
    note_saved("1.s", 42, mom_priv)
    assert run("restart", monkeypatch, result) == 1
    assert [path.name for path in mom_priv.iterdir()] == [f"{SAVED}1.s.42"]


def test_a_restarted_job_of_which_nothing_can_be_noted_runs(mom_priv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note_saved("1.s", 42, mom_priv)
    (mom_priv / f"{RESTARTED}1.s").symlink_to(mom_priv / "nowhere" / "at all")
    assert run("restart", monkeypatch, 0) == 0
    assert not (mom_priv / f"{SAVED}1.s.42").exists()


@pytest.mark.parametrize("what", ["restart", "restore"])
def test_what_is_not_noted_as_saved_is_not_restarted(
    mom_priv: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A MoM restarts the tasks of a job whose checkpoint failed, in the middle of its requeue too."""
    note_saved("1.s", 43, mom_priv)
    write_saved_task_notes.begin_note("1.s", 42, mom_priv)
    assert run(what, monkeypatch, AssertionError("it was restarted")) == 1
    assert not (mom_priv / f"{RESTARTED}1.s").exists()


def test_nobody_is_asked_who_could_not_be_noted(
    tmp_path: Path, job: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save_by_signal_and_restart, "send", lambda *_: pytest.fail("it was asked"))
    with pytest.raises(FileNotFoundError):
        save_by_signal_and_restart.save("1.s", job.pid, tmp_path / "1.CK", tmp_path / "gone")
    with pytest.raises(FileNotFoundError):
        save_by_signal_and_restart.save("1.s", job.pid, tmp_path / "gone" / "1.CK", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_save_that_failed_leaves_nothing_to_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save_by_signal_and_restart, "WAIT_S", 0.5)
    ignores = "import signal, sys, time; signal.signal(signal.SIGUSR2, signal.SIG_IGN); print(); sys.stdout.flush()"
    argv = [sys.executable, "-c", f"{ignores}; time.sleep(600)"]
    with subprocess.Popen(argv, start_new_session=True, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            assert save_by_signal_and_restart.save("1.s", process.pid, tmp_path / "1.CK", tmp_path) == 1
        finally:
            process.kill()
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_saved_yet_looks_like_no_task_to_a_mom(
    tmp_path: Path, job: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads the names in a job's folder as numbers, as far as they are ones, but for those with a dot in front."""
    names: list[str] = []
    (tmp_path / "1.CK").mkdir()
    monkeypatch.setattr(
        save_by_signal_and_restart, "send", lambda *_: names.extend(path.name for path in (tmp_path / "1.CK").iterdir())
    )
    monkeypatch.setattr(save_by_signal_and_restart, "WAIT_S", 0.0)
    assert save_by_signal_and_restart.save("1.s", job.pid, tmp_path / "1.CK" / "00000001", tmp_path) == 1
    assert names == [".00000001"]


def test_what_has_ended_after_it_was_asked_is_saved_and_noted(tmp_path: Path, job: subprocess.Popen[bytes]) -> None:
    assert save_by_signal_and_restart.save("1.s", job.pid, tmp_path / "1.CK", tmp_path) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"1.CK", f"{SAVED}1.s.{job.pid}"}
    told = json.loads((tmp_path / "1.CK").read_text())
    assert told["command"] == ["sleep", "600"]
    assert tuple(told["limits"]["Max open files"]) == resource.getrlimit(resource.RLIMIT_NOFILE)


def test_an_environment_that_cannot_be_one_is_not_read(tmp_path: Path, job: subprocess.Popen[bytes]) -> None:
    """A process may declare any of its memory to be its environment, and root would read it all."""
    huge = tmp_path / "environ"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="more than 2 MiB"):
        session_processes.read_strings(huge)
    assert not session_processes.is_login_shell(job.pid)


_SLOW = "#!/bin/sh\n{first}\ntouch {begun}\nwhile [ ! -e {leave} ]; do sleep 0.1; done\n"
"""As much of CRIU as has a MoM lose its patience: it does something, and takes its time."""


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()[0]


def wait_until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(0.05)


@pytest.fixture
def job() -> Iterator[subprocess.Popen[bytes]]:
    """A job of one process."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


class Script:
    """The checkpoint script as a MoM runs it for a job's task, with a stand-in for CRIU."""

    def __init__(self, folder: Path, what: str, sid: int, program: str, uid: int | None = None) -> None:
        self.mom_priv, self._begun, self._leave = (folder / name for name in ("mom_priv", "begun", "leave"))
        self.mom_priv.mkdir(exist_ok=True)
        stand_in, image = folder / "criu", folder / "00000001"
        stand_in.write_text(program.format(first="kill -STOP $9", begun=self._begun, leave=self._leave))
        stand_in.chmod(0o755)
        if what == "restore":
            note_saved("1.s", sid, self.mom_priv)
            (image / "images").mkdir(parents=True)
            (image / "bounds").write_text(json.dumps(restore_task_limits.read_bounds(sid)))
        words = [what, "1.s", str(sid), "00000001", str(image), str(stand_in)]
        user = str(os.getuid() if uid is None else uid)
        environment = {**os.environ, "UID": user, "GID": user, "PBS_NODEFILE": str(folder / "aux" / "1.s")}
        # A process that the script leaves behind has the pipe.
        self._left, writable = os.pipe()
        script = folder / "checkpoint.py"
        script.write_bytes(read_script("checkpoint.py"))
        argv = [sys.executable, "-I", str(script), *words]
        self.process = subprocess.Popen(argv, env=environment, stdout=writable)
        os.close(writable)

    def kill_while_criu_runs(self) -> None:
        wait_until(self._begun.exists, "CRIU")
        self.process.kill()
        self.process.wait()

    def let_criu_end(self) -> None:
        self._leave.touch()

    def wait_for_all(self) -> int:
        """The exit status, once no process that the script has left behind is there any more."""
        status = self.process.wait(60)
        assert os.read(self._left, 1) == b""
        os.close(self._left)
        return status

    def notes(self) -> list[str]:
        return [path.name for path in self.mom_priv.iterdir()]


@needs_root
def test_a_job_goes_on_where_its_mom_has_no_patience_with_the_dump(
    tmp_path: Path, job: subprocess.Popen[bytes]
) -> None:
    script = Script(tmp_path, "dump", job.pid, _SLOW)
    wait_until(lambda: state_of(job.pid) == "T", "CRIU stops the job")
    write_saved_task_notes.note_saved("1.s", job.pid, script.mom_priv)
    script.kill_while_criu_runs()
    assert state_of(job.pid) == "T"
    script.let_criu_end()
    wait_until(lambda: state_of(job.pid) == "S", "the job goes on")
    script.wait_for_all()
    assert not script.notes()


@needs_root
def test_the_note_of_a_saved_job_stays_though_its_processes_take_their_time_to_be_gone(
    tmp_path: Path, job: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As large ones do: the kernel takes back their memory first."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(criu, "send", lambda process, number: sent.append((process.pid, number)))
    monkeypatch.setenv("UID", str(os.getuid()))
    monkeypatch.setenv("GID", str(os.getgid()))
    left, writable = os.pipe()
    script = os.fork()
    if not script:
        try:
            failed = criu.dump("1.s", job.pid, tmp_path / "00000001", tmp_path, "/bin/true")
            os._exit(failed or int(sent != [(job.pid, signal.SIGKILL)]))
        finally:
            os._exit(99)
    os.close(writable)
    assert os.waitstatus_to_exitcode(os.waitpid(script, 0)[1]) == 0
    assert os.read(left, 1) == b""
    os.close(left)
    assert state_of(job.pid) == "S"
    assert (tmp_path / f"{SAVED}1.s.{job.pid}").exists()


def test_a_job_whose_output_has_become_a_fifo_leaves_no_process_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process reads it: this one would be there still once the script and the job have ended."""
    os.mkfifo(tmp_path / "out")
    told: dict[str, Any] = {"folder": str(tmp_path), "out": str(tmp_path / "out"), "err": os.devnull}
    told |= {"environment": [], "command": ["/bin/true"]}
    monkeypatch.setenv("UID", str(os.getuid()))
    monkeypatch.setenv("GID", str(os.getgid()))
    monkeypatch.setattr(os, "initgroups", lambda *_: None)
    readable, writable = os.pipe()
    task = os.fork()
    if not task:
        try:
            save_by_signal_and_restart.become("1.s", told, tmp_path, writable)
        finally:
            os._exit(1)
    os.close(writable)
    has_answered = bool(select.select([readable], [], [], 10.0)[0])
    if not has_answered:
        os.kill(task, signal.SIGKILL)
    os.waitpid(task, 0)
    assert has_answered
    assert os.read(readable, 1) == b"!"
    os.close(readable)


@pytest.mark.parametrize("is_script_there", [True, False])
def test_a_job_whose_folder_kept_its_restart_waiting_runs_only_where_its_mom_has_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_script_there: bool
) -> None:
    ran = tmp_path / "ran"
    told: dict[str, Any] = {"folder": str(tmp_path), "out": os.devnull, "err": os.devnull}
    told |= {"environment": [], "command": ["/usr/bin/touch", str(ran)]}
    monkeypatch.setenv("UID", str(os.getuid()))
    monkeypatch.setenv("GID", str(os.getgid()))
    monkeypatch.setattr(os, "initgroups", lambda *_: None)
    monkeypatch.setattr(os, "chdir", lambda _: is_script_there or monkeypatch.setattr(os, "getppid", lambda: 1))
    readable, writable = os.pipe()
    task = os.fork()
    if not task:
        try:
            save_by_signal_and_restart.become("1.s", told, tmp_path, writable)
        finally:
            os._exit(1)
    os.close(writable)
    assert os.waitstatus_to_exitcode(os.waitpid(task, 0)[1]) == int(not is_script_there)
    assert os.read(readable, 1) == (b"" if is_script_there else b"!")
    os.close(readable)
    assert ran.exists() is is_script_there


@needs_root
def test_a_job_that_is_restored_after_its_mom_lost_patience_does_not_run(
    tmp_path: Path, job: subprocess.Popen[bytes]
) -> None:
    script = Script(tmp_path, "restore", job.pid, _SLOW.replace("{first}", ":"))
    script.kill_while_criu_runs()
    assert state_of(job.pid) == "S"
    script.let_criu_end()
    assert job.wait(60) == -signal.SIGKILL
    script.wait_for_all()
    assert script.notes() == [f"{SAVED}1.s.{job.pid}"]


@needs_root
def test_a_job_that_is_restored_runs_when_all_who_restored_it_are_gone(
    tmp_path: Path, job: subprocess.Popen[bytes]
) -> None:
    assert Script(tmp_path, "restore", job.pid, "#!/bin/sh\n").wait_for_all() == 0
    assert state_of(job.pid) == "S"


@needs_root
def test_what_a_failed_restore_leaves_does_not_run(tmp_path: Path, job: subprocess.Popen[bytes]) -> None:
    assert Script(tmp_path, "restore", job.pid, "#!/bin/sh\nexit 1\n").wait_for_all() == 1
    assert job.wait(60) == -signal.SIGKILL


@needs_root
def test_a_failed_restore_ends_nobody_else_s_processes(tmp_path: Path, job: subprocess.Popen[bytes]) -> None:
    assert Script(tmp_path, "restore", job.pid, "#!/bin/sh\nexit 1\n", uid=os.getuid() + 1).wait_for_all() == 1
    assert state_of(job.pid) == "S"


@needs_root
def test_a_job_whose_number_another_process_has_is_not_restored_and_that_process_runs(
    tmp_path: Path, job: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def restore(*_: object) -> int:
        raise AssertionError

    monkeypatch.setattr(criu, "POLL_S", 0.0)
    monkeypatch.setattr(criu, "run_criu", restore)
    monkeypatch.setenv("UID", str(os.getuid()))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / f"core-{job.pid}.img").touch()
    (tmp_path / "bounds").write_text("{}")
    assert criu.restore(job.pid, tmp_path, "/bin/true") == 1
    assert state_of(job.pid) in ("R", "S", "D"), "it was stopped"


@pytest.fixture
def stand_in() -> Iterator[Path]:
    """As much of CRIU as tells who runs it, where every user may run it."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    program = folder / "criu"
    program.write_text('#!/bin/sh\n{ id -u; id -g; grep ^Cap /proc/$$/status; } > "$4/shown"\n')
    program.chmod(0o755)
    yield program
    shutil.rmtree(folder)


@needs_root
def test_criu_runs_as_the_job_s_user_with_one_capability(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in: Path
) -> None:
    """It comes to its images though their folder is in one of root's, into which no user can look."""
    nobody = pwd.getpwnam("nobody")
    job = subprocess.Popen(["sleep", "600"], start_new_session=True, user=nobody.pw_uid, group=nobody.pw_gid)
    monkeypatch.setenv("UID", str(nobody.pw_uid))
    monkeypatch.setenv("GID", str(nobody.pw_gid))
    image = tmp_path / "00000001"
    wait_until(lambda: session_processes.read_users(job.pid) == {nobody.pw_uid}, "the job is its user's")
    assert criu.dump("1.s", job.pid, image, tmp_path, str(stand_in)) == 0
    assert job.wait(60) == -signal.SIGKILL
    uid, gid, *capabilities = (image / "images" / "shown").read_text().splitlines()
    assert (int(uid), int(gid)) == (nobody.pw_uid, nobody.pw_gid)
    sets = {name: int(value, 16) for name, value in (line.split(":") for line in capabilities)}
    checkpoint_restore = 1 << 40
    assert {name: sets[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == dict.fromkeys(
        ("CapPrm", "CapEff", "CapInh", "CapAmb"), checkpoint_restore
    )
    assert image.stat().st_mode & 0o777 == 0o700


@needs_root
def test_a_criu_that_others_could_exchange_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in: Path, job: subprocess.Popen[bytes]
) -> None:
    monkeypatch.setenv("UID", str(os.getuid()))
    monkeypatch.setenv("GID", str(os.getgid()))
    stand_in.parent.chmod(0o777)
    assert criu.dump("1.s", job.pid, tmp_path / "00000001", tmp_path, str(stand_in)) == 1
    assert job.poll() is None
    assert list(tmp_path.iterdir()) == []
