"""What ``explain``, ``when``, ``status`` and ``do`` say on a real server of jobs that no plan starts: in a reservation."""

from __future__ import annotations

import time
from typing import Any

from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import on_server, pbsteer
from tests.pbs.job_kinds.test_reservations_dedicated_time import reserve, state_of

AHEAD_S = 60


def said(pbs: PbsCluster, *arguments: str) -> str:
    return " ".join(pbsteer(pbs, *arguments).split())


def refused(pbs: PbsCluster, *arguments: str) -> str:
    done: Any = on_server(pbs, "-m", "tui.cli.main", *arguments)
    assert done.status == 1, done
    return " ".join(str(done.stderr).split())


def test_a_job_in_a_reservation_is_started_by_pbs_when_that_begins(pbs: PbsCluster) -> None:
    queue = reserve(pbs, time.time() + AHEAD_S, 600, "1:ncpus=2").split(".")[0]
    job = pbs.qsub("alice", select="1:ncpus=1", walltime="00:05:00", queue=queue)
    about = f"it is in reservation {queue} of alice, which begins at "
    explained = said(pbs, "explain", job)
    assert about in explained
    assert "PBS's scheduler starts its jobs" in explained
    assert "unknown" not in explained
    assert f"starts by PBS's scheduler: {about}" in said(pbs, "when", job)
    assert f"queue {queue} is stopped" not in said(pbs, "status")
    assert f"start: queue {queue} is that of reservation {queue} of alice" in refused(pbs, "do", "start", queue, "--yes")
    assert pbs.job_state(job) == "Q"

    pbs.wait_until(lambda: "= 5" in state_of(pbs, queue), AHEAD_S + 30.0, "the reservation runs")
    pbs.wait_for_state(job, "R")
    assert f"it is in reservation {queue} of alice, which runs until " in said(pbs, "explain", job)
    assert f"stop: queue {queue} is that of reservation {queue} of alice" in refused(pbs, "do", "stop", queue, "--yes")
