"""What is concluded of a job that runs in place, and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from migration.schedulers.scheduler_interface import Ended, LocalJob, SchedulerSilent, SubmitRefused, SubmitUnclear
from migration.target_job.read_exit_status import UnreadableError
from policy.migration.wait_and_retry_bounds import MOST_UNCLEAR, VANISHED_AFTER_S
from tests.migration.passes.simulated_centre import Centre, Folders

UNREAD = "/home/u/d/.mg.a.1.exit: cannot be read: Stale file handle"


def submit_without_reply(tmp_path: Path, fallback_s: int, free_cores: int) -> Centre:
    """The job's local job has run to its end, the scheduler has forgotten it, and its id was never noted."""
    centre = Centre(tmp_path, fallback_s=fallback_s)
    centre.cut = {"b", "c"}
    centre.queue.free_cores, centre.queue.forgets = free_cores, True
    submit = centre.queue.submit

    def lose_reply(job: LocalJob) -> str:
        submit(job)
        centre.queue.submit = submit  # type: ignore[method-assign]
        raise SchedulerSilent("qsub: killed after 30 s")

    centre.queue.submit = lose_reply  # type: ignore[method-assign]
    centre.submit()
    centre.run_pass()
    centre.queue.start("1.s")
    centre.queue.end("1.s")
    return centre


@pytest.mark.parametrize(("fallback_s", "free_cores"), [(3600, 8), (0, 0)], ids=["in place", "also local"])
def test_while_the_exit_status_cannot_be_read_nothing_is_submitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fallback_s: int, free_cores: int
) -> None:
    centre = submit_without_reply(tmp_path, fallback_s, free_cores)

    def unreadable(*_: object) -> str:
        raise UnreadableError(UNREAD)

    with monkeypatch.context() as patched:
        patched.setattr(Folders, "read_exit", unreadable)
        for _ in range(3):
            centre.clock.now += VANISHED_AFTER_S
            centre.run_pass()
    assert list(centre.queue.jobs) == ["1.s"]
    if free_cores:
        assert centre.record().reason == f"a: tried again: {UNREAD}"
    centre.run_pass()
    centre.run_pass()
    assert (list(centre.queue.jobs), centre.record().state, centre.record().exit) == (["1.s"], "End", "0")


def test_a_job_that_is_gone_and_whose_status_cannot_be_read_has_vanished_and_the_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    centre = Centre(tmp_path)
    centre.queue.free_cores, centre.queue.forgets = 8, True
    centre.submit()
    centre.run_pass()
    centre.queue.start("1.s")
    centre.queue.end("1.s")

    def unreadable(*_: object) -> str:
        raise UnreadableError(UNREAD)

    monkeypatch.setattr(Folders, "read_exit", unreadable)
    centre.run_pass()
    assert centre.record().state == "Submitted"
    centre.clock.now += VANISHED_AFTER_S
    centre.run_pass()
    assert (centre.record().state, centre.record().reason) == ("Aborted", f"the local job 1.s vanished; {UNREAD}")


@pytest.mark.parametrize("fallback_s", [3600, 0], ids=["in place", "also local"])
@pytest.mark.parametrize(
    ("ended", "state", "exit_", "reason"),
    [
        (Ended("WALLTIME", ran=True), "End", "WALLTIME", "ended by WALLTIME"),
        (
            Ended("", ran=False, not_started="Exit_status -10, no account"),
            "Aborted",
            "",
            "the local job 1.s could not be started: Exit_status -10, no account",
        ),
    ],
)
def test_history_says_how_a_job_without_a_status_has_ended(
    tmp_path: Path, fallback_s: int, ended: Ended, state: str, exit_: str, reason: str
) -> None:
    centre = Centre(tmp_path, fallback_s=fallback_s)
    centre.cut = {"b", "c"}
    centre.queue.free_cores = 8 if fallback_s else 0
    centre.queue.history = lambda job_id: ended  # type: ignore[method-assign]
    centre.submit()
    centre.run_pass()
    centre.queue.start("1.s")
    centre.queue.end("1.s")
    for _ in range(3):
        centre.clock.now += VANISHED_AFTER_S
        centre.run_pass()
    assert (centre.record().state, centre.record().exit, centre.record().reason) == (state, exit_, reason)
    assert centre.runs("a.1") == 1


