"""What must hold of every single pass (docs/policies.md, "What must always hold")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Changes, Ledger, Plan, Settings, decide
from policy.model.limit_attributes import EntityKey
from policy.plan.plan_types import Waits
from policy.settings.site_settings import BackfillSettings, QuotaSettings
from tests.property.oracles import plan_invariants
from tests.property.strategies.change_strategies import shuffles
from tests.property.strategies.cluster_strategies import (
    Parts,
    clusters,
    contended_clusters,
    crowded_clusters,
    in_site_order,
    parts_of,
    with_run_limits,
)
from tests.property.strategies.ledger_between_passes_strategies import due_ledgers, ledgers
from tests.property.strategies.request_shape_strategies import mixed_clusters
from tests.property.strategies.settings_strategies import (
    all_settings,
    by_class_settings,
    by_quota_settings,
    cutting_settings,
    eager_settings,
)

Situation = tuple[Parts, Ledger, Settings]


def situations() -> st.SearchStrategy[Situation]:
    """A cluster of any kind, what earlier passes left, and settings."""
    parts = st.one_of(clusters(), contended_clusters(), clusters(plain=True), contended_clusters(ranked=True))
    parts = st.one_of(parts, parts.flatmap(in_site_order))
    drawn = st.tuples(parts, st.one_of(all_settings(), eager_settings(), cutting_settings()))
    any_kind = drawn.flatmap(
        lambda pair: st.tuples(st.just(pair[0]), st.one_of(ledgers(pair[0]), due_ledgers(pair[0])), st.just(pair[1]))
    )
    return st.one_of(any_kind, any_kind.flatmap(later))


def later(situation: Situation) -> st.SearchStrategy[Situation]:
    """The next pass after a plan, while its victims still hold their vnodes, or some have let go."""
    parts, _, settings = situation
    plan = plan_of(situation)
    victims = [preempt.run for preempt in plan.preempts if preempt.run.subjob is None]
    gone = st.lists(st.sampled_from(victims), unique=True) if victims else st.just([])
    after = st.tuples(gone, st.sampled_from((0, 1, 30)))
    return after.map(
        lambda drawn: (
            parts_of(
                plan.started.apply(
                    Changes(parts.time_s + drawn[1], [run.job for run in drawn[0]], gone=[run.id for run in drawn[0]])
                )
            ),
            plan.ledger,
            settings,
        )
    )


def contended() -> st.SearchStrategy[Situation]:
    """The same where preemption by the rules A and B is likely, and nothing is held for any job yet."""
    parts = st.one_of(contended_clusters(), contended_clusters(ranked=True), crowded_clusters())
    parts = st.one_of(parts, parts.flatmap(in_site_order))
    pairs = st.tuples(parts, st.one_of(eager_settings(), by_class_settings()))
    return pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), ledgers(pair[0]), st.just(pair[1])))


def after_preemption() -> st.SearchStrategy[Situation]:
    """The next pass after a plan that is likely to preempt: some beneficiaries start, before all other jobs."""
    return contended().flatmap(later)


def by_quota() -> st.SearchStrategy[Situation]:
    """The same under rule A alone."""
    pairs = st.tuples(contended_clusters(), by_quota_settings())
    return pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), ledgers(pair[0]), st.just(pair[1])))


def plan_of(situation: Situation) -> Plan:
    parts, ledger, settings = situation
    return decide(parts.snapshot(), ledger, settings)


@given(mixed_clusters())
def test_a_job_has_no_place_where_its_reason_says_so(parts: Parts) -> None:
    """In whatever order its select names its chunks: each piece is tried on each host."""
    plan = decide(parts.snapshot(), Ledger(), Settings())
    waiting = {job.id: job for job in parts.jobs}
    for job_id, (_, reason) in plan.reasons().items():
        job = waiting[job_id]
        if not plan_invariants.simple(job.request):
            continue
        if reason.code in ("never-fits", "never-arranged", "held-elsewhere"):
            assert not plan_invariants.fits(parts, job, []), (job_id, reason)
        elif reason.code in ("fragmented", "reserved"):
            assert not plan_invariants.fits(parts, job, plan_invariants.residents(parts, plan)), (job_id, reason)
    for start in plan.starts:
        assert plan_invariants.misplaced(parts.vnodes, parts.queues[0], start.job, start.allocation) == []


@given(situations())
def test_no_vnode_is_given_more_than_it_has(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    assert plan_invariants.oversubscribed(parts.vnodes, plan_invariants.residents(parts, plan)) == []


def with_a_bound_server(situation: Situation) -> st.SearchStrategy[Situation]:
    """The situation on a server that has some cores more than its runs hold, for all jobs together."""
    held = sum(run.job.cores for run in situation[0].runs)
    more = st.integers(-2, 8).map(lambda cores: replace(situation[0].server, shared={"ncpus": held + cores}))
    return more.map(lambda server: (replace(situation[0], server=server), *situation[1:]))


@given(situations().flatmap(with_a_bound_server))
def test_no_more_of_the_servers_own_resources_is_given_than_it_has(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    held = sum(run.job.cores for run in parts.runs)
    more = sum(start.job.cores for start in plan.starts)
    assert not more or held + more <= parts.server.shared["ncpus"]


@given(contended().flatmap(with_a_bound_server))
def test_a_beneficiary_will_find_what_it_needs_of_the_server(situation: Situation) -> None:
    """Also while its victims hold theirs: a job that would have to wait for these as well preempts none."""
    parts, plan = situation[0], plan_of(situation)
    if plan.preempts:
        there = [*plan_invariants.residents(parts, plan), *plan_invariants.beneficiaries(parts, plan)]
        assert sum(resident.job.cores for resident in there) <= parts.server.shared["ncpus"]


@given(contended())
def test_what_is_held_for_beneficiaries_is_there_once_the_victims_are_gone(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    assert plan_invariants.oversubscribed(parts.vnodes, plan_invariants.residents_after(parts, plan)) == []


def limited(situation: Situation) -> st.SearchStrategy[Situation]:
    """The situation on vnodes that limit how many jobs run on them."""
    return with_run_limits(situation[0]).map(lambda parts: (parts, *situation[1:]))


def limited_and_idle() -> st.SearchStrategy[Situation]:
    """Vnodes that limit how many jobs run on them, and on which almost nothing runs, so that many jobs start."""
    parts = clusters(plain=True).map(lambda drawn: replace(drawn, runs=drawn.runs[:1]))
    return parts.flatmap(with_run_limits).map(lambda drawn: (drawn, Ledger(), Settings()))


@given(st.one_of(limited_and_idle(), limited_and_idle(), situations().flatmap(limited)))
def test_no_vnode_runs_more_jobs_than_it_may(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    before = plan_invariants.over_run_limits(parts.vnodes, map(plan_invariants.of_run, parts.runs))
    after = plan_invariants.over_run_limits(parts.vnodes, plan_invariants.residents(parts, plan))
    assert not after - before


@given(st.one_of(contended(), contended().flatmap(later)).flatmap(limited))
def test_a_beneficiary_will_find_its_vnodes_below_their_run_limits(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    before = plan_invariants.over_run_limits(parts.vnodes, map(plan_invariants.of_run, parts.runs))
    after = plan_invariants.over_run_limits(parts.vnodes, plan_invariants.residents_after(parts, plan))
    assert not after - before


@given(situations())
def test_who_asks_for_vnodes_alone_has_them_alone(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    nothing = Plan(0, (), (), (), Waits({}), Ledger(), plan.started)
    before = {*plan_invariants.wrongly_shared(parts.vnodes, plan_invariants.residents(parts, nothing))}
    assert {*plan_invariants.wrongly_shared(parts.vnodes, plan_invariants.residents(parts, plan))} <= before


@given(contended())
def test_a_beneficiary_that_asks_for_vnodes_alone_will_have_them_alone(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    nothing = Plan(0, (), (), (), Waits({}), Ledger(), plan.started)
    before = {*plan_invariants.wrongly_shared(parts.vnodes, plan_invariants.residents(parts, nothing))}
    assert {*plan_invariants.wrongly_shared(parts.vnodes, plan_invariants.residents_after(parts, plan))} <= before


@given(situations())
def test_a_start_is_what_the_job_asked_for_on_vnodes_open_to_it(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    queues = {queue.name: queue for queue in parts.queues}
    for start in plan.starts:
        assert plan_invariants.misplaced(parts.vnodes, queues[start.job.queue], start.job, start.allocation) == []


@given(st.one_of(situations(), after_preemption()))
@settings_of_law(max_examples=100)
def test_every_waiting_job_has_exactly_one_outcome(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    reasons = Counter(job.id for wait in plan.waits for job in wait.jobs)
    began = Counter(start.id for start in plan.starts)
    assert set(began.values()) <= {1}
    for job in parts.jobs:
        if job.subjobs is None:
            assert reasons[job.id] + began[job.id] == 1, job.id
        else:
            own = sum(1 for index in job.subjobs if began[job.subjob_id(index)])
            assert reasons[job.id] == (0 if own == len(job.subjobs) else 1), job.id


@given(situations())
def test_nothing_but_waiting_jobs_starts_and_nothing_but_runs_is_preempted(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    waiting = {job.id for job in parts.jobs} | {job.subjob_id(n) for job in parts.jobs for n in job.subjobs or ()}
    assert {start.id for start in plan.starts} <= waiting
    assert {preempt.id for preempt in plan.preempts} <= {run.id for run in parts.runs}
    assert len({preempt.id for preempt in plan.preempts}) == len(plan.preempts)


@given(situations())
def test_every_reason_has_a_sentence(situation: Situation) -> None:
    plan = plan_of(situation)
    for job, reason in plan.reasons().values():
        for told in (reason, *reason.tried):
            assert told.sentence(job, plan.time_s)
    for preempt in plan.preempts:
        assert preempt.reason.sentence(preempt.run.job, plan.time_s)


@given(situations(), shuffles())
def test_the_order_of_the_input_does_not_matter(situation: Situation, shuffle: Callable[[Parts], Parts]) -> None:
    parts, ledger, settings = situation
    assert plan_invariants.told(plan_of((shuffle(parts), ledger, settings))) == plan_invariants.told(plan_of(situation))


@given(situations())
def test_deciding_changes_nothing(situation: Situation) -> None:
    parts, ledger, settings = situation
    snapshot = parts.snapshot()
    idle = snapshot.idle_cores()
    before = plan_invariants.ledger_told(ledger)
    first = plan_invariants.told(decide(snapshot, ledger, settings))
    assert snapshot == parts.snapshot()
    assert snapshot.idle_cores() == idle
    assert plan_invariants.ledger_told(ledger) == before
    assert plan_invariants.told(decide(snapshot, ledger, settings)) == first


@given(situations())
def test_the_ledger_of_a_plan_survives_being_written_down(situation: Situation) -> None:
    ledger = plan_of(situation).ledger
    assert plan_invariants.ledger_told(Ledger.from_data(ledger.to_data())) == plan_invariants.ledger_told(ledger)


@given(situations())
def test_the_plan_shows_the_cluster_after_its_starts(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    began = {start.id for start in plan.starts}
    assert set(plan.started.runs) == {run.id for run in parts.runs} | began
    assert plan.started.use("workq") == _use_after(parts, plan)


def _use_after(parts: Parts, plan: Plan) -> dict[EntityKey, int]:
    used: Counter[EntityKey] = Counter()
    for resident in plan_invariants.residents(parts, plan):
        plan_invariants.add_use(used, parts, resident, "workq", "ncpus", 1)
        used["o", "PBS_ALL"] += plan_invariants.kept(parts, resident, "ncpus") if resident.job.queue == "workq" else 0
    return {entity: amount for entity, amount in used.items() if amount}


# Rule A


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


@given(contended())
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


@given(contended(), st.integers(0, 100), st.integers(0, 3))
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


@pytest.mark.parametrize(
    ("strategy", "often_preempts"),
    [(situations(), False), (contended(), True), (by_quota(), True)],
    ids=["any", "contended", "by_quota"],
)
def test_the_drawn_situations_are_worth_it(strategy: st.SearchStrategy[Situation], often_preempts: bool) -> None:
    """Among those drawn are starts and reservations, and where users contend preemptions, or no law proves anything."""
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=100)
    @given(strategy)
    def look(situation: Situation) -> None:
        plan = plan_of(situation)
        seen.update({"starts": bool(plan.starts), "preempts": bool(plan.preempts), "reserved": bool(plan.estimates)})

    look()
    expected = ["starts", "reserved", *(["preempts"] if often_preempts else [])]
    assert min(seen[what] for what in expected) >= 5, seen
