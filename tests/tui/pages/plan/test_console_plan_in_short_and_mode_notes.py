"""The console's plan in short: whose it is, when it was made, and what of it is carried out."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import a_job, a_server_status, changed, with_job
from tui.pages.plan.console_plan_in_short_and_mode_notes import plan_in_short, plan_notes
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain
from tui.text.times_and_durations import clock_time


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


def test_the_notes_say_where_the_plan_is_carried_out() -> None:
    notes = [plain(line) for line in plan_notes(in_mode(workq="drive", gpu="observe"))]
    assert notes[0].startswith("the console's plan of ")
    assert "workq is in drive: the next pass does this" in notes
    assert any(note.startswith("gpu is in observe") for note in notes)
