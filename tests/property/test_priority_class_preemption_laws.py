"""What must hold of classes and of rule B (docs/policies.md, P2), against classes counted by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Job, Ledger, Plan, Queue, Run, Settings
from policy.model.ledger_between_passes import PROMISE
from policy.model.limit_attributes import Limits
from policy.order.site_order_settings import SiteOrder
from tests.property.oracles import plan_invariants
from tests.property.oracles.priority_classes_by_hand import (
    BASE,
    class_of_express,
    class_of_victim,
    classes_of_jobs,
    classes_of_runs,
    in_order,
)
from tests.property.strategies.cluster_strategies import (
    NOW_S,
    Parts,
    clusters,
    contended_clusters,
    crowded_clusters,
    in_site_order,
)
from tests.property.strategies.ledger_between_passes_strategies import ledgers
from tests.property.strategies.settings_strategies import all_settings, by_class_settings, eager_settings
from tests.property.strategies.situation_strategies import Situation, plan_of

EXAMPLES = 100
"""So many are drawn of each law: tests/property/test_law_mutations.py shows that they are enough."""


def ranked() -> st.SearchStrategy[Situation]:
    """Users with priorities, any rules."""
    parts = st.one_of(contended_clusters(ranked=True), clusters(), crowded_clusters())
    parts = st.one_of(parts, parts.flatmap(in_site_order))
    pairs = st.tuples(parts, st.one_of(by_class_settings(), eager_settings(), all_settings()))
    return pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), ledgers(pair[0]), st.just(pair[1])))


def by_class_only(*, plain: bool | None = None) -> st.SearchStrategy[Situation]:
    """Rule B alone, without promises."""
    parts = st.one_of(contended_clusters(ranked=True, plain=plain), crowded_clusters(), crowded_clusters())
    parts = st.one_of(parts, parts.flatmap(in_site_order))
    pairs = st.tuples(parts, by_class_settings())
    return pairs.flatmap(
        lambda pair: st.tuples(
            st.just(pair[0]), ledgers(pair[0]).map(lambda ledger: ledger._replace(promises={})), st.just(pair[1])
        )
    )


@st.composite
def over_express_queues(draw: st.DrawFn) -> Situation:
    """Runs and waiting jobs of a queue and of two express queues of different priority."""
    parts, settings = draw(crowded_clusters()), draw(st.one_of(by_class_settings(), eager_settings()))
    names = ("workq", "express", "urgent")
    order = SiteOrder(queues=names, express_from=50)
    queues = tuple(
        replace(queue, name=name, priority=priority, order=order)
        for queue in parts.queues
        for name, priority in zip(names, (0, 60, 80))
    )
    of_runs, of_jobs = st.sampled_from(("express", "workq", "urgent")), st.sampled_from(("urgent", "express", "workq"))
    parts = replace(
        parts,
        queues=queues,
        jobs=tuple(job._replace(queue=draw(of_jobs)) for job in parts.jobs),
        runs=tuple(run._replace(job=run.job._replace(queue=draw(of_runs))) for run in parts.runs),
    )
    return parts, Ledger(), settings


def by_hand(situation: Situation) -> tuple[dict[str, int], dict[str, int]]:
    """The classes of the runs and of the waiting jobs."""
    parts, ledger, _ = situation
    return classes_of_runs(parts, dict(ledger.classes)), classes_of_jobs(parts)


def taken_by_class(plan: Plan) -> list[tuple[Run, str]]:
    """The victims of rule B that ran before this pass, and their beneficiaries."""
    return [(p.run, p.beneficiary) for p in plan.preempts if p.reason.code == "preempted-class"]


@settings_of_law(max_examples=EXAMPLES)
@given(ranked())
def test_a_job_starts_in_the_class_that_is_left_for_it(situation: Situation) -> None:
    parts, plan = situation[0], plan_of(situation)
    if not parts.snapshot().cluster().has_classes:
        return
    _, classes = by_hand(situation)
    for start in plan.starts:
        if start.subjob is None:
            assert plan.ledger.classes[start.id] == classes[start.id]


@settings_of_law(max_examples=EXAMPLES)
@given(ranked())
def test_the_class_of_a_run_is_frozen(situation: Situation) -> None:
    parts = situation[0]
    plan = plan_of(situation)
    if parts.snapshot().cluster().has_classes:
        expected, _ = by_hand(situation)
        assert {run.id: plan.ledger.classes[run.id] for run in parts.runs} == expected


@settings_of_law(max_examples=EXAMPLES)
@given(ranked())
def test_rule_b_never_takes_a_run_of_equal_or_higher_class(situation: Situation) -> None:
    plan = plan_of(situation)
    of_runs, of_jobs = by_hand(situation)
    for run, beneficiary in taken_by_class(plan):
        assert of_runs[run.id] < of_jobs[beneficiary]


@given(ranked())
def test_a_job_of_the_base_class_preempts_no_job_by_class(situation: Situation) -> None:
    plan = plan_of(situation)
    _, of_jobs = by_hand(situation)
    assert all(of_jobs[beneficiary] != BASE for _, beneficiary in taken_by_class(plan))


@given(over_express_queues())
def test_a_run_of_an_express_queue_goes_for_no_job_of_a_lower_class(situation: Situation) -> None:
    """Neither for a quota nor for a class, whatever the queues."""
    parts, plan = situation[0], plan_of(situation)
    queues = {queue.name: queue for queue in parts.queues}
    _, of_jobs = by_hand(situation)
    for preempt in plan.preempts:
        express = class_of_express(queues[preempt.run.job.queue])
        if express is not None and preempt.reason.code in ("preempted-class", "preempted-quota"):
            assert of_jobs[preempt.beneficiary] >= express


@given(ranked())
def test_either_rule_is_enough_for_each_victim(situation: Situation) -> None:
    """Each reason names a rule that offers the victim: a lower class, or an entry over quota of another user."""
    parts, _, settings = situation
    plan = plan_of(situation)
    of_runs, of_jobs = by_hand(situation)
    queues = {queue.name: queue for queue in parts.queues}
    waiting = {job.id: job for job in parts.jobs}
    for preempt in plan.preempts:
        victim = preempt.run.job
        if preempt.reason.code == "preempted-class":
            assert settings.priority.preempt
            assert of_runs[preempt.id] < of_jobs[preempt.beneficiary]
        elif preempt.reason.code == "preempted-quota":
            assert settings.quota.preempt
            assert victim.user != waiting[preempt.beneficiary].user
            used = plan_invariants.use(parts, victim.queue, "ncpus")
            for start in plan.starts:
                plan_invariants.add_use(used, parts, start, victim.queue, "ncpus", 1)
            bounds = queues[victim.queue].quotas.bounds(victim.user, victim.group, victim.project)
            assert any(used[entity] > limit for entity, limit in bounds)


@given(ranked(), st.booleans(), st.booleans())
def test_a_rule_that_is_off_takes_no_run(situation: Situation, rule_a: bool, rule_b: bool) -> None:
    parts, ledger, settings = situation
    settings = replace(
        settings,
        quota=replace(settings.quota, preempt=rule_a),
        priority=replace(settings.priority, preempt=rule_b),
    )
    codes = {preempt.reason.code for preempt in plan_of((parts, ledger, settings)).preempts}
    assert rule_a or "preempted-quota" not in codes
    assert rule_b or "preempted-class" not in codes


@given(by_class_only())
def test_priorities_without_quotas_make_nobody_more_than_base(situation: Situation) -> None:
    """The priority quota of an owner without one is nothing."""
    parts, ledger, settings = situation
    queues = tuple(replace(_without_express(queue), quotas=Limits()) for queue in parts.queues)
    plan = plan_of((replace(parts, queues=queues), ledger, settings))
    needing = [start.id for start in plan.starts if start.job.request.cores]
    assert all(plan.ledger.classes[start] == BASE for start in needing)


@settings_of_law(max_examples=EXAMPLES)
@given(by_class_only(plain=True))
def test_lower_classes_go_first_and_among_equals_the_later_submitted(situation: Situation) -> None:
    """No victim could have been kept by taking one that comes before it instead (on cores counted alone)."""
    parts, ledger, settings = situation
    plan = plan_of(situation)
    # A second beneficiary, served by what the victims of the first leave over, needed none of them.
    if plan.estimates or len(plan.ledger.earmarks) != 1 or not taken_by_class(plan):
        return
    of_runs, of_jobs = by_hand(situation)
    queues = {queue.name: queue for queue in parts.queues}
    taken = {run.id: run for run, _ in taken_by_class(plan)}
    (beneficiary,) = plan.ledger.earmarks
    job = next(job for job in parts.jobs if job.id == beneficiary)

    def order(run: Run) -> tuple[object, ...]:
        deferred = settings.priority.deferrable_first and (run.job.deferrable or queues[run.job.queue].deferrable)
        rank = class_of_victim(parts, of_runs, run, ())
        return (rank, not deferred, -run.job.submit_s, -run.job.sequence, run.id)

    others = [
        run
        for run in parts.runs
        if run.id not in taken
        and _may_be_taken(run, ledger, settings)
        and _compare(parts, run, job, settings)
        and class_of_victim(parts, of_runs, run, taken) < of_jobs[beneficiary]
    ]
    idle = _idle(parts, plan)
    freed = sum(run.job.cores for run in taken.values())
    assert idle + freed >= job.cores
    for run in taken.values():
        assert idle + freed - run.job.cores < job.cores
        for other in others:
            if order(other) < order(run):
                assert idle + freed - run.job.cores + other.job.cores < job.cores, (run.id, other.id)


@settings_of_law(max_examples=EXAMPLES)
@given(by_class_only(plain=True))
def test_a_job_that_all_lower_runs_would_make_room_for_does_not_wait(situation: Situation) -> None:
    """The first job in order preempts if the idle cores and all lower ones cover its need (on cores counted alone).

    Lower ones that would no longer be once others of their owner are gone may or may not be among them.
    """
    parts, ledger, settings = situation
    of_runs, of_jobs = by_hand(situation)
    order = sorted(in_order(parts), key=lambda job: -of_jobs[job.id])
    if not order or of_jobs[order[0].id] == BASE:
        return
    first = order[0]
    idle = sum(vnode.available["ncpus"] for vnode in parts.vnodes) - sum(run.job.cores for run in parts.runs)
    allowed = [run for run in parts.runs if _may_be_taken(run, ledger, settings)]
    lower = [run for run in allowed if _compare(parts, run, first, settings)]
    gone = [run.id for run in parts.runs]
    at_once = [r for r in lower if class_of_victim(parts, of_runs, r, ()) < of_jobs[first.id]]
    whatever_goes = [r for r in lower if class_of_victim(parts, of_runs, r, gone) < of_jobs[first.id]]
    plan = plan_of(situation)
    earmark = plan.ledger.earmarks.get(first.id)
    if earmark is not None and earmark.rule == PROMISE:
        return  # Backfilled runs are cut for it (P3), of whatever class.
    gets_cores = earmark is not None or first.id in {start.id for start in plan.starts}
    if gets_cores:
        assert idle + sum(run.job.cores for run in at_once) >= first.cores
    else:
        assert idle + sum(run.job.cores for run in whatever_goes) < first.cores


@settings_of_law(max_examples=EXAMPLES)
@given(by_class_only(plain=True))
def test_who_has_waited_longer_in_the_same_class_keeps_its_cores(situation: Situation) -> None:
    """With one priority for everybody no job within quota is preempted by class."""
    parts, ledger, settings = situation
    queues = tuple(
        replace(_without_express(q), priorities=Limits(dict.fromkeys(q.priorities.entries, 5))) for q in parts.queues
    )
    plan = plan_of((replace(parts, queues=queues), ledger._replace(classes={}), settings))
    of_runs = classes_of_runs(replace(parts, queues=queues), {})
    assert all(of_runs[run.id] == BASE for run, _ in taken_by_class(plan))


def _without_express(queue: Queue) -> Queue:
    """The queue in the same order of its scheduler, but no express queue."""
    return queue if queue.order is None else replace(queue, order=replace(queue.order, express_from=None))


def _compare(parts: Parts, run: Run, job: Job, settings: Settings) -> bool:
    """Whether the classes of the run and of the job do."""
    queues = {queue.name: queue for queue in parts.queues}
    express = any(class_of_express(queues[name]) is not None for name in (run.job.queue, job.queue))
    return settings.priority.compare_queues or run.job.queue == job.queue or express


def _may_be_taken(run: Run, ledger: Ledger, settings: Settings) -> bool:
    return (
        run.job.rerunable
        and not run.exiting
        and ledger.preemptions.get(run.id, 0) < settings.quota.cap
        and run.start_s + settings.quota.exempt_s <= NOW_S
    )


def _idle(parts: Parts, plan: Plan) -> int:
    """Cores that no job holds once all starts are carried out."""
    has = sum(vnode.available["ncpus"] for vnode in parts.vnodes)
    jobs: list[Job] = [*(run.job for run in parts.runs), *(start.job for start in plan.starts)]
    return has - sum(job.cores for job in jobs)


def test_the_drawn_situations_are_worth_it() -> None:
    """Among those drawn are victims of class, also several for one job, or these laws prove nothing."""
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=150)
    @given(st.one_of(by_class_only(plain=True), by_class_only()))
    def look(situation: Situation) -> None:
        taken = taken_by_class(plan_of(situation))
        seen.update({"taken": bool(taken), "several": max(Counter(who for _, who in taken).values(), default=0) > 1})

    look()
    assert min(seen["taken"], seen["several"]) >= 5, seen
