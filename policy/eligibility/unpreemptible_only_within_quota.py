"""Jobs that may not be preempted start only within quota, or in a class above base (docs/policies.md, P1, 17).

Beyond the quota such a job would keep other users from theirs until it ends.
"""

from __future__ import annotations

import re

from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.soft_quotas import Quotas
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.ledger_between_passes import Ledger
from policy.model.priority_class import BASE
from policy.reasons.reason import Reason
from policy.reasons.reason_names import Numbers
from policy.settings.site_settings import QuotaSettings
from policy.state.vnode_totals_hosts_and_matching import Inventory

_INDEX = re.compile(r"\[[0-9]+\]")


class Confined:
    """Checks the jobs of one pass that could not be preempted once they run."""

    def __init__(self, ledger: Ledger, quotas: Quotas, classes: Classes | None, settings: QuotaSettings) -> None:
        self._counts = ledger.preemptions
        self._quotas = quotas
        self._classes = classes
        self._cap = settings.cap
        capped = [run for run, count in ledger.preemptions.items() if count >= self._cap]
        self.capped = frozenset((*capped, *(_INDEX.sub("[]", run, count=1) for run in capped)))
        """The ids of jobs, and of arrays with subjobs, that were preempted as often as the cap allows."""

    def why(self, job: Job, where: Allocation | None = None) -> Reason | None:
        """The reason why the job may not start (on the vnodes of ``where``, if given); None where it may be preempted,
        is within quota, or is above the base class."""
        why = self._why_confined(job)
        if not why:
            return None
        over = self._quotas.exceeded_by(job, where)
        if over is None:
            return None
        numbers: Numbers = (("why", why),)
        return Reason("unpreemptible", (*numbers, *self._quotas.numbers_of(over, job, where)))

    def vnodes_beyond_quota(self, job: Job, inventory: Inventory) -> int:
        """The vnodes of which a single one, held whole, is more than a quota of such a job."""
        beyond = 0
        for _, resource, _, limit in self._quotas.bounds(job) if self._why_confined(job) else ():
            for amounts, vnodes in inventory.kinds():
                beyond |= vnodes if dict(amounts).get(resource, 0) > limit else 0
        return beyond

    def _why_confined(self, job: Job) -> str:
        """Why the job may not be preempted; empty where it may be, or is above the base class."""
        if self._classes is not None and self._classes.of(job) != BASE:
            return ""
        return self._why_not_preempted(job)

    def _why_not_preempted(self, job: Job) -> str:
        if not job.rerunable:
            return "it is not rerunnable"
        if job.id in self.capped:
            next_id = job.subjob_id(job.subjobs[0]) if job.subjobs else job.id
            count = self._counts.get(next_id, 0)
            if count >= self._cap:
                return f"it was preempted {count} times, which is the cap"
        return ""
