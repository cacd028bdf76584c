"""The phases of one job, their repetition after a crash, and the bounds."""

from __future__ import annotations

import contextlib
import fcntl
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from migration.config.cluster_file import ClusterFileError
from migration.programs.run_external_program_with_limits import TIMED_OUT, Finished
from migration.schedulers.scheduler_interface import JobState, SubmitRefused
from migration.target_job.job_at_target import Job
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease, is_leased, take_share, take_slot
from migration.target_job.phases.local_job_script import write_script
from migration.target_job.run_phases_of_job_at_target import process, process_jobs
from migration.target_job.service_context import find_mark
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.wait_and_retry_bounds import BUSY_FOR_S, DOWNLOAD_FOR_S
from tests.migration.target_job.fake_target import FakeTarget


def test_a_local_job_that_a_crash_left_is_found_and_not_submitted_again(target: FakeTarget) -> None:
    target.put(state="Submitted")
    target.scheduler.names["mg_a.1_1"], target.scheduler.jobs["9"] = "9", JobState("queued")
    process(target.site, "a.1")
    assert target.read().localid == "9"
    assert "submit" not in target.scheduler.calls


def test_a_submission_writes_the_script_and_its_id(target: FakeTarget) -> None:
    target.put(state="Submitted")
    process(target.site, "a.1")
    process(target.site, "a.1")
    assert target.read().localid == "1"
    folder = "/land/alice/a/home/alice/j"
    assert target.users.operations == [
        ("read", f"{folder}/.mg.a.1.exit", "16"), ("write", f"{folder}/.mg.a.1.sh", "700"),
    ]  # fmt: skip


def test_a_lasting_refusal_goes_back_and_excludes_this_cluster(target: FakeTarget) -> None:
    target.put(state="Submitted", avoid=("c",))
    target.scheduler.refusal = SubmitRefused("no such account", lasting=True)
    process(target.site, "a.1")
    assert (target.read().state, target.read().avoid) == ("Requested", ("c", "b"))


def test_a_busy_scheduler_is_asked_again_for_ten_minutes(target: FakeTarget) -> None:
    target.put(state="Submitted")
    target.scheduler.refusal = SubmitRefused("limit", lasting=False)
    process(target.site, "a.1")
    assert (target.read().state, target.read().reason) == ("Submitted", "tried again: busy: limit")
    calls = len(target.scheduler.calls)
    process(target.site, "a.1")
    assert len(target.scheduler.calls) == calls
    target.now_s += BUSY_FOR_S + 1
    process(target.site, "a.1")
    assert (target.read().state, target.read().avoid) == ("Requested", ())


def test_a_build_that_fails_or_takes_too_long_comes_back(target: FakeTarget) -> None:
    for status, reason in ((2, "build failed with 2"), (TIMED_OUT, "build not done within 3600 s")):
        target.put(gid=f"a.{9 + status}" if status > 0 else "a.8", state="Making", build=("x", "y"), rev=5)
        target.users.answers["build"] = Finished(status, b"", b"")
        gid = f"a.{9 + status}" if status > 0 else "a.8"
        process(target.site, gid)
        assert (target.read(gid).state, target.read(gid).then) == ("Downloading", "Aborted")
        assert target.read(gid).reason.split("; tried again")[0] == reason


def test_a_step_without_its_key_is_tried_again_with_growing_pauses(target: FakeTarget) -> None:
    target.put(state="Uploading")
    for tries, pause in ((1, 60), (2, 120)):
        process(target.site, "a.1")
        assert target.read().tries == tries
        target.now_s += pause - 1
        process(target.site, "a.1")
        assert target.read().tries == tries
        target.now_s += 1


def test_an_upload_that_takes_too_long_goes_back(target: FakeTarget) -> None:
    target.put(state="Uploading", reason="broken")
    target.now_s += 14_400
    process(target.site, "a.1")
    assert target.read().state == "Requested"
    assert "not uploaded within 14400 s: broken" in target.read().reason


def test_stop_with_discard_deletes_the_local_job_and_ends(target: FakeTarget) -> None:
    target.put(state="Submitted", localid="7", stop="discard")
    process(target.site, "a.1")
    assert target.read().state == "Stopped"
    assert "delete" in target.scheduler.calls


