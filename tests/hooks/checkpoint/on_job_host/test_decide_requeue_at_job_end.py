"""A job that ended by itself: over, or to be requeued because it was asked to save."""

from __future__ import annotations

import time
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import (
    AWAY_S,
    SLACK_S,
    RunOnServer,
    Verdict,
    ask_server,
    judge_end,
    judge_until_server_back,
)
from hooks.checkpoint.on_job_host.read_saved_task_notes import SAVED as SAVED_NOTE
from hooks.checkpoint.on_job_host.read_saved_task_notes import has_failed_restart
from hooks.checkpoint.on_job_host.skip_server_query_at_job_end import could_be_asked, may_be_run_again
from hooks.deploy.hook_events_alarms_and_order import HOOK_EVENTS
from hooks.entries.execjob_epilogue import ANSWER_S, SERVER_BACK_S
from hooks.pbs.custom_resources_on_hosts import SAVE
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, show_marks
from tests.hooks.sample_server_statuses import job, running, server_status
from tests.hooks.stand_in import pbs_ifl

SAVED = 85
START_S, NOW_S = 900.0, 1010.0
MARK = Mark("9.s", "signal", 1000, 1060)
ASKED = RunOnServer(START_S, MARK)


@pytest.fixture(autouse=True)
def fresh_server() -> Iterator[None]:
    pbs_ifl.WORLD.clear()
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.UNKNOWN_ATTRIBUTES, pbs_ifl.FREED):
        log.clear()
    yield


@pytest.mark.parametrize("status", [0, 1, SAVED, 256 + 12])
def test_who_was_asked_is_queued_again_however_it_ended(status: int) -> None:
    assert judge_end(status, SAVED, ASKED, NOW_S, could_be=True).again


@pytest.mark.parametrize("status", [256 + 15, 256 + 9, 128 + 15, 128 + 9, -29, -11])
def test_who_was_killed_is_never_brought_back(status: int) -> None:
    """By its owner, at its walltime, or to be requeued: PBS knows what to do."""
    assert not may_be_run_again(status)
    assert not judge_end(status, SAVED, ASKED, NOW_S, could_be=True).again


@pytest.mark.parametrize(("status", "again"), [(0, False), (SAVED, True)])
def test_when_its_time_is_over_only_its_exit_status_tells(status: int, again: bool) -> None:
    assert judge_end(status, SAVED, ASKED, 1060 + SLACK_S + 1, could_be=True).again is again


def test_the_clocks_of_server_and_host_may_differ_a_little() -> None:
    assert judge_end(0, SAVED, ASKED, 1060 + SLACK_S, could_be=True).again


@pytest.mark.parametrize(("status", "again"), [(0, False), (1, False), (SAVED, True)])
def test_when_the_request_was_withdrawn_only_its_exit_status_tells(status: int, again: bool) -> None:
    asked = ASKED._replace(mark=MARK._replace(until_s=1020, why="beneficiary-gone"))
    verdict = judge_end(status, SAVED, asked, 1020 + SLACK_S + 1, could_be=True)
    assert verdict.again is again
    assert "withdrawn then (beneficiary-gone)" in verdict.why
    assert again or "only exit status 85 says that work is saved" in verdict.why


def test_an_end_before_the_request_was_withdrawn_counts_as_saved() -> None:
    asked = ASKED._replace(mark=MARK._replace(until_s=1020, why="beneficiary-gone"))
    assert judge_end(0, SAVED, asked, 1015, could_be=True).again


@pytest.mark.parametrize(("status", "again"), [(0, False), (1, False), (SAVED, True)])
def test_a_request_that_is_still_to_come_may_be_of_an_earlier_run(status: int, again: bool) -> None:
    """It was made while the server's clock was ahead: it looks later than the start of each run until then."""
    asked = ASKED._replace(mark=MARK._replace(asked_s=4600, until_s=4660))
    assert judge_end(status, SAVED, asked, NOW_S, could_be=True).again is again
    soon = ASKED._replace(mark=MARK._replace(asked_s=1010 + SLACK_S))
    assert judge_end(0, SAVED, soon, NOW_S, could_be=True).again


