"""Which jobs get a process, and what is removed when."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migration.passes.target_job_processes import run_target_pass
from migration.schedulers.base import JobState
from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import Job
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease
from tests.migration.target_job.fake_target import FakeTarget

DAY_S = 86_400


@pytest.fixture
def target(tmp_path: Path) -> FakeTarget:
    return FakeTarget(tmp_path)


def started(target: FakeTarget) -> list[str]:
    found: list[str] = []
    run_target_pass(target.site, found.append)
    return found


def test_a_job_with_something_to_do_and_without_a_process_gets_one(target: FakeTarget) -> None:
    states = ("Waiting", "Uploading", "Making", "Submitted", "Downloading", "Downloading", "Submitted", "Submitted")
    for number, state in enumerate(states, 1):
        target.put(gid=f"a.{number}", state=state, localid="7" if number in (7, 8) else "", stop="stop" * (number == 8))
    target.scheduler.jobs["7"] = JobState("queued")
    Job(target.site, "a.5").set_due(60)
    with hold_lease(target.site.spool.job_folder("a.2")):
        assert started(target) == ["a.1", "a.3", "a.4", "a.6", "a.8"]
    target.now_s += 61
    assert started(target) == ["a.1", "a.2", "a.3", "a.4", "a.5", "a.6", "a.8"]


def test_all_submitted_jobs_are_asked_for_at_once(target: FakeTarget) -> None:
    for number in range(1, 5):
        target.put(gid=f"a.{number}", state="Submitted", localid=str(number))
        target.scheduler.jobs[str(number)] = JobState("queued")
    started(target)
    assert target.scheduler.calls == ["states"]


def finish(target: FakeTarget, gid: str, shared: list[str], **fields: object) -> None:
    target.put(gid=gid, **fields)
    job = Job(target.site, gid)
    job.note_shared(shared)
    with target.site.spool.change() as change:
        change.move(Queue.RECEIVED, Queue.DONE, job.record)


def removed(target: FakeTarget) -> list[str]:
    target.users.deeds.clear()
    started(target)
    return [deed[2] for deed in target.users.deeds if deed[0] == "remove"]


def test_folders_and_shared_files_go_once_no_other_job_names_them(target: FakeTarget) -> None:
    mesh, other = "/land/alice/a/g/mesh", "/land/alice/a/g/other"
    finish(target, "a.1", [mesh, other], state="End", dstdir="/land/alice/a/j1")
    target.now_s += 1 * DAY_S
    finish(target, "a.2", [mesh], state="End", dstdir="/land/alice/a/j2")
    finish(target, "a.3", [], state="Aborted", dstdir="/land/alice/a/j3")
    assert removed(target) == []
    target.now_s += 6 * DAY_S
    assert removed(target) == ["alice/a/g/other", "alice/a/j1"]
    assert removed(target) == []
    target.now_s += 1 * DAY_S
    assert removed(target) == ["alice/a/g/mesh", "alice/a/j2"]
    target.now_s += 23 * DAY_S
    assert removed(target) == ["alice/a/j3"]
    assert len(target.site.spool.read(Queue.DONE)) == 3
    target.now_s += 90 * DAY_S
    removed(target)
    assert target.site.spool.read(Queue.DONE) == []


def test_what_an_unfinished_job_uses_stays(target: FakeTarget) -> None:
    finish(target, "a.1", ["/land/alice/a/m"], state="End", dstdir="/land/alice/a/j")
    target.put(gid="a.2", state="Making", dstdir="/land/alice/a/j")
    Job(target.site, "a.2").note_shared(["/land/alice/a/m"])
    target.now_s += 8 * DAY_S
    assert removed(target) == []


def test_records_of_a_user_with_very_many_ended_jobs_go_once_nothing_of_the_job_is_here(target: FakeTarget) -> None:
    for number in range(1, 6):
        finish(
            target, f"a.{number}", [], state="End", dstdir=f"/land/alice/a/j{number}", since=int(target.now_s) + number
        )
    finish(target, "a.6", [], state="End", user="bob", dstdir="/land/bob/a/j")
    file = target.site.file
    bounded = replace(target.site, file=replace(file, limits=replace(file.limits, max_ended_per_user=2)))
    run_target_pass(bounded, lambda gid: None)
    assert len(bounded.spool.read(Queue.DONE)) == 6
    target.now_s += 7 * DAY_S + 9
    run_target_pass(bounded, lambda gid: None)
    assert [one.gid for one in bounded.spool.read(Queue.DONE)] == ["a.4", "a.5", "a.6"]
