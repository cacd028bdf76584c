"""P2's classes and remainders by plain counting over lists, without the engine's own tables.

Written from docs/policies.md, P2: whose priority a job takes, what is left of the priority quota, who consumes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from policy import Job, Queue, Run
from policy.eligibility.order_as_pbs_scheduler_would import queue_line
from policy.eligibility.soft_quotas import Quotas
from policy.model.limit_attributes import GENERIC, EntityKey
from tests.property.oracles import plan_invariants
from tests.property.strategies.cluster_strategies import Parts

BASE = -1
EXPRESS = 10**12


def class_of_express(queue: Queue) -> int | None:
    """The class of all jobs of an express queue; None for another queue."""
    order = queue.order
    if order is None or order.express_from is None or queue.priority < order.express_from:
        return None
    return EXPRESS + queue.priority


def subject_of(queue: Queue, job: Job) -> tuple[EntityKey, int, int] | None:
    """Whose priority the job takes, the priority, and the priority quota: the user's own entry, the group's own, then
    the generic ones."""
    user, group = ("u", job.user), ("g", job.group)
    for entity, keys in ((user, (user,)), (group, (group,)), (user, (("u", GENERIC),)), (group, (("g", GENERIC),))):
        for key in keys:
            if key in queue.priorities.entries:
                quotas = queue.quotas.entries
                quota = quotas.get(entity, quotas.get((entity[0], GENERIC), 0))
                return entity, queue.priorities.entries[key], quota
    return None


def classes_of_runs(parts: Parts, known: dict[str, int]) -> dict[str, int]:
    """Each run's class: the one it is known to have started in; else as if the runs had started one after another."""
    queues = {queue.name: queue for queue in parts.queues}
    held: Counter[tuple[str, EntityKey]] = Counter()
    found = {}
    for run in sorted(parts.runs, key=lambda run: (run.start_s, run.job.submit_s, run.id)):
        subject = subject_of(queues[run.job.queue], run.job)
        own = BASE
        if subject is not None:
            entity, priority, quota = subject
            held[run.job.queue, entity] += plan_invariants.kept(parts, plan_invariants.of_run(run), "ncpus")
            own = priority if held[run.job.queue, entity] <= quota else BASE
        express = class_of_express(queues[run.job.queue])
        found[run.id] = known.get(run.id, own if express is None else express)
    return found


def class_of_victim(parts: Parts, of_runs: dict[str, int], run: Run, gone: Collection[str]) -> int:
    """The class that protects a run once those are gone: the one it started in, or the one it would get if it were
    requeued, where that is higher."""
    queue = next(queue for queue in parts.queues if queue.name == run.job.queue)
    subject, express = subject_of(queue, run.job), class_of_express(queue)
    if express is not None:
        return max(of_runs[run.id], express)
    if subject is None:
        return of_runs[run.id]
    entity, priority, quota = subject
    there = tuple(each for each in parts.runs if each.id not in gone or each.id == run.id)
    used = used_by(replace(parts, runs=there), run.job.queue, entity)
    return max(of_runs[run.id], priority) if used <= quota else of_runs[run.id]


def classes_of_jobs(parts: Parts) -> dict[str, int]:
    """Each waiting job's class, consumed in queue order; an array stands for its next subjob."""
    queues = {queue.name: queue for queue in parts.queues}
    left: dict[tuple[str, EntityKey], int] = {}
    found = {}
    for job in in_order(parts):
        found[job.id] = BASE
        subject, express = subject_of(queues[job.queue], job), class_of_express(queues[job.queue])
        if express is not None:
            found[job.id] = express
            continue
        if subject is None or job.blocked or (job.not_before_s or 0) > parts.time_s:
            continue
        entity, priority, quota = subject
        key = (job.queue, entity)
        need = _need(parts, job)
        if key not in left:
            left[key] = max(0, quota - used_by(parts, job.queue, entity))
        if need <= left[key]:
            left[key] -= need
            found[job.id] = priority
    return found


def in_order(parts: Parts) -> list[Job]:
    """The waiting jobs in queue order: each behind its owner's jobs of a higher own priority, and no earlier than its
    age has it. Where a scheduler's order is followed, that of the engine, which has tests of its own."""
    if any(queue.order is not None for queue in parts.queues):
        return [entry[5] for entry in queue_line(parts.snapshot().cluster(), parts.time_s).entries]
    queues = {queue.name: queue for queue in parts.queues}

    def level(job: Job) -> tuple[int, int]:
        return (-queues[job.queue].priority, -job.priority)

    def age(job: Job) -> tuple[float, int, str]:
        return (job.submit_s, job.sequence, job.id)

    def place(job: Job) -> tuple[object, ...]:
        before = [
            age(other)
            for other in parts.jobs
            if (other.user, other.queue, level(other)) == (job.user, job.queue, level(job))
            and other.own_priority > job.own_priority
            and not (other.blocked or (other.not_before_s or 0) > parts.time_s)
        ]
        turn = max([age(job), *before])
        return (level(job), turn, turn != age(job), -job.own_priority, age(job))

    return sorted(parts.jobs, key=place)


def used_by(parts: Parts, queue: str, entity: EntityKey) -> int:
    """What the runs of a user or a group keep in a queue."""
    return plan_invariants.use(parts, queue, "ncpus")[entity]


def _need(parts: Parts, job: Job) -> int:
    """What a waiting job would keep; of one that would have vnodes to itself only the engine's placing tells."""
    if job.request.exclusive or any(vnode.sharing != "default_shared" for vnode in parts.vnodes):
        return Quotas(parts.snapshot().cluster()).needs(job).get("ncpus", 0)
    return plan_invariants.asked(job, "ncpus")
