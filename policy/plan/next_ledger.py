"""What the next pass is told of the jobs that wait: what was asked for when they were promised a time, and how their
promises have moved. Both are kept only for jobs that are there still.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from policy.model.cluster import Job
from policy.model.ledger import Hold, Ledger, Moved
from policy.model.request_record import Asked
from policy.plan.plan import MovedPromise


def asked_by(
    ledger: Ledger, promises: Mapping[str, float], holds: Mapping[str, Hold], jobs: Mapping[str, Job]
) -> Mapping[str, Asked]:
    """What those asked for to whom promises and holds were given: those of now as they ask now."""
    before = ledger.asked
    if not holds and len(before) == len(promises):
        for job_id in promises:
            if job_id not in before or job_id not in jobs:
                break
        else:
            return before
    asked = {
        job_id: Asked.of(jobs[job_id])
        if job_id not in before or (job_id in holds and job_id not in ledger.holds)
        else before[job_id]
        for job_id in (*promises, *holds)
        if job_id in jobs
    }
    return before if asked == before else asked


def moved_so_far(ledger: Ledger, now: Mapping[str, MovedPromise], jobs: Mapping[str, Job]) -> Mapping[str, Moved]:
    """How the promises of the jobs that wait have moved, in this pass and before."""
    known = ledger.moved
    moved = {job: each for job, each in known.items() if job in jobs}
    for head, move in now.items():
        before = known.get(head, Moved(move.was_s, 0, ""))
        moved[head] = Moved(before.first_s, before.times + 1, move.beneficiary)
    return moved


def array_of(run_id: str) -> str:
    """The id of the array that a subjob's id belongs to; the id itself where it is no subjob's."""
    return _INDEX.sub("[]", run_id, count=1)


_INDEX = re.compile(r"\[[0-9]+\]")
