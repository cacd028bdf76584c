"""What the hook on a MoM makes of the notes that the checkpoint script leaves when it has restarted a job."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hooks.checkpoint.on_job_host.read_saved_task_notes import SAVED, SAVING_NOTE
from hooks.checkpoint.on_job_host.report_restarted_as_running import REPORTED_S, RESTARTED, find_restarted
from hooks.entries.exechost_periodic import forget_left, report_restarted
from hooks.placement.files_with_core_list import write_lists
from hooks.scripts import write_saved_task_notes
from policy.model.lists_for_programs import Entry


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "mom_priv").mkdir()
    return tmp_path


def report(home: Path, sessions: dict[str, int | None]) -> dict[str, Any]:
    jobs = {job_id: SimpleNamespace(session_id=session) for job_id, session in sessions.items()}
    event = SimpleNamespace(job_list=jobs)
    report_restarted(SimpleNamespace(event=lambda: event, pbs_conf={"PBS_HOME": str(home)}))
    return {job_id: job.session_id for job_id, job in jobs.items()}


@pytest.fixture
def clock_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The host's time, which a test moves."""
    now_s = [1000.5]
    monkeypatch.setattr(time, "time", lambda: now_s[0])
    return now_s


@pytest.mark.parametrize("interval_s", [1, 5, 50, 60, 150])
def test_a_restarted_job_is_reported_long_enough_with_either_session_for_the_server_to_hear_of_it(
    home: Path, clock_s: list[float], interval_s: float
) -> None:
    """A MoM tells its server every two minutes at least, whatever the hook tells the MoM in between."""
    note = home / "mom_priv" / f"{RESTARTED}1.s"
    for _ in range(2):
        write_saved_task_notes.write_whole(note, "")
        told: list[int] = [42]
        while note.exists():
            told.append(report(home, {"1.s": told[-1], "2.s": 43})["1.s"])
            clock_s[0] += interval_s
        reported_s = {session: told.count(session) * interval_s for session in (42, -42)}
        assert min(reported_s.values()) >= REPORTED_S
        assert max(reported_s.values()) <= REPORTED_S + 3 * interval_s
        assert sum(before != after for before, after in zip(told, told[1:])) == 2, "there and back"
        assert report(home, {"1.s": 42, "2.s": 43}) == {"1.s": 42, "2.s": 43}


@pytest.mark.parametrize("text", ["", "-42", "42 twice", "-42 0 1000", "42 1000000 5", f"1 1 {'9' * 4000}"])
def test_a_job_that_came_back_with_the_opposite_sign_ends_without(home: Path, clock_s: list[float], text: str) -> None:
    """It was checkpointed, or the hook updated, between two reports."""
    (home / "mom_priv" / f"{RESTARTED}1.s").write_text(text)
    session = -42
    for _ in range(8):
        session = report(home, {"1.s": session})["1.s"]
        clock_s[0] += 60
    assert (session, find_restarted(str(home))) == (42, {})


def test_where_the_note_cannot_be_written_nothing_is_reported(home: Path, clock_s: list[float]) -> None:
    (home / "mom_priv" / f"{RESTARTED}1.s").touch()
    (home / "mom_priv" / f".{RESTARTED}1.s.new").mkdir()
    assert report(home, {"1.s": 42}) == {"1.s": 42}


def test_where_the_hook_runs_seldom_there_are_two_reports(home: Path, clock_s: list[float]) -> None:
    (home / "mom_priv" / f"{RESTARTED}1.s").touch()
    assert report(home, {"1.s": 42}) == {"1.s": -42}
    clock_s[0] += 300
    assert report(home, {"1.s": -42}) == {"1.s": 42}
    clock_s[0] += 300
    assert report(home, {"1.s": 42}) == {"1.s": 42}
    assert find_restarted(str(home)) == {}


def test_what_the_mom_did_not_take_from_a_run_that_it_ended_is_reported_by_the_next(
    home: Path, clock_s: list[float]
) -> None:
    (home / "mom_priv" / f"{RESTARTED}1.s").touch()
    for _ in range(2):
        assert report(home, {"1.s": 42}) == {"1.s": -42}
    clock_s[0] += 160
    for _ in range(2):
        assert report(home, {"1.s": -42}) == {"1.s": 42}
    clock_s[0] += 160
    assert report(home, {"1.s": 42}) == {"1.s": 42}
    assert find_restarted(str(home)) == {}


