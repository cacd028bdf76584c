"""What is concluded of a local job, and what never is."""

from __future__ import annotations

import pytest

from migration.programs.run_external_program_with_limits import Finished
from migration.protocol.message_lines_and_fields import MOST_TEXT
from migration.schedulers.scheduler_interface import Ended, JobState, RequestUnanswered
from migration.target_job.job_at_target import Job
from migration.target_job.phases.follow_local_job import watch
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.target_job.fake_target import FakeTarget

NO_FILE = Finished(2, b"", b"")


def look(target: FakeTarget, after_s: float = 60) -> Record:
    target.now_s += after_s
    watch([Job(target.site, "a.1")])
    return target.read()


def submitted(target: FakeTarget, state: JobState | None, **fields: object) -> None:
    target.put(state="Submitted", localid="7", **fields)
    target.users.answers["read"] = NO_FILE
    if state:
        target.scheduler.jobs["7"] = state


def test_a_job_that_is_held_between_two_runs_is_requeued_all_the_same(target: FakeTarget) -> None:
    submitted(target, JobState("held", runs=1), ran=1)
    record = look(target)
    assert (record.requeues, record.reason) == (1, "requeued, 1 times")
    target.scheduler.jobs["7"] = JobState("running", runs=2)
    assert look(target).requeues == 1


def test_a_job_whose_last_run_was_still_ending_when_it_was_counted_is_told_to_be_requeued(target: FakeTarget) -> None:
    submitted(target, JobState("running", runs=2), ran=1)
    record = look(target)
    assert (record.requeues, record.reason) == (1, "")
    target.scheduler.jobs["7"] = JobState("queued", runs=1)
    record = look(target)
    assert (record.requeues, record.reason) == (1, "requeued, 1 times")


def test_an_exit_status_counts_only_once_the_scheduler_has_forgotten_the_job(target: FakeTarget) -> None:
    submitted(target, JobState("queued", runs=1))
    target.users.answers["read"] = Finished(0, b"85\n", b"")
    record = look(target)
    assert (record.state, record.ran, record.reason) == ("Submitted", 1, "requeued, 1 times")
    del target.scheduler.jobs["7"]
    record = look(target)
    assert (record.state, record.exit, record.then) == ("Downloading", "85", "End")


def test_a_job_killed_at_a_limit_ended_by_that_also_if_its_script_could_note_the_signal(target: FakeTarget) -> None:
    submitted(target, None, ran=1)
    target.users.answers["read"] = Finished(0, b"143\n", b"")
    target.scheduler.past["7"] = Ended("WALLTIME", ran=True)
    record = look(target)
    assert (record.state, record.exit, record.reason) == ("Downloading", "WALLTIME", "ended by WALLTIME")


def test_without_a_status_history_decides_and_else_five_minutes(target: FakeTarget) -> None:
    submitted(target, None, ran=1)
    assert look(target).state == "Submitted"
    assert look(target, 299).state == "Submitted"
    record = look(target, 1)
    assert (record.state, record.then, record.reason) == ("Downloading", "Aborted", "the local job 7 vanished")


def test_a_status_that_cannot_be_read_is_waited_for_and_then_named(target: FakeTarget) -> None:
    submitted(target, None, ran=1)
    target.users.answers["read"] = Finished(1, b"", b"Stale file handle")
    assert look(target).state == "Submitted"
    record = look(target, 300)
    assert record.then == "Aborted"
    assert record.reason.startswith("the local job 7 vanished; /land/alice/a/home/alice/j/.mg.a.1.exit: cannot be read")


def test_a_job_killed_from_outside_ended_by_its_signal(target: FakeTarget) -> None:
    submitted(target, None)
    target.scheduler.past["7"] = Ended("signal 15", ran=True)
    record = look(target)
    assert (record.state, record.exit, record.then) == ("Downloading", "signal 15", "End")


def test_a_job_killed_at_a_limit_ended_by_that(target: FakeTarget) -> None:
    submitted(target, None, ran=1)
    target.scheduler.past["7"] = Ended("WALLTIME", ran=True)
    record = look(target)
    assert (record.then, record.exit, record.reason) == ("End", "WALLTIME", "ended by WALLTIME")


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (Ended("", ran=False, not_started="Exit_status -10"), "the local job 7 could not be started: Exit_status -10"),
        (Ended("", ran=True), "the local job 7 has ended with an exit status that is not known"),
    ],
)
def test_a_job_whose_program_never_ran_or_has_no_known_status_is_a_failure(
    target: FakeTarget, ended: Ended, reason: str
) -> None:
    submitted(target, None, ran=1)
    target.scheduler.past["7"] = ended
    record = look(target)
    assert (record.then, record.exit, record.reason) == ("Aborted", "", reason)