def test_a_job_killed_at_a_limit_ended_by_that_also_if_its_script_could_note_the_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    centre = Centre(tmp_path, fallback_s=3600)
    centre.cut = {"b", "c"}
    centre.queue.free_cores = 8
    centre.queue.history = lambda job_id: Ended("WALLTIME", ran=True)  # type: ignore[method-assign]
    centre.submit()
    centre.run_pass()
    centre.queue.start("1.s")
    monkeypatch.setattr(Folders, "read_exit", lambda self, record: "143")
    centre.queue.end("1.s")
    centre.clock.now += 60
    centre.run_pass()
    assert (centre.record().state, centre.record().exit, centre.record().reason) == (
        "End", "WALLTIME", "ended by WALLTIME",
    )  # fmt: skip


def fail_submissions(
    tmp_path: Path, fallback_s: int, problem: Exception, *, is_there: bool, want: str = "any"
) -> Centre:
    """A request whose every ``qsub`` here fails, though the server has taken the job where ``is_there``. It is tried in
    place, or with a ``fallback_s`` of 0 in the local queue as well."""
    centre = Centre(tmp_path, fallback_s=fallback_s)
    centre.cut = {"b", "c"}
    centre.queue.free_cores = 8 if fallback_s else 0
    submit = centre.queue.submit

    def fail(job: LocalJob) -> str:
        if is_there:
            submit(job)
        raise problem

    centre.queue.submit = fail  # type: ignore[method-assign]
    centre.submit(want=want)
    return centre


BOTH = pytest.mark.parametrize("fallback_s", [3600, 0], ids=["in place", "also local"])


@BOTH
@pytest.mark.parametrize(
    "problem", [SubmitRefused("x", lasting=True), SubmitRefused("limit", lasting=False), SubmitUnclear("status 137")]
)
def test_a_job_that_is_there_whatever_its_submission_said_is_the_only_one(
    tmp_path: Path, fallback_s: int, problem: Exception
) -> None:
    centre = fail_submissions(tmp_path, fallback_s, problem, is_there=True)
    centre.run_pass()
    centre.run_pass()
    record = centre.record()
    assert (record.localid or record.fallback, record.avoid) == ("1.s", ())
    assert centre.alive("a.1") == 1


@BOTH
def test_a_job_whose_submissions_never_get_an_answer_is_refused_here(tmp_path: Path, fallback_s: int) -> None:
    centre = fail_submissions(tmp_path, fallback_s, SubmitUnclear("qsub: what?"), is_there=False)
    for _ in range(MOST_UNCLEAR - 1):
        centre.run_pass()
        assert centre.record().avoid == ()
    centre.run_pass()
    assert (centre.record().state, centre.record().avoid, centre.record().tries) == ("Requested", ("a",), 0)


@BOTH
def test_passes_in_which_the_scheduler_was_silent_do_not_count_as_submissions_without_an_answer(
    tmp_path: Path, fallback_s: int
) -> None:
    centre = fail_submissions(tmp_path, fallback_s, SchedulerSilent("no answer"), is_there=False)
    for _ in range(MOST_UNCLEAR):
        centre.run_pass()

    def fail(job: LocalJob) -> str:
        raise SubmitUnclear("qsub: what?")

    centre.queue.submit = fail  # type: ignore[method-assign]
    for _ in range(MOST_UNCLEAR - 1):
        centre.run_pass()
        assert centre.record().avoid == ()
    centre.run_pass()
    assert centre.record().avoid == ("a",)


def test_a_job_that_stays_here_is_aborted_with_what_its_last_submission_said(tmp_path: Path) -> None:
    centre = fail_submissions(tmp_path, 3600, SubmitUnclear("qsub: what?"), is_there=False, want="local")
    for _ in range(MOST_UNCLEAR):
        centre.run_pass()
    assert (centre.record().state, centre.record().reason) == ("Aborted", "a: qsub: what?, 3 times or more")


@BOTH
def test_while_it_is_not_known_whether_a_refused_job_is_there_no_other_cluster_gets_it(
    tmp_path: Path, fallback_s: int
) -> None:
    centre = fail_submissions(tmp_path, fallback_s, SubmitRefused("x", lasting=True), is_there=True)
    find, asked = centre.queue.find_by_name, []

    def find_once(name: str, user: str) -> str | None:
        asked.append(name)
        if len(asked) == 2:
            raise SchedulerSilent("no answer")
        return find(name, user)

    centre.queue.find_by_name = find_once  # type: ignore[method-assign]
    centre.run_pass()
    centre.cut = set()
    centre.run_pass()
    assert centre.alive("a.1") == 1
