"""Which jobs get a process, and what is removed when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.as_user.user_files.user_files_in_landing_folder import PARTLY
from migration.passes.remove_files_of_finished_jobs import find_unremoved
from migration.passes.target.target_pass_starts_processes_and_cleans_up import run_target_pass
from migration.programs.run_external_program_with_limits import Finished
from migration.schedulers.scheduler_interface import JobState
from migration.spool.file_lock import path_lock
from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import SHARED, Job
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease
from migration.target_job.retry_given_up_download import CannotResumeError, resume
from migration.transfer.shared_input_cache import lock_of
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
    target.users.operations.clear()
    started(target)
    return [operation[2] for operation in target.users.operations if operation[0] == "remove"]


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


def failing(target: FakeTarget, words: tuple[str, ...], done: Finished) -> None:
    """Have each removal whose path has one of the words end like this."""
    real = target.users

    def run(argv: Sequence[str], **more: Any) -> Finished:
        answer = real(argv, **more)
        return done if argv[0] == "remove" and any(word in argv[2] for word in words) else answer

    object.__setattr__(target.site, "run", run)


def test_folders_that_cannot_be_removed_keep_no_others_and_are_tried_at_growing_intervals(target: FakeTarget) -> None:
    said = b"/land/alice/a/j: 1 entries cannot be removed, such as 'x\x1b': No\n"
    failing(target, ("alice",), Finished(1, b"", said))
    for number in range(1, 41):
        finish(target, f"a.{number}", [], state="End", dstdir=f"/land/alice/a/j{number}")
    finish(target, "a.50", [], state="End", user="bob", account="bob", dstdir="/land/bob/a/j")
    target.now_s += 8 * DAY_S
    tried = removed(target)
    assert [one for one in tried if "bob" in one] == ["bob/a/j"]
    assert len(tried) == 2, "a user costs a pass one try"
    ((record, noted),) = find_unremoved(target.site.spool)
    assert (record.gid, noted.tries, noted.next) == ("a.1", 1, int(target.now_s) + 3600)
    assert noted.text == "/land/alice/a/j: 1 entries cannot be removed, such as 'x?': No"
    tries = []
    for _ in range(60 * 60 * 24 * 3 // 600):
        target.now_s += 600
        tries += [(one, target.now_s) for one in removed(target)]
    first = [at for one, at in tries if one == "alice/a/j1"]
    assert 4 <= len(first) <= 7
    gaps = [after - before for before, after in zip(first, first[1:])]
    assert gaps == sorted(gaps)
    assert gaps[-1] > 3 * gaps[0]


def test_what_takes_more_than_one_pass_goes_on_soon(target: FakeTarget) -> None:
    failing(target, ("alice",), Finished(PARTLY, b"", b"has more than 200,000 entries\n"))
    finish(target, "a.1", [], state="End", dstdir="/land/alice/a/j1")
    target.now_s += 8 * DAY_S
    for _ in range(5):
        assert removed(target) == ["alice/a/j1"]
        assert removed(target) == []
        target.now_s += 301
    target.users.operations.clear()
    object.__setattr__(target.site, "run", target.users)
    assert removed(target) == ["alice/a/j1"]
    assert list(find_unremoved(target.site.spool)) == []


def test_a_folder_that_another_job_comes_to_use_meanwhile_stays(target: FakeTarget) -> None:
    finish(target, "a.1", [], state="End", dstdir="/land/alice/a/j1")
    finish(target, "a.2", ["/land/alice/a/mesh.mg-5"], state="End", dstdir="/land/alice/a/j2")
    target.now_s += 8 * DAY_S
    real = target.users

    def run(argv: Sequence[str], **more: Any) -> Finished:
        if argv[0] == "remove" and argv[2] == "alice/a/j1":
            target.put(gid="a.3", state="Uploading", dstdir="/land/alice/a/j2")
            with pytest.raises(CannotResumeError, match="another process"):
                resume(target.site, "a.1")
        return real(argv, **more)

    object.__setattr__(target.site, "run", run)
    with path_lock(target.site.home, lock_of("/land/alice/a/mesh"), 0):
        assert removed(target) == ["alice/a/j1"]
    assert list(find_unremoved(target.site.spool)) == []
    assert removed(target) == ["alice/a/mesh.mg-5"]


def test_of_many_transfers_few_have_a_process_in_all_and_of_a_user(target: FakeTarget) -> None:
    """max_downloads is 4 and max_transfers_per_user 3: as many work as wait."""
    for number in range(1, 31):
        account = "alice" if number <= 20 else "bob"
        target.put(gid=f"a.{number}", state="Downloading", account=account)
    assert started(target) == ["a.1", "a.2", "a.3", "a.4", "a.5", "a.6", "a.21", "a.22"]
    with hold_lease(target.site.spool.job_folder("a.1")), hold_lease(target.site.spool.job_folder("a.21")):
        assert started(target) == ["a.2", "a.3", "a.4", "a.5", "a.6", "a.22"]
    target.put(gid="a.31", state="Downloading", account="alice", stop="discard")
    assert "a.31" in started(target)


@pytest.mark.parametrize("text", ["[" * 200_000, "5", '{"tries": Infinity, "next": 1, "text": ""}'])
def test_damaged_notes_of_a_job_keep_no_folder(target: FakeTarget, text: str) -> None:
    finish(target, "a.1", [], state="End", dstdir="/land/alice/a/j")
    for name in (f"{SHARED}.1", "unremoved.json"):
        (target.site.spool.job_folder("a.1") / name).write_text(text)
    target.now_s += 8 * DAY_S
    assert removed(target) == ["alice/a/j"]


def test_what_an_unfinished_job_uses_stays(target: FakeTarget) -> None:
    finish(target, "a.1", ["/land/alice/a/m"], state="End", dstdir="/land/alice/a/j")
    target.put(gid="a.2", state="Making", dstdir="/land/alice/a/j")
    Job(target.site, "a.2").note_shared(["/land/alice/a/m"])
    target.now_s += 8 * DAY_S
    assert removed(target) == []


def test_a_folder_with_shared_input_of_an_unfinished_job_stays_until_that_is_over(target: FakeTarget) -> None:
    finish(target, "a.1", [], state="End", dstdir="/land/alice/a/data")
    finish(target, "a.3", [], state="End", dstdir="/land/alice/a/dat")
    target.put(gid="a.2", state="Submitted", dstdir="/land/alice/a/run")
    Job(target.site, "a.2").note_shared(["/land/alice/a/data/mesh"])
    target.now_s += 8 * DAY_S
    assert removed(target) == ["alice/a/dat"]
    with target.site.spool.change() as change:
        change.move(Queue.RECEIVED, Queue.DONE, Job(target.site, "a.2").record)
    assert removed(target)[0] == "alice/a/data"


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
