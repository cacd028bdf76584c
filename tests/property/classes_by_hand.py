"""P2's classes and remainders by plain counting over lists, without the engine's own tables.

Written from docs/policies.md, P2: whose priority a job takes, what is left of the priority quota, who consumes it.
"""

from __future__ import annotations

from collections import Counter

from policy import Job, Queue, Run
from policy.limits import GENERIC, EntityKey
from policy.settings import Settings
from tests.property.strategies import Parts

BASE = -1


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


def classes_of_runs(parts: Parts, known: dict[str, int], settings: Settings) -> dict[str, int]:
    """Each run's class: the one it is known to have started in; else as if the runs had started one after another."""
    queues = {queue.name: queue for queue in parts.queues}
    held: Counter[tuple[str, EntityKey]] = Counter()
    found = {}
    for run in sorted(parts.runs, key=lambda run: (run.start_s, run.job.submit_s, run.id)):
        subject = subject_of(queues[run.job.queue], run.job)
        own = BASE
        if subject is not None:
            entity, priority, quota = subject
            held[run.job.queue, entity] += run.job.request.amount(settings.quota.counted)
            own = priority if held[run.job.queue, entity] <= quota else BASE
        found[run.id] = known.get(run.id, own)
    return found


def classes_of_jobs(parts: Parts, settings: Settings) -> dict[str, int]:
    """Each waiting job's class, consumed in queue order; an array stands for its next subjob."""
    queues = {queue.name: queue for queue in parts.queues}
    left: dict[tuple[str, EntityKey], int] = {}
    found = {}
    for job in sorted(parts.jobs, key=lambda job: (-job.priority, job.submit_s, job.sequence, job.id)):
        found[job.id] = BASE
        subject = subject_of(queues[job.queue], job)
        if subject is None or job.blocked or (job.not_before_s or 0) > parts.time_s:
            continue
        entity, priority, quota = subject
        key = (job.queue, entity)
        need = job.request.amount(settings.quota.counted)
        if key not in left:
            left[key] = max(0, quota - used_by(parts.runs, job.queue, entity, settings.quota.counted))
        if need <= left[key]:
            left[key] -= need
            found[job.id] = priority
    return found


def used_by(runs: tuple[Run, ...], queue: str, entity: EntityKey, counted: str) -> int:
    """What the runs of a user or a group hold in a queue."""
    kind, name = entity
    jobs = [run.job for run in runs if run.job.queue == queue]
    owned = [job for job in jobs if name == (job.user if kind == "u" else job.group)]
    return sum(job.request.amount(counted) for job in owned)
