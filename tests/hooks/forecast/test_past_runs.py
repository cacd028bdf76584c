"""The history of runs is read from the accounting log piece by piece, and is bounded for each user."""

from __future__ import annotations

import json
from pathlib import Path

from hooks.forecast.past_runs import RUNS_PER_USER, PastRuns
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S


def end(job: str, user: str = "alice", start_s: int = 1000, end_s: int = 1600, more: str = "") -> str:
    return (
        f"11/26/2026 10:00:00;E;{job}.server;user={user} group=users project=none jobname=a queue=workq "
        f"ctime=900 qtime=900 etime=900 start={start_s} exec_vnode=(n1:ncpus=2) Resource_List.ncpus=2 "
        f"Resource_List.walltime=01:00:00 session=0 end={end_s} Exit_status=0 {more}\n"
    )


def start(job: str, start_s: int) -> str:
    return f"11/26/2026 10:00:00;S;{job}.server;user=bob Resource_List.ncpus=2 ctime=900 start={start_s}\n"


def log(folder: Path, day: str, text: str) -> Path:
    with (folder / day).open("a") as file:
        file.write(text)
    return folder


def test_runs_come_from_the_ends_in_the_log_and_starts_from_both(tmp_path: Path) -> None:
    log(tmp_path, "20261125", end("1"))
    log(tmp_path, "20261126", start("2", 2000) + end("3[4]", end_s=1100, more="run_count=1") + "nonsense\n;;;\n")
    past = PastRuns().read_on(tmp_path)
    assert [(run.user, run.cores, run.end_s - run.start_s, run.estimate_s) for run in past.runs] == [
        ("alice", 2, 600.0, 3600.0),
        ("alice", 2, 100.0, 3600.0),
    ]
    assert past.started == {"1.server": 1000.0, "2.server": 2000.0, "3[].server": 1000.0}


def test_only_what_was_written_since_is_read_and_half_a_line_is_left(tmp_path: Path) -> None:
    whole = end("2")
    log(tmp_path, "20261125", end("1") + whole[:40])
    past = PastRuns.from_data(json.loads(json.dumps(PastRuns().read_on(tmp_path).to_data())))
    assert len(past.runs) == 1
    log(tmp_path, "20261125", whole[40:])
    log(tmp_path, "20261126", end("3"))
    past = past.read_on(tmp_path)
    assert len(past.runs) == 3
    assert past.read_on(tmp_path).runs == past.runs
    assert not past.read_on(tmp_path).started


def test_a_log_that_was_cut_off_is_read_from_its_begin(tmp_path: Path) -> None:
    log(tmp_path, "20261125", end("1") + end("2"))
    past = PastRuns().read_on(tmp_path)
    (tmp_path / "20261125").write_text(end("3", start_s=1000, end_s=1001))
    assert [run.end_s for run in past.read_on(tmp_path).runs] == [1600.0, 1600.0, 1001.0]


def test_runs_that_tell_no_run_time_are_left_out(tmp_path: Path) -> None:
    again, never = end("1", more="run_count=3"), end("2").replace("Exit_status=0", "Exit_status=-3")
    log(tmp_path, "20261125", again + never + end("3", user="") + end("4", start_s=2000, end_s=1000))
    assert PastRuns().read_on(tmp_path).runs == ()


def test_runs_that_were_killed_at_their_walltime_count_as_those_that_ended_by_themselves(tmp_path: Path) -> None:
    at_walltime = end("1", end_s=4600).replace("Exit_status=0", "Exit_status=-29")
    not_run = end("2", end_s=4601).replace("Exit_status=0", "Exit_status=-11")
    log(tmp_path, "20261125", at_walltime + not_run)
    assert [run.end_s for run in PastRuns().read_on(tmp_path).runs] == [4600.0]


def test_a_job_without_a_walltime_has_none(tmp_path: Path) -> None:
    log(tmp_path, "20261125", end("1").replace("Resource_List.walltime=01:00:00 ", ""))
    past = PastRuns().read_on(tmp_path)
    assert [run.estimate_s for run in past.runs] == [UNLIMITED_S]
    assert PastRuns.from_data(json.loads(json.dumps(past.to_data()))).runs[0].estimate_s == UNLIMITED_S


def test_one_user_with_many_runs_does_not_displace_the_others(tmp_path: Path) -> None:
    log(tmp_path, "20261125", end("1", user="bob") + "".join(end(str(n)) for n in range(2, 1002)))
    past = PastRuns().read_on(tmp_path)
    assert [run.user for run in past.runs].count("alice") == RUNS_PER_USER
    assert past.runs[0].user == "bob"


def test_other_data_is_no_history_and_odd_rows_are_left_out() -> None:
    for data in (
        {},
        {"version": 2},
        {"version": 1},
        {"version": 1, "runs": 3},
        {"version": 1, "runs": [[1], None, {}]},
    ):
        assert PastRuns.from_data(data) == PastRuns()
    rows = [["a", "", 1, 0, 1, 2], ["a", "", True, 0, 1, 2], ["a", "", 1, 0, float("inf"), 2], ["a", 1, 1, 0, 1, 2]]
    assert len(PastRuns.from_data({"version": 1, "runs": rows, "day": "../etc", "offset": 1}).runs) == 1