@pytest.mark.parametrize(("mom_began_s", "again"), [(990.0, False), (1010.0, True)])
def test_a_mom_that_was_away_tells_an_end_late_and_not_how_it_was(mom_began_s: float, again: bool) -> None:
    late_s = 1060 + AWAY_S
    assert judge_end(0, SAVED, ASKED, late_s, could_be=True, mom_began_s=mom_began_s).again is again
    assert not judge_end(0, SAVED, ASKED, late_s + 1, could_be=True, mom_began_s=mom_began_s).again


@pytest.mark.parametrize(("status", "again"), [(0, False), (1, False), (SAVED, True)])
def test_whom_a_checkpoint_asked_in_vain_has_saved_only_where_its_exit_status_says_so(status: int, again: bool) -> None:
    """The checkpoint script sends the signal too, and a program may need longer than it waits."""
    asked = RunOnServer(START_S, MARK._replace(how="checkpoint"))
    verdict = judge_end(status, SAVED, asked, NOW_S, could_be=True)
    assert (verdict.again, verdict.is_logged) == (again, True)
    says = "says" if again else "does not say"
    assert verdict.why == f"it was asked to save by a checkpoint, and its exit status {says} that it has"
    for no in (asked._replace(is_deleted=True), asked._replace(is_rerunnable=False), asked._replace(start_s=1001.0)):
        assert not judge_end(status, SAVED, no, NOW_S, could_be=True).again
    earlier = judge_end(status, SAVED, asked._replace(start_s=1001.0), NOW_S, could_be=True)
    assert earlier.why == "it was asked to save by a checkpoint, but maybe in an earlier run"


@pytest.mark.parametrize("start_s", [1001.0, None])
def test_a_run_that_seems_to_have_begun_after_it_was_asked_is_decided_by_its_exit_status(start_s: float | None) -> None:
    """A server that was restarted gives the jobs that run new start times. Not for ever, or it might never end."""
    asked = RunOnServer(start_s, MARK)
    assert judge_end(SAVED, SAVED, asked, NOW_S, could_be=True).again
    assert not judge_end(0, SAVED, asked, NOW_S, could_be=True).again
    assert not judge_end(SAVED, SAVED, asked, 1060 + AWAY_S + 1, could_be=True).again
    assert not judge_end(SAVED, SAVED, asked, 999.0, could_be=True).again


@pytest.mark.parametrize(("host_start_s", "again"), [(START_S, True), (1000.0 + SLACK_S, True), (1006.0, False)])
def test_a_start_that_the_server_does_not_know_is_the_one_of_the_host(host_start_s: float, again: bool) -> None:
    asked = RunOnServer(None, MARK)
    assert judge_end(0, SAVED, asked, NOW_S, could_be=True, host_start_s=host_start_s).again is again
    known = ASKED._replace(start_s=1001.0)
    assert not judge_end(0, SAVED, known, NOW_S, could_be=True, host_start_s=host_start_s).again


@pytest.mark.parametrize("status", [0, SAVED])
@pytest.mark.parametrize(
    "asked",
    [
        RunOnServer(START_S, Mark()),
        ASKED._replace(is_rerunnable=False),
        ASKED._replace(is_deleted=True),
        RunOnServer(START_S, MARK._replace(how="requeue")),
    ],
)
def test_whom_nobody_asked_in_this_run_has_ended(asked: RunOnServer, status: int) -> None:
    assert not judge_end(status, SAVED, asked, NOW_S, could_be=True).again


@pytest.mark.parametrize(("status", "again"), [(0, False), (1, False), (SAVED, True)])
def test_where_nobody_can_tell_its_exit_status_does(status: int, again: bool) -> None:
    assert judge_end(status, SAVED, None, NOW_S, could_be=True).again is again
    assert not judge_end(status, SAVED, None, NOW_S, could_be=False).again


