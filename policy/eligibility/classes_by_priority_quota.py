"""P2: the class of each job, by its user's priority and what is left of the priority quota (docs/policies.md, P2).

Waiting jobs are classed in queue order in each pass: a job that the rest of the quota covers takes the priority, any
other the base class, all jobs of an express queue its class, and each keeps its class once it starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policy.eligibility.soft_quotas import QuotaEntry, Quotas
from policy.model.jobs_runs_vnodes_queues import Job, Run
from policy.model.ledger_between_passes import CLASS, Ledger
from policy.model.limit_attributes import GENERIC, EntityKey
from policy.model.priority_class import BASE, EXPRESS, HIGHEST_PRIORITY
from policy.reasons.reason_names import Numbers
from policy.state.cluster_index import ClusterIndex, Entry


class Subject(NamedTuple):
    """Whose priority a job takes (the user, or the group where only it has an entry), and the quota entries of that
    entity."""

    entity: EntityKey
    priority: int
    quotas: tuple[QuotaEntry, ...]


class QuotaLeft(NamedTuple):
    """What is left of a priority quota: the resource, the amount left, the limit, and the queue where it is set (""
    for the server). ``need`` is what the job needs of it, where the request alone does not show that."""

    resource: str
    amount: int
    limit: int
    scope: str
    need: Numbers = ()


class Classes:
    """The classes of one pass: of runs, frozen at their start, and of waiting jobs, decided by :meth:`order`.

    With ``compare_queues`` the priorities of all queues are on one scale. The class of an express queue is above those
    of all queues.
    """

    def __init__(
        self, cluster: ClusterIndex, ledger: Ledger, quotas: Quotas, now_s: float, compare_queues: bool = False
    ) -> None:
        self.compare_queues = compare_queues
        self._cluster = cluster
        self._now_s = now_s
        self._quotas = quotas
        self._express = {queue.name: EXPRESS + queue.priority for queue in cluster.queues.values() if queue.is_express}
        self._subjects: dict[tuple[str, str, str], Subject | None] = {}
        self._remaining: dict[QuotaEntry, int] = {}
        self.of_jobs: dict[str, int] = {}
        self.of_runs: dict[str, int] = self._classes_of_runs(ledger)
        # What of_victim needs of each run; it stays as long as the class that the run started in.
        self._protections: dict[str, tuple[int, int, tuple[QuotaEntry, ...]]] = {}
        self._beneficiaries = frozenset(ledger.earmarks)
        self._line: Sequence[Entry] = ()
        for job_id, earmark in ledger.earmarks.items():
            job = cluster.jobs.get(job_id)
            if job is not None:
                # Other jobs of its owner may have started since. The class by which it preempted stays.
                self._consume(job, is_granted=earmark.rule == CLASS)

    def of(self, job: Job) -> int:
        """The class of a waiting job."""
        return self.of_jobs.get(job.id, BASE)

    def of_run(self, run: Run) -> int:
        """The class that a run started in."""
        return self.of_runs.get(run.id, BASE)

    def of_victim(self, run: Run) -> int:
        """The class that protects a run from preemption: the one it started in or, if higher, the one it would get now
        if it were requeued. Otherwise a victim would preempt again for what was just taken from it."""
        protection = self._protections.get(run.id)
        if protection is None:
            protection = self._protections[run.id] = self._protection(run)
        frozen, requeued, quotas = protection
        for scope, resource, entity, limit in quotas:
            if self._quotas.used(scope, entity, resource) > limit:
                return frozen
        return requeued

    def _protection(self, run: Run) -> tuple[int, int, tuple[QuotaEntry, ...]]:
        """The class that the run started in; the higher one that protects it as long as none of the quota entries is
        over its limit, with these entries."""
        frozen = self.of_runs.get(run.id, BASE)
        express = self._express.get(run.job.queue)
        if express is not None:
            return frozen, max(frozen, express), ()
        subject = self.subject(run.job)
        if subject is None or subject.priority <= frozen or not subject.quotas:
            return frozen, frozen, ()
        needs = self._quotas.needs(run.job, run.allocation)
        return frozen, subject.priority, tuple([entry for entry in subject.quotas if entry.resource in needs])

    def comparable(self, queue: str, other: str) -> bool:
        """Whether the classes of two queues compare."""
        return self.compare_queues or queue == other or queue in self._express or other in self._express

    def of_queue(self, queue: str) -> int | None:
        """The class that all jobs of the queue have because it is an express queue; None if it is none."""
        return self._express.get(queue)

    def start(self, job: Job, run_id: str) -> None:
        """The job starts: freeze its class."""
        self.of_runs[run_id] = self.of(job)
        self._protections.pop(run_id, None)

    def take_back(self, run_id: str) -> None:
        """Undo :meth:`start`."""
        self.of_runs.pop(run_id, None)
        self._protections.pop(run_id, None)

    def subject(self, job: Job) -> Subject | None:
        """Whose priority the job takes; None where no entry counts it.

        The user's own entry comes first, then the group's own, then the generic one of users, then that of groups.
        Where no quota counts that user or group, the priority quota is 0.
        """
        key = (job.queue, job.user, job.group)
        if key not in self._subjects:
            self._subjects[key] = self._find_subject(job)
        return self._subjects[key]

    def remaining(self, job: Job) -> QuotaLeft:
        """What is left of the priority quota of the job's subject: of the first resource that the job needs more of
        than is left, else of the first that it needs some of."""
        subject, needs = self.subject(job), self._quotas.needs(job)
        entries = () if subject is None else [entry for entry in subject.quotas if entry.resource in needs]
        if not entries:
            return QuotaLeft("ncpus", 0, 0, job.queue)
        entry = next((each for each in entries if needs[each.resource] > self._left(each)), entries[0])
        need = needs[entry.resource]
        kept: Numbers = (("need", need),) if need != job.request.amount(entry.resource) else ()
        return QuotaLeft(entry.resource, self._left(entry), entry.limit, entry.scope, kept)

    def lifted_by(self, job: Job) -> tuple[int, int] | None:
        """The limit that would take the job out of the base class even after all jobs before it, and what runs hold of
        that quota entry. None unless the job is short of exactly one entry."""
        subject, needs = self.subject(job), self._quotas.needs(job)
        short: list[tuple[int, int]] = []
        for entry in () if subject is None else subject.quotas:
            if entry.resource in needs:
                held = self._quotas.used(entry.scope, entry.entity, entry.resource)
                wanted = held + self._asked_before(job, entry) + needs[entry.resource]
                if wanted > entry.limit:
                    short.append((wanted, held))
        return short[0] if len(short) == 1 else None

    def _asked_before(self, job: Job, quota: QuotaEntry) -> int:
        """What the beneficiaries, and the jobs before this one in queue order, need of a quota entry."""
        jobs = self._cluster.jobs
        kept = [jobs[job_id] for job_id in self._beneficiaries if job_id in jobs]
        asked = sum(self._asked_of(other, quota) for other in kept)
        for entry in self._line:
            other = entry[5]
            if other.id == job.id:
                break
            if other.id not in self._beneficiaries and not self._is_held_back(other):
                asked += self._asked_of(other, quota)
        return asked

    def _asked_of(self, job: Job, quota: QuotaEntry) -> int:
        """What a job needs of a quota entry; 0 where its class does not depend on that entry."""
        subject = self.subject(job)
        if subject is None or quota not in subject.quotas:
            return 0
        return self._quotas.needs(job).get(quota.resource, 0)

    def _is_held_back(self, job: Job) -> bool:
        """Whether the job could not start whatever is free, and so takes nothing of a priority quota."""
        return bool(job.blocked) or (job.not_before_s is not None and job.not_before_s > self._now_s)

    def order(self, entries: Sequence[Entry]) -> list[Entry]:
        """Class each waiting job in queue order. Returns them by class, highest first, each class in queue order.

        A job behind a gate takes nothing of the quota: it could not start.
        """
        self._line = entries
        by_class: dict[int, list[Entry]] = {}
        of_job, base, express = self.of_jobs, by_class.setdefault(BASE, []), self._express
        # Most jobs belong to users without cores left: one look-up classes those.
        spent: set[tuple[str, str, str]] = set()
        for entry in entries:
            job = entry[5]
            key = (job.queue, job.user, job.group)
            if key in spent:
                base.append(entry)
                continue
            if job.queue in express:
                self._consume(job)
                by_class.setdefault(express[job.queue], []).append(entry)
                continue
            subject = self.subject(job)
            if subject is None or self._has_no_cores_left(subject):
                spent.add(key)
            taken = of_job.get(job.id)
            if taken is None:
                taken = BASE if self._is_held_back(job) else self._consume(job)
            if taken == BASE:
                base.append(entry)
            else:
                by_class.setdefault(taken, []).append(entry)
        return [entry for key in sorted(by_class, reverse=True) for entry in by_class[key]]

    def _consume(self, job: Job, *, is_granted: bool = False) -> int:
        """Class one job and take its need off what is left. An array is classed for its next subjob. With
        ``is_granted`` the job has its priority even if less is left."""
        express = self._express.get(job.queue)
        if express is not None:
            self.of_jobs[job.id] = express
            return express
        subject = self.subject(job)
        if subject is None:
            return BASE
        needs = self._quotas.needs(job)
        taken = [(entry, needs[entry.resource]) for entry in subject.quotas if entry.resource in needs]
        is_short = not is_granted and any(need > self._left(entry) for entry, need in taken)
        if is_short or not subject.quotas:
            return BASE
        for entry, need in taken:
            self._remaining[entry] = max(0, self._left(entry) - need)
        self.of_jobs[job.id] = subject.priority
        return subject.priority

    def again(self, job: Job) -> int:
        """Class the rest of an array after one of its subjobs has started, by what the next subjob needs."""
        self.forget(job)
        return self._consume(job)

    def forget(self, job: Job) -> None:
        """Let the rest of an array be classed in its turn: the class that it has was that of a beneficiary."""
        self.of_jobs.pop(job.id, None)

    def _has_no_cores_left(self, subject: Subject) -> bool:
        """Whether every job of the subject is in the base class."""
        return not subject.quotas or any(
            entry.resource == "ncpus" and self._left(entry) <= 0 for entry in subject.quotas
        )

    def _left(self, entry: QuotaEntry) -> int:
        left = self._remaining.get(entry)
        if left is None:
            used = self._quotas.used(entry.scope, entry.entity, entry.resource)
            left = self._remaining[entry] = max(0, entry.limit - used)
        return left

    def _find_subject(self, job: Job) -> Subject | None:
        queue = self._cluster.queues.get(job.queue)
        if queue is None or not queue.priorities:
            return None
        user: EntityKey = ("u", job.user)
        group: EntityKey = ("g", job.group)
        for entity, key in ((user, user), (group, group), (user, ("u", GENERIC)), (group, ("g", GENERIC))):
            priority = queue.priorities.entries.get(key)
            if priority is not None:
                return Subject(entity, min(priority, HIGHEST_PRIORITY), self._quotas.entries_of(job, entity))
        return None

    def _classes_of_runs(self, ledger: Ledger) -> dict[str, int]:
        """Each run's class: the one in the ledger; for a run that pbsteer did not start, the one it would have had at
        its start (docs/policies.md, P2, 7)."""
        runs, known = self._cluster.runs, ledger.classes
        classes = {run_id: known[run_id] for run_id in runs if run_id in known}
        if len(classes) < len(runs):
            held: dict[QuotaEntry, int] = {}
            for run in sorted(runs.values(), key=lambda run: (run.start_s, run.job.submit_s, run.id)):
                subject = self.subject(run.job)
                if subject is None or run.job.queue in self._express:
                    classes.setdefault(run.id, self._express.get(run.job.queue, BASE))
                    continue
                needs = self._quotas.needs(run.job, run.allocation)
                for entry in subject.quotas:
                    held[entry] = held.get(entry, 0) + needs.get(entry.resource, 0)
                covered = bool(subject.quotas) and all(
                    held[entry] <= entry.limit for entry in subject.quotas if entry.resource in needs
                )
                classes.setdefault(run.id, subject.priority if covered else BASE)
        return classes