def test_stop_with_a_silent_scheduler_waits(target: FakeTarget) -> None:
    target.put(state="Submitted", localid="7", stop="stop")
    target.scheduler.silent = True
    process(target.site, "a.1")
    assert target.read().state == "Submitted"


def fail(*_: object, **__: object) -> None:
    raise TypeError("on purpose")


def test_an_error_that_a_phase_does_not_know_is_a_failure_of_its_job_alone(
    target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process goes on with other jobs, and the job is tried again with growing pauses; its log has the error."""
    for gid in ("a.1", "a.2", "a.3"):
        target.put(gid=gid, state="Uploading" if gid == "a.1" else "Submitted", dir=f"/home/alice/{gid}")
    monkeypatch.setattr("migration.target_job.run_phases_of_job_at_target.upload", fail)
    process_jobs(target.site, "a.2")
    assert [target.read(gid).localid for gid in ("a.2", "a.3")] == ["1", "2"]
    record = target.read("a.1")
    assert (record.state, record.tries) == ("Uploading", 1)
    assert record.reason.startswith("tried again: TypeError: on purpose (test_run_phases_of_job_at_target.py:")
    assert "Uploading: TypeError: on purpose" in (target.site.spool.job_folder("a.1") / "upload.log").read_text()
    target.now_s += 61
    process(target.site, "a.1")
    assert Job(target.site, "a.1").rests
    assert target.read().tries == 2


def test_a_download_that_fails_in_an_unknown_way_is_given_up_as_any_other(
    target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.put(state="Downloading", then="End")
    monkeypatch.setattr("migration.target_job.run_phases_of_job_at_target.download", fail)
    process(target.site, "a.1")
    assert (target.read().state, target.read().tries) == ("Downloading", 1)
    target.now_s += DOWNLOAD_FOR_S + 1
    process(target.site, "a.1")
    assert target.read().state == "Aborted"
    assert target.read().reason.startswith("results could not be brought back: TypeError: on purpose")


def test_a_lease_is_one_processs_and_ends_with_it(tmp_path: Path) -> None:
    with hold_lease(tmp_path) as first:
        assert first
        assert is_leased(tmp_path)
        with hold_lease(tmp_path) as second:
            assert not second
        assert (tmp_path / "lease").read_text().startswith("pid=")
    assert not is_leased(tmp_path)


def test_slots_are_as_many_as_the_limit(tmp_path: Path) -> None:
    with take_slot(tmp_path, "upload", 2) as one, take_slot(tmp_path, "upload", 2) as two:
        assert one
        assert two
        with take_slot(tmp_path, "upload", 2) as three, take_slot(tmp_path, "download", 2) as other:
            assert not three
            assert other
    with take_slot(tmp_path, "upload", 1) as again:
        assert again


def test_the_script_runs_the_program_in_its_folder_and_leaves_its_status(tmp_path: Path) -> None:

    record = Record(
        gid="a.1", dir="/home/alice/j", dstdir=str(tmp_path), prog="run", args=("a b", "$x'"), env=("A=1 '2",)
    )
    (tmp_path / "run").write_text('#!/bin/sh\nprintf "%s|" "$@" "$A"\nexit 3\n')
    (tmp_path / "run").chmod(0o755)
    for prog in ("run", "./run", "/home/alice/j/run"):
        (tmp_path / "job").write_text(write_script(Record(**{**vars(record), "prog": prog})))
        done = subprocess.run(["sh", str(tmp_path / "job")], capture_output=True, text=True, timeout=10, check=False)
        assert (done.returncode, done.stdout) == (3, "a b|$x'|1 '2|")
        assert (tmp_path / ".mg.a.1.exit").read_text() == "3\n"


def test_a_folder_of_a_bare_programs_name_does_not_hide_that_program(tmp_path: Path) -> None:
    (tmp_path / "echo").mkdir()
    (tmp_path / "job").write_text(write_script(Record(gid="a.1", dstdir=str(tmp_path), prog="echo", args=("ran",))))
    done = subprocess.run(["sh", str(tmp_path / "job")], capture_output=True, text=True, timeout=10, check=False)
    assert (done.returncode, done.stdout) == (0, "ran\n")


def test_downloads_that_wait_are_few_of_a_user_and_the_rest_is_tried_again(target: FakeTarget) -> None:
    target.put(state="Downloading", stop="stop")
    with contextlib.ExitStack() as stack:
        for _ in range(2 * target.site.file.limits.max_transfers_per_user):
            assert stack.enter_context(take_share(target.site.home, "download-or-wait", 8, "alice", 6))
        process(target.site, "a.1")
    assert target.users.operations == []
    assert (target.read().state, target.read().tries) == ("Downloading", 0)
    assert Job(target.site, "a.1").rests
    target.now_s += 60
    assert not Job(target.site, "a.1").rests


def test_a_process_goes_on_with_other_jobs_that_have_something_to_do(target: FakeTarget) -> None:
    for number, state in enumerate(("Submitted", "Submitted", "Submitted", "Submitted"), 1):
        target.put(gid=f"a.{number}", state=state)
    Job(target.site, "a.3").set_due(60)
    with hold_lease(target.site.spool.job_folder("a.4")):
        process_jobs(target.site, "a.2")
    assert list(target.scheduler.names) == ["mg_a.2_1", "mg_a.1_1"]


def test_a_local_job_is_looked_for_by_its_name_unless_none_can_be_there_yet(target: FakeTarget) -> None:
    target.put(state="Making", build=("make",))
    process(target.site, "a.1")
    assert [call for call in target.scheduler.calls if call in ("find", "submit")] == ["submit"]
    target.put(gid="a.2", state="Making", build=("make",))
    target.scheduler.silent = True
    process(target.site, "a.2")
    target.scheduler.silent, target.scheduler.calls = False, []
    target.now_s += 60
    process(target.site, "a.2")
    assert [call for call in target.scheduler.calls if call in ("find", "submit")] == ["find", "submit"]


def test_each_job_is_processed_by_the_cluster_file_as_it_is_then(target: FakeTarget) -> None:
    """A file that was replaced holds for the next step, and one with problems ends the process with the problem."""
    path = target.site.home / "cluster.toml"
    path.write_text(CLUSTER_FILE.format("/one"))
    site = replace(target.site, mark=find_mark(target.site.home))
    assert site.renewed() is site
    other = path.with_name("new")
    other.write_text(CLUSTER_FILE.format("/two"))
    other.replace(path)
    assert site.renewed().file.this.landing == "/two"
    assert (site.renewed().spool, site.renewed().run) == (site.spool, site.run)
    target.put(gid="a.1", state="Submitted")
    target.put(gid="a.2", state="Submitted")
    path.write_text("this = 7")
    with pytest.raises(ClusterFileError, match="this: 7"):
        process_jobs(site, "a.1")
    assert list(target.scheduler.names) == ["mg_a.1_1"], "nothing more by the old file"
    path.unlink()
    with pytest.raises(ClusterFileError, match=r"no cluster\.toml"):
        process_jobs(site, "a.2")
    assert not is_leased(site.spool.job_folder("a.2"))


CLUSTER_FILE = """this = "b"
[[cluster]]
name = "b"
scheduler = "slurm"
landing = "{}"
[[cluster]]
name = "a"
ssh = "mg@a"
"""


def test_a_look_at_a_lease_holds_up_no_other_look_and_no_process(tmp_path: Path) -> None:
    with hold_lease(tmp_path):
        pass
    with (tmp_path / "lease").open() as looked:
        fcntl.flock(looked, fcntl.LOCK_SH)
        assert not is_leased(tmp_path), "another look is none"
        threading.Timer(0.1, fcntl.flock, (looked, fcntl.LOCK_UN)).start()
        with hold_lease(tmp_path) as held:
            assert held, "a look ends"


def test_a_job_that_stays_as_it_is_is_not_taken_on_for_ever(target: FakeTarget) -> None:
    target.put(state="Downloading", stop="discard", localid="1")
    target.put(gid="a.2", state="Downloading")
    with hold_lease(target.site.spool.job_folder("a.2")) as held:
        assert held
        process_jobs(target.site, "a.1")
    assert target.read("a.1").state == "Stopped"