@pytest.mark.parametrize(
    ("wished", "method", "could"),
    [
        ("signal", "requeue", True),
        ("checkpoint", "requeue", True),
        ("requeue", "signal", False),
        (None, "signal", True),
        (None, "requeue", False),
        ("nonsense", "requeue", False),
    ],
)
def test_the_jobs_own_wish_goes_before_the_set_method(wished: str | None, method: str, could: bool) -> None:
    assert could_be_asked(types.SimpleNamespace(Resource_List={SAVE: wished}), method) is could


def test_a_resource_that_the_host_does_not_know_is_no_wish() -> None:
    assert not could_be_asked(types.SimpleNamespace(Resource_List={}), "requeue")


def test_the_server_is_asked_about_the_run() -> None:
    text = show_marks({None: MARK})
    pbs_ifl.WORLD.update(server_status({"1.s": running(stime="900") | {MARK_KEY: text}}).to_data())
    assert ask_server(pbs_ifl, "1.s", 10) == ASKED


def test_the_server_says_who_must_not_be_run_twice() -> None:
    jobs = {"1.s": running(stime="900", Rerunable="False") | {MARK_KEY: show_marks({None: MARK})}}
    pbs_ifl.WORLD.update(server_status(jobs).to_data())
    assert ask_server(pbs_ifl, "1.s", 10) == ASKED._replace(is_rerunnable=False)


@pytest.mark.parametrize(
    ("comment", "deleted"),
    [
        ("Job run at Sun Nov 22 at 07:05 on (n1:ncpus=8)", False),
        ("Job run at Sun Nov 22 at 07:05 on (n1:ncpus=8) and terminated by alice@server", True),
        ("Job held by root on Sun Nov 22 07:07:41 2026 and terminated by alice@server", True),
        ("Job run at Sun Nov 22 at 07:05 on (n1:ncpus=8) and terminated", True),
        ("Job run at Sun Nov 22 at 07:05 on (n1:ncpus=8) and terminated by alice@server, she says", False),
        ("pbsteer 2026-11-22 07:05: it asks for aoe=x and terminated jobs", False),
    ],
)
def test_the_server_says_who_was_deleted(comment: str, deleted: bool) -> None:
    jobs = {"1.s": running(stime="900", comment=comment) | {MARK_KEY: show_marks({None: MARK})}}
    pbs_ifl.WORLD.update(server_status(jobs).to_data())
    assert ask_server(pbs_ifl, "1.s", 10) == ASKED._replace(is_deleted=deleted)


def test_of_a_subjob_the_mark_is_on_its_array() -> None:
    text = show_marks({3: MARK, 4: Mark("7.s")})
    jobs = {"8[].s": job("B") | {MARK_KEY: text}, "8[3].s": running(stime="900"), "8[5].s": running(stime="900")}
    pbs_ifl.WORLD.update(server_status(jobs).to_data())
    assert ask_server(pbs_ifl, "8[3].s", 10) == ASKED
    assert ask_server(pbs_ifl, "8[5].s", 10) == RunOnServer(START_S, Mark())


def test_a_server_that_is_away_does_not_know() -> None:
    pbs_ifl.WORLD["away"] = True
    assert ask_server(pbs_ifl, "1.s", 10) is None


def test_a_server_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pbs_ifl, "pbs_connect", lambda server: time.sleep(600))
    assert ask_server(pbs_ifl, "1.s", 0.2) is None


@pytest.mark.parametrize(
    ("state", "there"),
    [("free", True), ("job-busy", True), ("offline", True), ("down", False), ("job-busy,down", False),
     ("state-unknown,down", False), ("Stale", False), ("unresolvable,down", False)],
)  # fmt: skip
def test_whether_its_host_is_there_says_the_vnode(state: str, there: bool) -> None:
    text = show_marks({None: MARK})
    ran = running(vnode="n2", stime="900") | {MARK_KEY: text}
    pbs_ifl.WORLD.update(server_status({"1.s": ran}).to_data())
    pbs_ifl.WORLD["vnodes"] = {"n1": {"state": "free"}, "n2": {"state": state}}
    assert ask_server(pbs_ifl, "1.s", 10) == ASKED._replace(is_host_there=there)


