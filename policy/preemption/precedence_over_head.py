"""Which jobs have a better claim than the head of their region, so that it gives way (docs/policies.md, "A head has no
veto"), and which runs the rescue does not cut.

A job has a better claim than the head if its class is higher and the classes compare (rule B); or, unless its class is
lower, if it is within quota and the head is not (rule A).
"""

from __future__ import annotations

from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.quota_headroom import QuotaHeadroom
from policy.eligibility.soft_quotas import Quotas
from policy.model.jobs_runs_vnodes_queues import Job, Run
from policy.model.priority_class import BASE
from policy.settings.site_settings import Settings


class Claims:
    """Compares claims in one pass, by the quotas and the classes at the time of the call."""

    def __init__(self, quotas: Quotas, classes: Classes | None, settings: Settings) -> None:
        self._quotas = quotas
        self._classes = classes
        self._rule_a = settings.quota.preempt
        self._rule_b = settings.priority.preempt
        # The headroom and head compared last, and whether that head was within quota: many jobs meet the same head.
        self._left: QuotaHeadroom | None = None
        self._head: Job | None = None
        self._is_head_within = False

    def outranks(self, job: Job, head: Job) -> bool:
        """Whether the head gives way to the job."""
        if self._classes is not None and self._classes.comparable(job.queue, head.queue):
            of_jobs = self._classes.of_jobs
            of_job, of_head = of_jobs.get(job.id, BASE), of_jobs.get(head.id, BASE)
            if of_job < of_head:
                return False
            if self._rule_b and of_job > of_head:
                return True
        if not self._rule_a:
            return False
        left = self._quotas.headroom(job.queue)
        if left is not self._left or head is not self._head:
            self._left, self._head, self._is_head_within = left, head, self.is_within(head)
        return not self._is_head_within and left.first_exceeded(job) is None

    def outranks_by_class(self, job: Job, head: Job, run_id: str = "") -> bool:
        """Whether the head gives way to the job by its class alone; with a ``run_id`` by the class in which this run of
        it has started, as the rest of an array may be in another one."""
        classes = self._classes
        if classes is None or not self._rule_b or not classes.comparable(job.queue, head.queue):
            return False
        return (classes.of_runs.get(run_id, BASE) if run_id else classes.of(job)) > classes.of(head)

    def protects(self, run: Run, job: Job) -> bool:
        """Whether the run has a better claim to its cores than the job: its owner could then preempt the job."""
        if self._classes is not None and self._rule_b and self._classes.comparable(run.job.queue, job.queue):
            of_run, of_job = self._classes.of_victim(run), self._classes.of(job)
            if of_run != of_job:
                return of_run > of_job
        if not self._rule_a or not self._quotas.bounds(run.job, run.allocation):
            return False
        return self._quotas.surplus(run.job, run.allocation) is None and not self.is_within(job)

    def is_within(self, job: Job) -> bool:
        """Whether some quota counts the job, and every quota that does would still hold with it started."""
        return self._quotas.headroom(job.queue).first_exceeded(job) is None
