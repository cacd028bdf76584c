"""What a pause, a mode and a pass that could not drive leave undone is said where a job would start."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.pbs.custom_resources import PAUSED_ATTRIBUTE
from policy import Ledger, Settings
from tests.tui.scripted_server import a_job, a_server_status, changed, with_job
from tui.backends.pass_journal import Pass, Passes
from tui.pages.job.job_explanation import explain_lines, explanation_data
from tui.pages.plan.console_plan_in_short_and_mode_notes import plan_in_short
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain

STARTS, WAITS = "17.hpc1", "14.hpc1"


def cluster_of(*, mode: str = "drive", reason: str = "", scheduling: str = "False", **last: Any) -> ClusterView:
    """carol's job of one core fits now; ``last`` is what the last pass wrote down."""
    server_status = with_job(a_server_status(), STARTS, a_job("carol", 1, **{"Resource_List.walltime": "00:01:00"}))
    queue = {**server_status.queues["workq"], "resources_available.pbsteer_mode": mode, "max_run_res_soft.ncpus": ""}
    server = {**server_status.server, "scheduling": scheduling, PAUSED_ATTRIBUTE: reason}
    jobs = {
        STARTS: server_status.jobs[STARTS],
        WAITS: server_status.jobs[WAITS],
        "12.hpc1": server_status.jobs["12.hpc1"],
    }
    server_status = changed(server_status, queues={"workq": queue}, server=server, jobs=jobs)
    passes = Passes((Pass(server_status.time_s, last),)) if last else Passes()
    return see(server_status, Settings(), Ledger(), 0.1, passes=passes).decided(lambda: 0.0)


def told_of(cluster: ClusterView, job_id: str) -> str:
    return " ".join(" ".join(plain(line) for line in explain_lines(cluster, job_id, 400).answer).split())


DRIVEN: dict[str, Any] = {"modes": {"workq": "drive"}, "acted": ["workq"]}
UNDRIVEN: dict[str, Any] = {
    "modes": {"workq": "drive"},
    "acted": [],
    "notes": ["queue workq is not driven: fair share is on"],
}
STOPPED: dict[str, Any] = {
    "modes": {"workq": "drive"},
    "acted": [],
    "paused": "pbsteer is paused by set server scheduling = False: ...",
}


def test_what_is_driven_starts() -> None:
    cluster = cluster_of(**DRIVEN)
    assert "starts 17 in this pass" in told_of(cluster, STARTS)
    assert explanation_data(cluster, STARTS)["state"] == "starting"
    assert plan_in_short(cluster).endswith(" starts 1")


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        (cluster_of(reason="water in row 4", **DRIVEN), "pbsteer is paused (water in row 4)"),
        (cluster_of(reason="water in row 4", mode="observe"), "pbsteer is paused (water in row 4)"),
        (cluster_of(**STOPPED), "pbsteer is paused by set server scheduling = False"),
        (cluster_of(mode="observe"), "workq is in observe: nothing of this is carried out"),
        (cluster_of(mode="advise"), "workq is in advise: PBS's scheduler starts jobs, pbsteer only preempts"),
        (cluster_of(**UNDRIVEN), "the last pass did not drive workq: fair share is on"),
    ],
)
def test_what_would_start_waits_for_what_leaves_it_undone(cluster: ClusterView, why: str) -> None:
    told, data = told_of(cluster, STARTS), explanation_data(cluster, STARTS)
    assert "in this pass" not in told
    assert "would start 17 on v2" in told
    assert f"waits for would start now, but {why}" in told
    assert (data["state"], data["reason"]["code"]) == ("waiting", "left-undone")
    assert data["reason"]["sentence"] == f"would start now, but {why}"
    assert "would start 1" in plan_in_short(cluster)


def test_a_job_that_waits_for_something_else_is_told_of_the_pause_too() -> None:
    paused = "pbsteer is paused (water in row 4)"
    assert told_of(cluster_of(reason="water in row 4"), WAITS).endswith(f"but {paused}")
    told = plan_in_short(cluster_of(reason="water in row 4"))
    assert told.startswith(f"{paused} · the console's plan of ")
    assert told.endswith(" would start 1")


def test_a_pause_by_scheduling_is_over_with_it_and_known_from_a_pass_alone() -> None:
    for cluster in (cluster_of(), cluster_of(scheduling="True", **{**STOPPED, "acted": ["workq"]})):
        assert "starts 17 in this pass" in told_of(cluster, STARTS)
