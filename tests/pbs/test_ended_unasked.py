"""Jobs that end with the exit status of saved work while the server is away, so that nobody can say who was asked."""

from __future__ import annotations

import pytest

from tests.hooks.deployed import deploy, quick_settings
from tests.pbs.cluster import PbsCluster

WISH = ("-l", "pbsteer_save=signal")
ENDING = "sleep 15; exit 85"


@pytest.mark.parametrize(("options", "runs"), [((), 1), (("-r", "n"), 1), (WISH, 2)], ids=["plain", "r-n", "wish"])
def test_only_a_job_to_be_asked_is_run_again_where_nobody_can_tell(
    pbs: PbsCluster, options: tuple[str, ...], runs: int
) -> None:
    deploy(pbs, quick_settings())
    job = pbs.qsub("alice", ("/bin/sh", "-c", ENDING), options=options)
    pbs.wait_for_state(job, "R")
    pbs.stop_server()
    try:
        pbs.wait_until(lambda: f"{job};Terminated" in pbs.mom_log() or f"{job};task" in pbs.mom_log(), 90, "its end")
        pbs.wait_until(
            lambda: f"{job};Obit" in pbs.mom_log() or f"{job};no active tasks" in pbs.mom_log(), 60, "its end"
        )
    finally:
        pbs.start_server()
    assert pbs.wait_for_state(job, "F", 180.0)["Exit_status"] == 85
    assert pbs.job(job)["run_count"] == runs