AGAIN, OVER = Verdict(again=True, why="it saved"), Verdict(again=False, why="it was not asked")


def test_a_job_is_queued_again_only_when_its_host_is_back_with_the_server() -> None:
    answers = [None, ASKED._replace(is_host_there=False), ASKED]
    assert judge_until_server_back(lambda: answers.pop(0), lambda _: AGAIN, 60) == AGAIN
    assert not answers


def test_a_job_that_has_ended_for_good_is_not_held_back() -> None:
    answers: list[RunOnServer | None] = [None, ASKED]
    assert judge_until_server_back(lambda: answers.pop(0), lambda _: OVER, 60) == OVER
    assert answers == [ASKED]


def test_who_turns_out_to_have_ended_for_good_has() -> None:
    answers = [None, RunOnServer(START_S, Mark())]
    assert judge_until_server_back(lambda: answers.pop(0), lambda asked: OVER if asked else AGAIN, 60) == OVER


def test_a_server_that_does_not_come_back_is_not_waited_for_for_ever() -> None:
    verdict = judge_until_server_back(lambda: None, lambda _: AGAIN, 0)
    assert verdict.again
    assert "its host was not back with the server in 0 s" in verdict.why


def test_the_hook_is_over_before_its_alarm() -> None:
    assert HOOK_EVENTS["execjob_epilogue"].alarm_s >= SERVER_BACK_S + 3 * ANSWER_S


def ended_job(job_id: str, session: int | None = 42) -> types.SimpleNamespace:
    return types.SimpleNamespace(id=job_id, session_id=session)


def note_saved(home: Path, session: int = 42, before: str = "") -> Path:
    (home / "mom_priv").mkdir(exist_ok=True)
    note = home / "mom_priv" / f"{SAVED_NOTE}1.s.{session}"
    note.write_text(before)
    return note


def test_a_restart_that_failed_is_known_once(tmp_path: Path) -> None:
    note_saved(tmp_path)
    failed = [has_failed_restart(str(tmp_path), ended_job(job_id), 0) for job_id in ("2.s", "1.s", "1.s")]
    assert failed == [False, True, False]


@pytest.mark.parametrize(("session", "failed"), [(42, True), (-42, True), (None, True), (43, False)])
def test_a_later_run_that_began_anew_is_no_failed_restart(tmp_path: Path, session: int | None, failed: bool) -> None:
    note = note_saved(tmp_path)
    assert has_failed_restart(str(tmp_path), ended_job("1.s", session), 0) is failed
    assert not note.exists()


def test_a_failed_restart_of_another_task_is_known_and_then_forgotten(tmp_path: Path) -> None:
    """PBS knows the job by its first task's session; that task's note went as it was restarted."""
    notes = [note_saved(tmp_path, 43, "42"), note_saved(tmp_path, 44, "42 43")]
    other = tmp_path / "mom_priv" / f"{SAVED_NOTE}1.s.t.42"
    other.touch()
    assert has_failed_restart(str(tmp_path), ended_job("1.s", 42), 0)
    assert not any(note.exists() for note in notes)
    assert other.exists()


@pytest.mark.parametrize("job_id", ["1[2].s", "1[].s"])
def test_a_failed_restart_is_known_whatever_the_job_is_called(tmp_path: Path, job_id: str) -> None:
    note = note_saved(tmp_path)
    note.rename(note.with_name(f"{SAVED_NOTE}{job_id}.42"))
    assert has_failed_restart(str(tmp_path), ended_job(job_id, 42), 0)


def test_a_note_that_cannot_be_read_counts(tmp_path: Path) -> None:
    note_saved(tmp_path).write_bytes(b"\xff")
    assert has_failed_restart(str(tmp_path), ended_job("1.s", 42), 0)


def test_the_end_that_saving_makes_is_no_failed_restart(tmp_path: Path) -> None:
    note = note_saved(tmp_path)
    assert not has_failed_restart(str(tmp_path), ended_job("1.s"), -12)
    assert note.exists()
