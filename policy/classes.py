"""P2: the class of each job, by its user's priority and what is left of the priority quota (docs/policies.md, P2).

A user (or the group, where only it has an entry) has a priority per queue; the priority quota is P1's quota. In queue
order each waiting job that what remains of the quota covers takes the priority, any other the base class, below all.
Classes are decided anew in each pass and frozen when a job starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policy.cluster import Job, Run
from policy.ledger import Ledger
from policy.limits import GENERIC, EntityKey
from policy.quotas import Quotas
from policy.world import Entry, World

BASE = -1
"""The class of jobs beyond the priority quota, and of users without a priority: lower than every priority."""


class Subject(NamedTuple):
    """Whose priority a job takes: the user, or the group where only it has an entry, and the quota that is theirs."""

    entity: EntityKey
    priority: int
    quota: int


class Classes:
    """The classes of one pass: of runs, frozen at their start, and of waiting jobs, decided by :meth:`order`."""

    def __init__(self, world: World, ledger: Ledger, quotas: Quotas, now_s: float) -> None:
        self._world = world
        self._now_s = now_s
        self._quotas = quotas
        self._subjects: dict[tuple[str, str, str], Subject | None] = {}
        self._remaining: dict[tuple[str, EntityKey], int] = {}
        self.of_jobs: dict[str, int] = {}
        self.of_runs: dict[str, int] = self._classes_of_runs(ledger)
        for job_id in ledger.holds:
            job = world.jobs.get(job_id)
            if job is not None:
                self._consume(job)

    def of(self, job: Job) -> int:
        """The class of a waiting job."""
        return self.of_jobs.get(job.id, BASE)

    def of_run(self, run: Run) -> int:
        """The class that a run started in."""
        return self.of_runs.get(run.id, BASE)

    def start(self, job: Job, run_id: str) -> None:
        """The job starts: its class is frozen."""
        self.of_runs[run_id] = self.of(job)

    def subject(self, job: Job) -> Subject | None:
        """Whose priority the job takes; None where nobody's entry counts it.

        The user's own entry comes first, then the group's own, then the generic ones of users and of groups. Where no
        quota counts the one who has the priority, the priority quota is 0.
        """
        key = (job.queue, job.user, job.group)
        if key not in self._subjects:
            self._subjects[key] = self._find_subject(job)
        return self._subjects[key]

    def remaining(self, job: Job) -> int:
        """What is left of the priority quota of the job's subject, 0 without one."""
        subject = self.subject(job)
        return 0 if subject is None else self._left(job.queue, subject)

    def order(self, entries: Sequence[Entry]) -> list[Entry]:
        """Class each waiting job in queue order; gives them by class, highest first, each class in queue order.

        A job that is held back consumes nothing: it could not start.
        """
        by_class: dict[int, list[Entry]] = {}
        of_job, base = self.of_jobs, by_class.setdefault(BASE, [])
        # Most jobs are those of users for whom nothing remains: one look tells, unless the job takes nothing of it.
        by_cores = self._quotas.counted == "ncpus"
        spent: set[tuple[str, str, str]] = set()
        for entry in entries:
            job = entry[5]
            key = (job.queue, job.user, job.group)
            if entry[4] and key in spent:
                base.append(entry)
                continue
            subject = self.subject(job)
            if subject is None or (by_cores and self._left(job.queue, subject) <= 0):
                spent.add(key)
            taken = of_job.get(job.id)
            if taken is None:
                held_back = job.blocked or (job.not_before_s is not None and job.not_before_s > self._now_s)
                taken = BASE if held_back else self._consume(job)
            if taken == BASE:
                base.append(entry)
            else:
                by_class.setdefault(taken, []).append(entry)
        return [entry for key in sorted(by_class, reverse=True) for entry in by_class[key]]

    def _consume(self, job: Job) -> int:
        """Class one job, taking its need off what remains. An array takes the class for its next subjob."""
        subject = self.subject(job)
        if subject is None:
            return BASE
        left, need = self._left(job.queue, subject), self._quotas.need(job)
        if need > left:
            return BASE
        self._remaining[job.queue, subject.entity] = left - need
        self.of_jobs[job.id] = subject.priority
        return subject.priority

    def again(self, job: Job) -> int:
        """Class what is left of an array whose subjob has started: the next one takes of the quota what it needs."""
        self.of_jobs.pop(job.id, None)
        return self._consume(job)

    def _left(self, queue: str, subject: Subject) -> int:
        key = (queue, subject.entity)
        left = self._remaining.get(key)
        if left is None:
            left = self._remaining[key] = max(0, subject.quota - self._quotas.used(queue, subject.entity))
        return left

    def _find_subject(self, job: Job) -> Subject | None:
        queue = self._world.queues.get(job.queue)
        if queue is None or not queue.priorities:
            return None
        user: EntityKey = ("u", job.user)
        group: EntityKey = ("g", job.group)
        for entity, key in ((user, user), (group, group), (user, ("u", GENERIC)), (group, ("g", GENERIC))):
            priority = queue.priorities.entries.get(key)
            if priority is not None:
                quota = next((bound.limit for bound in self._quotas.bounds(job) if bound.entity == entity), 0)
                return Subject(entity, priority, quota)
        return None

    def _classes_of_runs(self, ledger: Ledger) -> dict[str, int]:
        """Each run's class: as remembered; where somebody else started it, as it would have been at its start."""
        runs, known = self._world.runs, ledger.classes
        classes = {run_id: known[run_id] for run_id in runs if run_id in known}
        if len(classes) < len(runs):
            held: dict[tuple[str, EntityKey], int] = {}
            for run in sorted(runs.values(), key=lambda run: (run.start_s, run.job.submit_s, run.id)):
                subject = self.subject(run.job)
                if subject is None:
                    classes.setdefault(run.id, BASE)
                    continue
                key = (run.job.queue, subject.entity)
                used = held[key] = held.get(key, 0) + self._quotas.need(run.job)
                classes.setdefault(run.id, subject.priority if used <= subject.quota else BASE)
        return classes
