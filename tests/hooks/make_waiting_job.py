"""A waiting job of the policy's for tests: its user and its walltime are what matters."""

from __future__ import annotations

from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job


def waiting_job(user: str, walltime_s: float) -> Job:
    return Job("1.s", user, Request.of_cores(1), "workq", 0.0, walltime_s)
