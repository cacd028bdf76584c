"""The console's plan: whose it is and when it was made, and sentences that are true of each job that they name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from policy import Ledger, Settings
from tests.policy.clusters import cluster, job, plan_for, run, vnode
from tests.tui.scripted_server import a_job, a_server_status, changed, with_job
from tui.pages.plan_page import plan_in_short, plan_lines, waiting_lines
from tui.state.cluster_view import ClusterView, Decision, see
from tui.text.screen_line import plain
from tui.text.times_and_durations import clock_time


def told(cores: Sequence[int]) -> str:
    """The line on jobs of so many cores that wait behind the first job in line."""
    jobs = [job("2", "zoe", "8"), *(job(str(number), "bob", str(each)) for number, each in enumerate(cores, start=3))]
    snapshot = cluster([vnode("v1", 8)], jobs, [run("1", "a", "v1=8", 0, 100)])
    (line,) = (line for line in waiting_lines(Decision(snapshot, plan_for(snapshot), (), 0.0), 10) if "3" in line[0][0])
    return plain(line)


def test_jobs_that_differ_are_told_of_one_that_is_named() -> None:
    assert told((4, 5, 4)).startswith("3 4 5, of which 3: needs 4 cores: 0 are idle")
    assert told((4,) * 9).startswith("3 4 5 6 7 8 and 3 more, of which 3: needs 4 cores: 0 are idle")


def test_jobs_that_are_alike_share_a_sentence() -> None:
    assert told((4, 4)).startswith("3 4: needs 4 cores: 0 are idle")


def in_mode(**modes: str) -> ClusterView:
    """The scripted cluster with jobs that fit now in both of its queues."""
    server_status = a_server_status()
    for number, queue in enumerate(modes, start=17):
        server_status = with_job(server_status, f"{number}.hpc1", a_job("carol", 1, queue=queue))
    jobs = {job_id: job for job_id, job in server_status.jobs.items() if job_id[:2] in ("12", "17", "18")}
    queues = {
        queue: {**server_status.queues[queue], "resources_available.pbsteer_mode": mode, "max_run_res_soft.ncpus": ""}
        for queue, mode in modes.items()
    }
    server_status = changed(server_status, jobs=jobs, queues=queues)
    return see(server_status, Settings(), Ledger(), 0.1).decided(lambda: 0.0)


@pytest.mark.parametrize(
    ("modes", "words"),
    [
        ({"workq": "drive"}, "starts 1"),
        ({"workq": "observe"}, "would start 1"),
        ({"workq": "advise"}, "would start 1"),
        ({"workq": "drive", "gpu": "observe"}, "starts 1, would start 1"),
    ],
)
def test_the_plan_in_short_says_whose_it_is_and_what_of_it_is_carried_out(modes: dict[str, str], words: str) -> None:
    cluster = in_mode(**modes)
    at = clock_time(cluster.now_s, seconds=True)
    assert plan_in_short(cluster) == f"the console's plan of {at} {words}"


def test_starts_of_driven_and_of_observed_queues_have_titles_of_their_own() -> None:
    lines = [plain(line) for line in plan_lines(in_mode(workq="drive", gpu="observe"))]
    assert lines[lines.index("starts") + 1].startswith("  17 carol 1c on v2")
    assert lines[lines.index("would start") + 1].startswith("  18 carol 1c on v2")
