"""When jobs start and end: by what happened, by the plan, by PBS's own estimate, and by soft or shrunk walltimes."""

from __future__ import annotations

import itertools

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, a_job, a_server_status, a_vnode, changed, running
from tui.state.cluster_view import ClusterView, see
from tui.state.ended_jobs import EndedJobs
from tui.tables.columns import Sort, arrange, fields, numbers
from tui.tables.columns_by_view.job_columns import job_columns
from tui.tables.columns_by_view.job_start_and_end import due_at, expected_end, real_end, started_at
from tui.tables.filter_line import parse_filter

SOON_S = NOON_S + 600
STARTED_S = NOON_S - 1800


def cluster(*, decided: bool = True, free: int = 4) -> ClusterView:
    """The usual cluster with so many cores free on v2, and jobs of erin's."""
    server_status = a_server_status()
    vnodes = {**server_status.vnodes, "v2": a_vnode(8, 8 - free, jobs="12.hpc1/0")}
    jobs = {
        **server_status.jobs,
        "21.hpc1": running("erin", 1, "v2", **{"Resource_List.soft_walltime": "00:40:00"}),
        "22.hpc1": a_job("erin", 500, **{"estimated.start_time": str(int(SOON_S))}),
        "23.hpc1": running("erin", 1, "v2", **{"Resource_List.walltime": ""}),
        "24.hpc1": {**a_job("erin", 1, stime=str(int(STARTED_S))), "estimated.start_time": "soon"},
    }
    ended = {"9.hpc1": {**running("erin", 4, "v2"), "job_state": "F", "obittime": str(int(NOON_S - 600))}}
    seen = see(changed(server_status, jobs=jobs, vnodes=vnodes), Settings(), Ledger(), 0.1, finished=EndedJobs(ended))
    return seen.decided(itertools.count().__next__) if decided else seen


def test_what_runs_or_ran_started_and_what_waits_did_not() -> None:
    jobs = cluster().server_status.jobs
    assert started_at(jobs["21.hpc1"]) == STARTED_S
    assert started_at(jobs["24.hpc1"]) is None, "requeued: PBS still shows its last start"


def test_a_start_to_come_is_the_plans_or_else_pbs_own() -> None:
    now = cluster()
    assert now.decision is not None
    assert now.decision.starts
    assert {due_at(now, job_id) for job_id in now.decision.starts} == {NOON_S}
    full = cluster(free=0)
    assert full.decision is not None
    planned = {estimate.id: estimate.at_s for estimate in full.decision.plan.estimates}
    assert planned
    assert {job_id: due_at(full, job_id) for job_id in planned} == planned
    assert due_at(now, "22.hpc1") == SOON_S
    assert due_at(now, "24.hpc1") is None, "an estimate that is no time is none"
    assert due_at(now, "21.hpc1") is None, "it runs already"
    assert due_at(cluster(decided=False), "22.hpc1") == SOON_S


@pytest.mark.parametrize(
    ("job_id", "after_s"),
    [
        ("11.hpc1", STARTED_S + 7200 - NOON_S),
        ("21.hpc1", STARTED_S + 2400 - NOON_S),
        ("22.hpc1", SOON_S + 7200 - NOON_S),
        ("23.hpc1", None),
        ("9.hpc1", None),
        ("16[].hpc1", None),
        ("nothing", None),
    ],
)
def test_an_end_is_expected_by_the_estimate(job_id: str, after_s: float | None) -> None:
    assert expected_end(cluster(), job_id) == (None if after_s is None else NOON_S + after_s)


def test_what_ended_has_a_real_end() -> None:
    assert real_end(cluster(), "9.hpc1") == NOON_S - 600
    assert real_end(cluster(), "11.hpc1") is None


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ends:<15m", ["21.hpc1"]),
        ("ends:>2h", ["22.hpc1"]),
        ("starts:>5m starts:<15m", ["22.hpc1"]),
        ("ended:<1h", ["9.hpc1"]),
        ("!ended:<1h ends:<15m", ["21.hpc1"]),
    ],
)
def test_points_in_time_are_filtered_by_how_far_they_are(text: str, ids: list[str]) -> None:
    now = cluster()
    columns = job_columns(now)
    wanted = parse_filter(text, fields(columns), numbers=numbers(columns))
    assert wanted.of(["9.hpc1", "11.hpc1", "21.hpc1", "22.hpc1", "23.hpc1"]) == ids


def test_they_sort_by_time_with_what_has_none_at_the_end() -> None:
    columns = job_columns(cluster())
    keys = ["23.hpc1", "11.hpc1", "21.hpc1", "9.hpc1"]
    assert list(arrange(keys, columns, None, Sort("ends"))) == ["21.hpc1", "11.hpc1", "23.hpc1", "9.hpc1"]
    assert list(arrange(keys, columns, None, Sort("ended"))) == ["9.hpc1", "23.hpc1", "11.hpc1", "21.hpc1"]


def test_a_plain_text_is_not_looked_for_in_times() -> None:
    columns = job_columns(cluster())
    assert {"starts", "ends", "ended", "submitted"} <= numbers(columns)
