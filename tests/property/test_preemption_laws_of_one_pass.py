"""What must hold of every preemption of a single pass (docs/policies.md, "What must always hold")."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Changes, Ledger, Settings, decide
from policy.settings.site_settings import BackfillSettings, QuotaSettings
from tests.property.oracles import plan_invariants
from tests.property.strategies.situation_strategies import Situation, by_quota, contended, crowded, plan_of


@given(by_quota())
def test_nobody_falls_below_quota_by_preemption(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    for queue in parts.queues:
        before = plan_invariants.use(parts, queue.name, "ncpus")
        after = Counter(before)
        for preempt in plan.preempts:
            plan_invariants.add_use(after, parts, plan_invariants.of_run(preempt.run), queue.name, "ncpus", -1)
        for start in plan.starts:
            plan_invariants.add_use(after, parts, start, queue.name, "ncpus", 1)
        for job in (preempt.run.job for preempt in plan.preempts if preempt.run.job.queue == queue.name):
            for entity, limit in queue.quotas.bounds(job.user, job.group, job.project):
                if entity[0] == "u" or before[entity] >= limit:
                    assert after[entity] >= limit, (entity, limit, before[entity])


@given(by_quota())
def test_victims_are_runs_of_other_users_who_are_over_quota(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    waiting = {job.id: job for job in parts.jobs}
    queues = {queue.name: queue for queue in parts.queues}
    for preempt in plan.preempts:
        victim = preempt.run.job
        used = plan_invariants.use(parts, victim.queue, "ncpus")
        for start in plan.starts:
            plan_invariants.add_use(used, parts, start, victim.queue, "ncpus", 1)
        bounds = queues[victim.queue].quotas.bounds(victim.user, victim.group, victim.project)
        assert victim.user != waiting[preempt.beneficiary].user
        assert any(used[entity] > limit for entity, limit in bounds)


@given(by_quota())
def test_beneficiaries_stay_within_quota(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    waiting = {job.id: job for job in parts.jobs}
    for queue in parts.queues:
        used = plan_invariants.use(parts, queue.name, "ncpus")
        for preempt in plan.preempts:
            plan_invariants.add_use(used, parts, plan_invariants.of_run(preempt.run), queue.name, "ncpus", -1)
        for job_id, hold in plan.ledger.earmarks.items():
            plan_invariants.add_use(
                used, parts, plan_invariants.Resident(job_id, waiting[job_id], hold.allocation), queue.name, "ncpus", 1
            )
        for job in (waiting[job_id] for job_id in plan.ledger.earmarks if waiting[job_id].queue == queue.name):
            for entity, limit in queue.quotas.bounds(job.user, job.group, job.project):
                assert used[entity] <= limit


@given(contended())
def test_no_run_is_preempted_without_a_beneficiary_that_then_fits(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    queues = {queue.name: queue for queue in parts.queues}
    waiting = {job.id: job for job in parts.jobs}
    assert {preempt.beneficiary for preempt in plan.preempts} <= set(plan.ledger.earmarks)
    taken = {preempt.id for preempt in plan.preempts}
    for job_id, hold in plan.ledger.earmarks.items():
        job = waiting[job_id]
        assert plan_invariants.misplaced(parts.vnodes, queues[job.queue], job, hold.allocation) == []
        own = {preempt.id for preempt in plan.preempts if preempt.beneficiary == job_id}
        # Beyond its own, a beneficiary may wait for victims of others, of which it takes what they leave over.
        assert own <= set(hold.victims) <= taken


@given(contended())
def test_no_victim_is_taken_that_is_not_needed(situation: Situation) -> None:
    """Each beneficiary is judged by itself: what victims chosen after its own leave over comes too late for it."""
    parts, plan = situation[0], plan_of(situation)
    waiting = {job.id: job for job in parts.jobs}
    for preempt in plan.preempts:
        job = waiting[preempt.beneficiary]
        if plan_invariants.simple(job.request) and not plan.estimates and len(plan.ledger.earmarks) == 1:
            assert not plan_invariants.fits_without(parts, plan, job, preempt.id), (preempt.id, job.id)


@settings_of_law(max_examples=100)
@given(st.one_of(crowded(), crowded(), crowded(), contended()))
def test_no_victim_is_taken_that_the_head_did_not_need_gone(situation: Situation) -> None:
    """With all victims but one gone the job cannot run beside the head: tried by deciding just that."""
    parts, _, chosen = situation
    plan = plan_of(situation)
    if len(plan.ledger.earmarks) != 1 or not plan.estimates or any(start.backfilled for start in plan.starts):
        return
    ((job_id, hold),) = plan.ledger.earmarks.items()
    heads = {estimate.id for estimate in plan.estimates}
    left_alone = replace(chosen, quota=QuotaSettings(preempt=False), backfill=BackfillSettings())
    only_these = [job.id for job in plan.started.jobs.values() if job.id not in heads | {job_id}]
    for victim in hold.victims:
        gone = [other for other in hold.victims if other != victim]
        without = plan.started.apply(Changes(parts.time_s, gone=[*only_these, *gone]))
        then = decide(without, Ledger(dict(plan.ledger.promises)), left_alone)
        assert job_id not in {start.job.id for start in then.starts}, (victim, job_id)


@given(contended(), st.sampled_from((0, 0, 40, 100)), st.sampled_from((3, 2, 1, 0)))
def test_exempt_capped_and_not_rerunable_runs_are_left_alone(situation: Situation, exempt_s: int, cap: int) -> None:
    parts, ledger, settings = situation
    data = settings.to_data()
    data.setdefault("quota", {}).update(exempt_s=exempt_s, max_preemptions=cap)
    plan = decide(parts.snapshot(), ledger, Settings.from_data(data, "test"))
    for preempt in plan.preempts:
        run = preempt.run
        assert run.job.rerunable
        assert not run.exiting
        if preempt.reason.code == "cut-for-promise":
            continue
        assert run.start_s + exempt_s <= parts.time_s
        assert ledger.preemptions.get(run.id, 0) < cap


@given(contended(), st.booleans())
def test_runs_of_unmanaged_queues_are_left_alone(situation: Situation, express: bool) -> None:
    parts, ledger, settings = situation
    other = "express" if express else "workq"
    queues = tuple(replace(queue, managed=queue.managed and queue.name != other) for queue in parts.queues)
    plan = decide(replace(parts, queues=queues).snapshot(), ledger, settings)
    assert all(preempt.run.job.queue != other for preempt in plan.preempts)
    assert all(start.job.queue != other for start in plan.starts)
