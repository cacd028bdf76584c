"""Has a MoM that was restarted report the sessions of the jobs that it took over.

If server and MoM end right after a job's start, the server never gets the job's session: to it the job is about to run
(substate 41) and has no start, until it ends. A MoM that takes over a job does not report its session again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

REPORTED_S = 600
"""For how long after the MoM's start sessions are reported. A MoM reports to its server every two minutes at least, and
the server may be restarted later than the MoM."""


def find_mom_start(pbs_home: str) -> float:
    """When this host's MoM was started: the time of its lock file, which it writes then. 0 if it cannot be read."""
    try:
        return (Path(pbs_home) / "mom_priv" / "mom.lock").stat().st_mtime
    except OSError:
        return 0.0


def report_sessions(jobs: Mapping[str, Any], mom_began_s: float, now_s: float) -> None:
    """Have the MoM report the session of each of an event's jobs, unless it was started more than
    :data:`REPORTED_S` ago. For a session that the server knows this changes nothing."""
    if not 0 <= now_s - mom_began_s < REPORTED_S:
        return
    for job in jobs.values():
        if job.session_id:
            job.session_id = int(job.session_id)
