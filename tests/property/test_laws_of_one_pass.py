"""What must hold of every single pass (docs/policies.md, "What must always hold")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Ledger, Plan, Settings, decide
from policy.model.limit_attributes import EntityKey
from policy.plan.plan_types import Waits
from tests.property.oracles import plan_invariants
from tests.property.strategies.change_strategies import shuffles
from tests.property.strategies.cluster_strategies import (
    Parts,
    clusters,
    with_run_limits,
)
from tests.property.strategies.request_shape_strategies import mixed_clusters
from tests.property.strategies.situation_strategies import (
    Situation,
    after_preemption,
    by_quota,
    contended,
    later,
    plan_of,
    situations,
)


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
