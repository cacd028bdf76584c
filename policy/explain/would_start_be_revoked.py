"""Whether another job of the same pass could take back the start of a waiting job, if it started now.

Rule A takes back a start that puts its owner over quota, rule B one of a lower class (docs/policies.md, P1, 14).
"""

from __future__ import annotations

from policy.eligibility.soft_quotas import Quotas
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.priority_class import BASE
from policy.plan.plan_types import Plan
from policy.settings.site_settings import Settings


class KeptStarts:
    """Answers for the waiting jobs of one plan."""

    def __init__(self, plan: Plan, settings: Settings) -> None:
        self._plan = plan
        self._settings = settings
        self._quotas: Quotas | None = None

    def keeps(self, job: Job) -> bool:
        """Whether the job would keep a start, as far as quotas and classes show after the starts of the plan."""
        if self._settings.quota.preempt:
            if self._quotas is None:
                self._quotas = Quotas(self._plan.started.cluster(), self._settings.quota.counted)
            if self._quotas.exceeded_by(job) is not None:
                return False
        classes = self._plan.classes if self._settings.priority.preempt else None
        return not classes or classes.get(job.id, BASE) >= max(classes.values())
