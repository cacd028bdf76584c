"""One local job, whatever became of the reply to its submission."""

from __future__ import annotations

import pytest

from migration.programs.run_external_program_with_limits import TIMED_OUT, Finished
from migration.schedulers.scheduler_interface import (
    Ended,
    JobState,
    LocalJob,
    SchedulerSilent,
    SubmitRefused,
    SubmitUnclear,
)
from migration.target_job.job_at_target import Job
from migration.target_job.phases.follow_local_job import watch
from migration.target_job.run_phases_of_job_at_target import process
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.wait_and_retry_bounds import MOST_UNCLEAR
from tests.migration.target_job.fake_target import FakeTarget


@pytest.fixture
def unanswered(target: FakeTarget) -> FakeTarget:
    """The local job is there; ``qsub`` was killed at its time limit."""
    submit = target.scheduler.submit

    def lose_reply(job: LocalJob) -> str:
        submit(job)
        target.scheduler.submit = submit  # type: ignore[method-assign]
        raise SchedulerSilent("qsub: killed after 30 s")

    target.scheduler.submit = lose_reply  # type: ignore[method-assign]
    target.put(state="Submitted")
    process(target.site, "a.1")
    record = target.read()
    assert (record.localid, record.reason) == ("", "tried again: qsub: killed after 30 s")
    assert target.scheduler.jobs == {"1": JobState("queued")}
    return target


def try_again(target: FakeTarget) -> Record:
    target.now_s += 61
    process(target.site, "a.1")
    assert target.scheduler.calls.count("submit") == 1
    return target.read()


def test_a_job_that_waits_or_runs_is_found_by_its_name(unanswered: FakeTarget) -> None:
    assert try_again(unanswered).localid == "1"


def test_a_job_that_has_ended_and_left_its_exit_status_is_not_submitted_again(unanswered: FakeTarget) -> None:
    unanswered.scheduler.jobs.clear()
    unanswered.users.answers["read"] = Finished(0, b"3\n", b"")
    record = try_again(unanswered)
    assert (record.state, record.then, record.exit, record.ran) == ("Downloading", "End", "3", 1)


def test_a_job_that_was_killed_is_known_by_what_the_scheduler_remembers(unanswered: FakeTarget) -> None:
    unanswered.scheduler.jobs.clear()
    unanswered.scheduler.past["1"] = Ended("TIMEOUT", ran=True)
    assert try_again(unanswered).localid == "1"
    watch([Job(unanswered.site, "a.1")])
    assert (unanswered.read().then, unanswered.read().exit) == ("End", "TIMEOUT")


@pytest.mark.parametrize("answer", [Finished(TIMED_OUT, b"", b"killed after 10 s"), Finished(1, b"", b"I/O error")])
def test_while_the_exit_status_cannot_be_read_nothing_is_submitted(unanswered: FakeTarget, answer: Finished) -> None:
    unanswered.scheduler.jobs.clear()
    unanswered.users.answers["read"] = answer
    record = try_again(unanswered)
    assert (record.state, record.localid, record.tries) == ("Submitted", "", 2)
    assert record.reason.startswith("tried again: ")


def test_a_submission_that_never_arrived_is_made_again(unanswered: FakeTarget) -> None:
    unanswered.scheduler.jobs.clear()
    unanswered.scheduler.names.clear()
    unanswered.now_s += 61
    process(unanswered.site, "a.1")
    assert unanswered.read().localid == "1"
    assert unanswered.scheduler.calls.count("submit") == 2


def fail_submissions(target: FakeTarget, problem: Exception, *, is_there: bool) -> None:
    """Each ``qsub`` fails, though the server has taken the job where ``is_there``."""
    submit = target.scheduler.submit

    def fail(job: LocalJob) -> str:
        if is_there:
            submit(job)
        else:
            target.scheduler.calls.append("submit")
        raise problem

    target.scheduler.submit = fail  # type: ignore[method-assign]
    target.put(state="Submitted")


@pytest.mark.parametrize("lasting", [True, False])
def test_a_job_that_is_there_although_it_was_refused_is_kept(target: FakeTarget, lasting: bool) -> None:
    fail_submissions(target, SubmitRefused("limit", lasting=lasting), is_there=True)
    target.now_s += 601
    process(target.site, "a.1")
    assert (target.read().state, target.read().localid) == ("Submitted", "1")


def test_while_it_is_not_known_whether_a_refused_job_is_there_it_is_not_given_back(target: FakeTarget) -> None:
    fail_submissions(target, SubmitRefused("x", lasting=True), is_there=True)
    find, asked = target.scheduler.find_by_name, []

    def find_once(name: str, user: str) -> str | None:
        asked.append(name)
        if len(asked) == 2:
            raise SchedulerSilent("no answer")
        return find(name, user)

    target.scheduler.find_by_name = find_once  # type: ignore[method-assign]
    process(target.site, "a.1")
    assert (target.read().state, target.read().reason) == ("Submitted", "tried again: no answer")
    assert try_again(target).localid == "1"


def test_a_submission_that_ends_without_an_answer_is_found_by_the_next_try(target: FakeTarget) -> None:
    fail_submissions(target, SubmitUnclear("qsub: exit status 137"), is_there=True)
    process(target.site, "a.1")
    assert (target.read().localid, target.read().reason) == ("", "tried again: qsub: exit status 137")
    assert try_again(target).localid == "1"


def test_a_job_whose_submissions_never_get_an_answer_is_given_back_with_the_reason(target: FakeTarget) -> None:
    fail_submissions(target, SubmitUnclear("qsub: what?"), is_there=False)
    for _ in range(MOST_UNCLEAR):
        process(target.site, "a.1")
        target.now_s += 61
    record = target.read()
    assert (record.state, record.avoid) == ("Requested", ("b",))
    assert record.reason == "refused: qsub: what?, 3 times or more"
    assert target.scheduler.calls.count("submit") == MOST_UNCLEAR


def test_tries_that_failed_otherwise_do_not_count_as_submissions_without_an_answer(target: FakeTarget) -> None:
    fail_submissions(target, SubmitRefused("limit", lasting=False), is_there=False)
    for _ in range(MOST_UNCLEAR):
        process(target.site, "a.1")
        target.now_s += 61

    def fail(job: LocalJob) -> str:
        raise SubmitUnclear("qsub: what?")

    target.scheduler.submit = fail  # type: ignore[method-assign]
    process(target.site, "a.1")
    assert (target.read().state, target.read().avoid) == ("Submitted", ())