def test_a_clock_that_was_set_back_and_a_note_of_another_version_end_the_reports_too(
    home: Path, clock_s: list[float]
) -> None:
    note = home / "mom_priv" / f"{RESTARTED}1.s"
    note.write_text("42 twice")
    assert report(home, {"1.s": 42}) == {"1.s": -42}
    clock_s[0] -= 500
    assert report(home, {"1.s": -42}) == {"1.s": 42}
    clock_s[0] += REPORTED_S
    assert report(home, {"1.s": 42}) == {"1.s": 42}
    assert find_restarted(str(home)) == {}


@pytest.mark.parametrize("seen", [{}, {"1.s": None}])
def test_a_job_that_the_mom_was_just_getting_is_reported_by_the_next_run(
    home: Path, seen: dict[str, int | None]
) -> None:
    """The hook's list of jobs is from its beginning, and the note from after that."""
    (home / "mom_priv" / f"{RESTARTED}1.s").touch()
    report(home, seen)
    assert report(home, {"1.s": 42}) == {"1.s": -42}


def test_a_note_of_a_restarted_job_that_is_gone_is_taken_away(home: Path) -> None:
    (home / "mom_priv" / "jobs").mkdir()
    for job_id in ("1.s", "2.s", "3.s"):
        (home / "mom_priv" / f"{RESTARTED}{job_id}").touch()
    (home / "mom_priv" / "jobs" / "2.s.JB").touch()
    forget(home, "3.s")
    assert find_restarted(str(home)).keys() == {"2.s", "3.s"}


def test_the_script_leaves_the_notes_that_the_hooks_look_for() -> None:
    assert (write_saved_task_notes.SAVED, write_saved_task_notes.SAVING, write_saved_task_notes.RESTARTED) == (
        SAVED,
        SAVING_NOTE,
        RESTARTED,
    )


def forget(home: Path, *jobs: str) -> set[str]:
    event = SimpleNamespace(job_list=dict.fromkeys(jobs))
    forget_left(SimpleNamespace(event=lambda: event, pbs_conf={"PBS_HOME": str(home)}))
    return {path.name for path in (home / "mom_priv").iterdir() if path.name != "jobs"}


def test_what_is_noted_of_saved_jobs_goes_once_the_mom_knows_them_no_more(home: Path) -> None:
    (home / "mom_priv" / "jobs").mkdir()
    for job_id in ("1.s", "2[3].s"):
        (home / "mom_priv" / "jobs" / f"{job_id}.JB").touch()
    kept = {f"{SAVED}{name}" for name in ("1.s.42", "1.s.43", "2[3].s.44", "4.s.45")} | {"config", f"{SAVED}odd"}
    for name in kept | {f"{SAVING_NOTE}5.s.46", f"{SAVED}5.s.46", f"{SAVED}5.s.47", f"{SAVED}2[4].s.48"}:
        (home / "mom_priv" / name).touch()
    assert forget(home, "4.s") == kept
    (home / "mom_priv" / "jobs" / "1.s.JB").unlink()
    assert forget(home, "4.s") == kept - {f"{SAVED}1.s.42", f"{SAVED}1.s.43"}


def test_the_lists_of_cores_of_a_job_that_has_just_come_stay(home: Path) -> None:
    """The hook's list of jobs is from its beginning; the MoM has the job in its own file before the job begins."""
    (home / "mom_priv" / "jobs").mkdir()
    (home / "aux").mkdir()
    entries = (Entry("n2", "n2", 4, (1,), (16, 17), 32),)
    lists = {job_id: set(write_lists(home, job_id, entries).values()) for job_id in ("1.s", "2[3].s", "4.s", "5.s")}
    for job_id in ("1.s", "2[3].s"):
        (home / "mom_priv" / "jobs" / f"{job_id}.JB").touch()
    forget(home, "4.s")
    assert set((home / "aux").iterdir()) == lists["1.s"] | lists["2[3].s"] | lists["4.s"]


def test_a_host_whose_notes_cannot_be_taken_away_reports_all_the_same(home: Path) -> None:
    (home / "mom_priv" / f"{SAVED}1.s.42").mkdir()
    assert forget(home) == {f"{SAVED}1.s.42"}
    (home / "mom_priv" / f"{SAVED}1.s.42").rmdir()
    (home / "mom_priv").rmdir()
    forget_left(SimpleNamespace(event=lambda: SimpleNamespace(job_list={}), pbs_conf={"PBS_HOME": str(home)}))
