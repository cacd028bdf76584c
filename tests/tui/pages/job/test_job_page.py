"""A suspended job's page: PBS has when it started, and nothing says when it was suspended."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import a_server_status, running, with_job
from tui.pages.job.job_page import job_lines
from tui.state.cluster_view import see
from tui.tables.columns_by_view.planned_job_outcome import describe_job
from tui.text.screen_line import plain

JOB = "11.hpc1"


@pytest.mark.parametrize(
    ("state", "words", "ends"),
    [
        ("R", "R: running for 30 min", True),
        ("S", "S: suspended, started 30 min ago", False),
        ("U", "U: suspended by its user, started 30 min ago", False),
    ],
)
def test_no_time_of_a_suspended_job_is_one_of_its_suspension(state: str, words: str, ends: bool) -> None:
    status = with_job(a_server_status(), JOB, {**running("alice", 8, "v1"), "job_state": state})
    cluster = see(status, Settings(), Ledger(), 0.1).decided(lambda: 0.0)
    told = [" ".join(plain(line).split()) for line in job_lines(cluster, JOB, 200)]
    assert f"state {words}" in told
    # Its walltime stands still meanwhile.
    assert any(line.startswith("expected end") for line in told) is ends
    assert (" · ends " in plain(describe_job(cluster, JOB))) is ends
