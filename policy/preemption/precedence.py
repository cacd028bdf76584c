"""Whose claim to cores is the better one: which jobs the head of a region gives way to (docs/policies.md, "A head has
no veto"), and which runs no rescue cuts.

A reservation protects its head against jobs without a better claim. A job has a better claim where its class is higher
and the classes compare (rule B); or, unless its class is lower, where it is within quota and the head is not (rule A).
"""

from __future__ import annotations

from policy.eligibility.priority_classes import Classes
from policy.eligibility.quota_headroom import Lefts
from policy.eligibility.quotas import Quotas
from policy.model.cluster import Job, Run
from policy.settings.site_settings import Settings


class Claims:
    """The claims of one pass, as the quotas and the classes stand at the moment they are compared."""

    def __init__(self, quotas: Quotas, classes: Classes | None, settings: Settings) -> None:
        self._quotas = quotas
        self._classes = classes
        self._rule_a = settings.quota.preempt
        self._rule_b = settings.priority.preempt
        # What is left, the head that was compared last, and whether it was within quota then: many jobs ask in turn.
        self._left: Lefts | None = None
        self._head: Job | None = None
        self._is_head_within = False

    def outranks(self, job: Job, head: Job) -> bool:
        """Whether the head gives way to the job."""
        if self._classes is not None and self._classes.comparable(job.queue, head.queue):
            of_job, of_head = self._classes.of(job), self._classes.of(head)
            if of_job < of_head:
                return False
            if self._rule_b and of_job > of_head:
                return True
        if not self._rule_a:
            return False
        left = self._quotas.lefts(job.queue)
        if left is not self._left or head is not self._head:
            self._left, self._head, self._is_head_within = left, head, self.is_within(head)
        return not self._is_head_within and left.first_exceeded(job) is None

    def outranks_by_class(self, job: Job, head: Job) -> bool:
        """Whether the head gives way to the job for its class alone."""
        classes = self._classes
        if classes is None or not self._rule_b or not classes.comparable(job.queue, head.queue):
            return False
        return classes.of(job) > classes.of(head)

    def protects(self, run: Run, job: Job) -> bool:
        """Whether the run has a better claim to its cores than the job, so that its owner would be entitled to preempt
        the job in turn."""
        if self._classes is not None and self._rule_b and self._classes.comparable(run.job.queue, job.queue):
            of_run, of_job = self._classes.of_victim(run), self._classes.of(job)
            if of_run != of_job:
                return of_run > of_job
        if not self._rule_a or not self._quotas.bounds(run.job, run.placement):
            return False
        return self._quotas.surplus(run.job, run.placement) is None and not self.is_within(job)

    def is_within(self, job: Job) -> bool:
        """Whether some quota counts the job, and it would stay within all that do."""
        return self._quotas.lefts(job.queue).first_exceeded(job) is None