def test_a_job_deleted_before_it_ran_is_a_failure(target: FakeTarget) -> None:
    submitted(target, None)
    target.scheduler.past["7"] = Ended("", ran=False)
    assert look(target).reason == "the local job 7 was deleted before it ran"


def test_a_job_that_slurm_still_shows_and_that_was_cancelled_before_it_ran_has_no_exit_status(
    target: FakeTarget,
) -> None:
    submitted(target, JobState("ended"))
    target.scheduler.past["7"] = Ended("CANCELLED", ran=False)
    record = look(target)
    assert (record.then, record.exit, record.ran) == ("Aborted", "", 0)
    assert record.reason == "the local job 7 was deleted before it ran"


def test_a_job_that_has_run_and_is_cancelled_while_it_waits_again_ended_by_that(target: FakeTarget) -> None:
    submitted(target, None, ran=1)
    target.scheduler.past["7"] = Ended("CANCELLED", ran=False)
    record = look(target)
    assert (record.then, record.exit, record.reason) == ("End", "CANCELLED", "ended by CANCELLED")


def test_a_job_goes_back_where_the_reply_to_its_deletion_was_lost(target: FakeTarget) -> None:
    submitted(target, JobState("queued"))

    def lost(job_id: str, user: str) -> None:
        target.scheduler.jobs["7"] = JobState("ended")
        target.scheduler.past["7"] = Ended("CANCELLED", ran=False)
        raise RequestUnanswered("scancel: Socket timed out")

    target.scheduler.delete = lost  # type: ignore[method-assign]
    assert look(target, 3600).state == "Submitted"
    assert look(target).state == "Requested"


def test_a_silent_scheduler_concludes_nothing(target: FakeTarget) -> None:
    submitted(target, None)
    target.scheduler.silent = True
    assert watch([Job(target.site, "a.1")]) == "no answer"
    assert look(target, 10_000).state == "Submitted"


def test_a_job_that_waits_too_long_is_held_deleted_and_given_back(target: FakeTarget) -> None:
    submitted(target, JobState("queued"))
    assert look(target, 3599).state == "Submitted"
    record = look(target, 1)
    assert (record.state, record.last, record.attempt) == ("Requested", "b", 1)
    assert target.scheduler.calls[-3:] == ["hold", "states", "delete"]


def test_a_job_that_starts_while_it_is_held_runs_on(target: FakeTarget) -> None:
    submitted(target, JobState("queued"))

    def start(job_id: str, user: str) -> None:
        target.scheduler.jobs["7"] = JobState("running", runs=1)

    target.scheduler.hold = start  # type: ignore[method-assign]
    assert look(target, 3600).state == "Submitted"
    assert target.scheduler.calls[-1] == "release"


def test_a_kill_between_deleting_and_giving_back_still_gives_back(target: FakeTarget) -> None:
    submitted(target, None)
    target.scheduler.past["7"] = Ended("", ran=False)
    Job(target.site, "a.1").set_returning()
    assert look(target).state == "Requested"


def test_a_named_target_and_a_job_that_has_run_never_go_back(target: FakeTarget) -> None:
    submitted(target, JobState("queued"), want="b")
    assert look(target, 10_000).state == "Submitted"


def test_what_one_user_leaves_unanswered_keeps_no_later_job_from_being_looked_at(target: FakeTarget) -> None:
    submitted(target, JobState("queued"))
    target.put(gid="a.2", user="bob", account="bob", state="Submitted", localid="8")
    target.scheduler.past["8"] = Ended("0", ran=True)
    target.now_s += 3600

    def stopped(job_id: str, user: str) -> None:
        raise RequestUnanswered("qhold: killed after 30 s")

    target.scheduler.hold = stopped  # type: ignore[method-assign]
    assert watch([Job(target.site, "a.1"), Job(target.site, "a.2")]) == ""
    assert (target.read("a.1").state, target.read("a.2").state) == ("Submitted", "Downloading")


def test_a_reason_is_printable_and_no_longer_than_the_source_takes(target: FakeTarget) -> None:
    submitted(target, None)
    job = Job(target.site, "a.1")
    job.amend(reason="x\n\x1b]0;y" + 2_000 * "z")
    reason = target.read().reason
    assert reason.isprintable()
    assert len(reason) == MOST_TEXT
