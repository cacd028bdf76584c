"""Entries of the next ledger about waiting jobs: their requests when they got promises or earmarks, and how their
promises have moved. Jobs that no longer wait are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.ledger_between_passes import Earmark, Ledger, Moved
from policy.model.request_when_promised import RequestWhenPromised
from policy.plan.plan_types import MovedPromise


def requests_when_promised(
    ledger: Ledger, promises: Mapping[str, float], earmarks: Mapping[str, Earmark], jobs: Mapping[str, Job]
) -> Mapping[str, RequestWhenPromised]:
    """The requests of the jobs with promises or earmarks; for new ones as they are now."""
    before = ledger.asked
    if not earmarks and len(before) == len(promises):
        for job_id in promises:
            if job_id not in before or job_id not in jobs:
                break
        else:
            return before
    asked = {
        job_id: RequestWhenPromised.of(jobs[job_id])
        if job_id not in before or (job_id in earmarks and job_id not in ledger.earmarks)
        else before[job_id]
        for job_id in (*promises, *earmarks)
        if job_id in jobs
    }
    return before if asked == before else asked


def moved_so_far(ledger: Ledger, now: Mapping[str, MovedPromise], jobs: Mapping[str, Job]) -> Mapping[str, Moved]:
    """How the promises of the waiting jobs have moved, in this pass and before."""
    known = ledger.moved
    moved = {job: each for job, each in known.items() if job in jobs}
    for head, move in now.items():
        before = known.get(head, Moved(move.was_s, 0, ""))
        moved[head] = Moved(before.first_s, before.times + 1, move.beneficiary)
    return moved
