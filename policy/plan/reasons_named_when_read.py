"""Reasons of jobs over quota, made when they are read: where many users wait each has a reason of its own, and a replay
reads those of few passes.

What such a reason needs is kept as it was when the job was attempted: later starts and victims do not change it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policy.eligibility.quota_headroom import QuotaHeadroom
from policy.eligibility.soft_quotas import Standing, entry_numbers
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.limit_attributes import EntityKey
from policy.preemption.preempt_for_job import Going, over_quota
from policy.reasons.reason import Reason


class OverQuota(NamedTuple):
    """Jobs of one queue that wait for the ``main`` reason and exceed quotas on its cores, so that they may not preempt:
    what the quotas left at their attempt, and how much the victims held then."""

    main: Reason
    queue: str
    headroom: QuotaHeadroom
    going: Going
    jobs: list[Job]

    def name(self, waits: dict[Reason, list[Job]]) -> None:
        """Move the jobs to the lists of their reasons."""
        known: dict[object, list[Job]] = {}
        for job in self.jobs:
            entity = self.headroom.exceeded_entity(job)
            jobs = known.get(entity)
            if jobs is None:
                jobs = known[entity] = waits.setdefault(self._reason(entity), [])
            jobs.append(job)
        self.jobs.clear()

    def _reason(self, entity: EntityKey) -> Reason:
        limit, used = self.headroom.limit_and_use(entity)
        numbers = entry_numbers(Standing(entity, limit, used, "ncpus", self.queue))
        going = self.going.get((self.queue, "ncpus", entity), 0)
        return Reason(self.main.code, self.main.numbers, (over_quota(numbers, going),))


def name_all(waits: dict[Reason, list[Job]], unnamed: Sequence[OverQuota]) -> Mapping[Reason, list[Job]]:
    """The waiting jobs by reason, with those that had no reason yet."""
    for each in unnamed:
        if each.jobs:
            each.name(waits)
    return waits
