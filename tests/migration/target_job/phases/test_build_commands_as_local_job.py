"""A build as a local job: found again by its name, ended by its status, deleted when it is late or stopped."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from migration.programs.run_external_program_with_limits import Finished
from migration.schedulers.scheduler_interface import JobState, LocalJob, SubmitRefused, SubmitUnclear
from migration.target_job.phases import build_commands_as_local_job
from migration.target_job.phases.build_commands_as_local_job import write_build_script
from migration.target_job.run_phases_of_job_at_target import process
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.wait_and_retry_bounds import MOST_UNCLEAR
from tests.migration.target_job.fake_target import FakeTarget

NAME = "mg_a.1_1_build"


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTarget:
    monkeypatch.setattr(build_commands_as_local_job, "_LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(build_commands_as_local_job, "_STATUS_WITHIN_S", 0.0)
    return FakeTarget(tmp_path, build_on="job")


def build(target: FakeTarget, **fields: object) -> Record:
    target.put(state="Making", build=("make",), **fields)
    process(target.site, "a.1")
    return target.read()


def left_running(target: FakeTarget) -> None:
    """The job of a build that an earlier process has begun; it ends once it was looked at."""
    target.scheduler.names[NAME] = "9"
    target.scheduler.jobs["9"] = JobState("running", 1)
    states = target.scheduler.states

    def look(ids: Iterable[str]) -> Mapping[str, JobState]:
        found = states(ids)
        target.scheduler.jobs.clear()
        return found

    target.scheduler.states = look  # type: ignore[method-assign]


def test_a_build_that_a_crash_left_running_is_waited_for(target: FakeTarget) -> None:
    left_running(target)
    target.users.answers["read"] = Finished(0, b"0\n", b"")
    assert build(target).state == "Submitted"
    assert target.scheduler.calls[:2] == ["find", "states"]


def test_a_build_that_ended_while_no_process_looked_is_not_run_again(target: FakeTarget) -> None:
    target.users.answers["read"] = Finished(0, b"2\n", b"")
    record = build(target)
    assert (record.state, record.then) == ("Downloading", "Aborted")
    assert record.reason.startswith("build failed with 2")
    assert "submit" not in target.scheduler.calls


def test_a_build_without_a_status_has_vanished(target: FakeTarget) -> None:
    left_running(target)
    target.users.answers["read"] = Finished(2, b"", b"")
    assert build(target).reason.startswith("the build's local job vanished")


def test_a_build_whose_status_cannot_be_read_is_not_run_again(target: FakeTarget) -> None:
    target.scheduler.refusal = SubmitRefused("submitted again", lasting=True)
    target.users.answers["read"] = Finished(1, b"", b"Stale file handle")
    record = build(target)
    assert record.state == "Making"
    assert record.reason.endswith(".build.1.exit: cannot be read: Stale file handle")
    assert "submit" not in target.scheduler.calls


def test_a_late_build_is_deleted(target: FakeTarget) -> None:
    target.scheduler.names[NAME] = "9"
    target.scheduler.jobs["9"] = JobState("running", 1)
    assert build(target, since=int(target.now_s) - 3599).reason.startswith("build not done within 3600 s")
    assert "9" not in target.scheduler.jobs


def test_a_stopped_build_is_deleted(target: FakeTarget) -> None:
    target.scheduler.names[NAME] = "9"
    target.scheduler.jobs["9"] = JobState("running", 1)
    assert build(target, stop="discard").state == "Stopped"
    assert "9" not in target.scheduler.jobs


def test_a_refused_build_comes_back_and_a_busy_scheduler_is_asked_again(target: FakeTarget) -> None:
    target.users.answers["read"] = Finished(2, b"", b"")
    target.scheduler.refusal = SubmitRefused("limit", lasting=False)
    assert build(target).reason == "tried again: busy: limit"
    target.scheduler.refusal = SubmitRefused("no such partition", lasting=True)
    target.now_s += 61
    process(target.site, "a.1")
    assert target.read().reason.startswith("build refused: no such partition")


def test_the_script_stops_at_the_first_command_that_fails(tmp_path: Path) -> None:
    record = Record(gid="a.1", dstdir=str(tmp_path), build=("echo one", "echo 'two'; exit 4", "echo three"))
    (tmp_path / "mg-build.log").write_text("of an earlier try\n")
    done = subprocess.run(["sh", "-c", write_build_script(record)], timeout=30, check=False)
    assert done.returncode == 4
    assert (tmp_path / "mg-build.log").read_text() == "one\ntwo\n"
    assert (tmp_path / ".mg.a.1.build.1.exit").read_text() == "4\n"


@pytest.mark.parametrize(
    ("is_there", "reason"),
    [(False, "build refused: qsub: what?, 3 times or more"), (True, "the build's local job vanished")],
)
def test_a_build_whose_submissions_never_get_an_answer_says_so_and_is_followed_where_it_is_there(
    target: FakeTarget, is_there: bool, reason: str
) -> None:
    target.users.answers["read"] = Finished(2, b"", b"")

    def fail(job: LocalJob) -> str:
        if is_there and target.read().tries == MOST_UNCLEAR - 1:
            left_running(target)
        raise SubmitUnclear("qsub: what?")

    target.scheduler.submit = fail  # type: ignore[method-assign]
    build(target)
    for _ in range(MOST_UNCLEAR - 1):
        assert target.read().reason == "tried again: qsub: what?"
        target.now_s += 61
        process(target.site, "a.1")
    assert (target.read().state, target.read().then) == ("Downloading", "Aborted")
    assert target.read().reason.startswith(reason)
