"""By hand: which waiting jobs may not be preempted once they run, and which of these would exceed a quota
(docs/policies.md, P1, 17)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policy import Job, Ledger, Plan, Settings
from policy.model.limit_attributes import Limits
from policy.model.priority_class import BASE
from tests.property.oracles import plan_invariants
from tests.property.strategies.cluster_strategies import Parts


def may_not_be_preempted(job: Job, preemptions: Mapping[str, int], settings: Settings) -> bool:
    """Not rerunnable, or preempted as often as is allowed; of an array the next subjob counts."""
    next_id = job.subjob_id(job.subjobs[0]) if job.subjobs else job.id
    return not job.rerunable or preemptions.get(next_id, 0) >= settings.quota.cap


def would_exceed(
    parts: Parts, job: Job, there: Iterable[plan_invariants.Resident], settings: Settings, *, most: bool
) -> bool:
    """Whether the job would exceed a quota beside those. Of one that may get vnodes to itself only its place tells what
    it keeps: ``most`` takes it to keep all there are, else no more than it asks for."""
    held = list(there)
    for scope, resource, limits in _tables(parts, job, settings):
        need = plan_invariants.asked(job, resource)
        if most and _may_be_alone(parts, job):
            need = max(need, sum(vnode.available.get(resource, 0) for vnode in parts.vnodes))
        for entity, limit in limits.bounds(job.user, job.group, job.project):
            used = sum(
                plan_invariants.kept(parts, other, resource)
                for other in held
                if scope in ("", other.job.queue)
                and any(each == entity for each, _ in limits.bounds(other.job.user, other.job.group, other.job.project))
            )
            if need and used + need > limit:
                return True
    return False


def _tables(parts: Parts, job: Job, settings: Settings) -> list[tuple[str, str, Limits]]:
    queue = next(queue for queue in parts.queues if queue.name == job.queue)
    tables = [(queue.name, resource, limits) for resource, limits in queue.quotas_by_resource().items()]
    tables += [("", resource, limits) for resource, limits in parts.server.quotas.items()]
    counted = settings.quota.counted
    return [table for table in tables if not counted or table[1] in counted]


def _may_be_alone(parts: Parts, job: Job) -> bool:
    return job.request.exclusive or any(vnode.sharing not in ("", "default_shared") for vnode in parts.vnodes)


def check_reasons(parts: Parts, ledger: Ledger, plan: Plan, settings: Settings) -> int:
    """What waits since it may not be preempted is really such a job, of the base class, and would exceed a quota
    beside all that run or will run by this pass; gives how many there are."""
    there = [*plan_invariants.residents(parts, plan), *plan_invariants.beneficiaries(parts, plan)]
    found = 0
    for job, reason in plan.reasons().values():
        if reason.code == "unpreemptible":
            found += 1
            assert settings.quota.confine_unpreemptible
            assert may_not_be_preempted(job, ledger.preemptions, settings), (job.id, reason)
            assert (plan.classes or {}).get(job.id, BASE) == BASE, (job.id, reason)
            assert would_exceed(parts, job, there, settings, most=True), (job.id, reason)
    return found


def check_starts(parts: Parts, ledger: Ledger, plan: Plan, settings: Settings) -> int:
    """No such job starts over quota, counted beside those that stay and those that start before it; gives how many of
    them start."""
    gone = {preempt.id for preempt in plan.preempts}
    there = [plan_invariants.of_run(run) for run in parts.runs if run.id not in gone]
    found = 0
    for start in plan.starts:
        job = start.job if start.subjob is None else start.job._replace(subjobs=(start.subjob,))
        base = plan.ledger.classes.get(start.id, BASE) == BASE
        if base and may_not_be_preempted(job, ledger.preemptions, settings):
            found += 1
            assert not would_exceed(parts, job, there, settings, most=False), (start.id, job.user)
        there.append(plan_invariants.Resident(start.id, start.job, start.allocation))
    return found
