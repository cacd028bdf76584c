"""What must hold of cuts for a promise and of rescues in a single pass (docs/policies.md, P3), by plain counting."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Changes, Job, Ledger, Plan, Preempt, Run, Settings, decide
from policy.model.ledger_between_passes import Backfilled
from tests.property.oracles import plan_invariants
from tests.property.strategies.backfilled_strategies import backfilling_clusters, waiting_clusters
from tests.property.strategies.cluster_strategies import NOW_S, Parts, clusters, contended_clusters, crowded_clusters
from tests.property.strategies.ledger_between_passes_strategies import due_ledgers, histories, ledgers
from tests.property.strategies.settings_strategies import all_settings, cutting_settings
from tests.property.strategies.situation_strategies import Situation, plan_of


def due(*, plain: bool | None = None, alone: bool = False) -> st.SearchStrategy[Situation]:
    """The promised time of a head has come, or nearly; alone: P3 without the rescue and without the rules A and B."""
    ranked = contended_clusters(ranked=True, plain=plain)
    simple = st.one_of(clusters(plain=True), crowded_clusters(), crowded_clusters())
    parts = simple if plain else st.one_of(clusters(), simple, ranked)
    settings = cutting_settings(rescue=False) if alone else st.one_of(cutting_settings(), all_settings())
    return st.tuples(parts, settings).flatmap(
        lambda pair: st.tuples(st.just(pair[0]), due_ledgers(pair[0]), st.just(pair[1]))
    )


def rescuing(*, plain: bool = False) -> st.SearchStrategy[Situation]:
    """Short jobs that may be rescued; with or without a promise to another job."""
    simple = st.one_of(waiting_clusters(), clusters(plain=True), crowded_clusters(), waiting_clusters())
    parts = simple if plain else st.one_of(waiting_clusters(), clusters(), simple, contended_clusters())
    pairs = st.tuples(parts, cutting_settings(rescue=True))
    return pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), ledgers(pair[0]), st.just(pair[1])))


def letting_in() -> st.SearchStrategy[Situation]:
    """Small jobs that fit the window of a head by their shrunk estimates alone; the past of some users is known."""
    pairs = st.tuples(backfilling_clusters(), histories(), cutting_settings(rescue=False))
    return pairs.map(lambda drawn: (drawn[0], Ledger(history=drawn[1]), drawn[2]))


def cuts(plan: Plan, code: str = "cut-for-promise") -> list[Preempt]:
    """The cuts by one rule that this plan asks for first."""
    return [preempt for preempt in plan.preempts if preempt.reason.code == code and not preempt.again]


# Cuts for a promise


@given(due())
def test_only_backfilled_runs_that_may_be_cut_are_cut_for_a_promise(situation: Situation) -> None:
    ledger = situation[1]
    for preempt in cuts(plan_of(situation)):
        assert ledger.backfilled.get(preempt.id, Backfilled(0)).cuttable
        assert preempt.run.job.rerunable
        assert not preempt.run.exiting


@given(due())
def test_no_run_is_cut_for_a_promise_before_its_time(situation: Situation) -> None:
    """Nor for any job but the one that is promised it, in this pass or before."""
    parts, ledger, settings = situation
    plan = plan_of(situation)
    for preempt in cuts(plan):
        promised_s = plan.ledger.promises[preempt.beneficiary]
        assert promised_s == ledger.promises.get(preempt.beneficiary, promised_s)
        assert promised_s - settings.checkpoint.grace_s <= parts.time_s


@given(due())
def test_without_shrunk_estimates_no_run_is_cut(situation: Situation) -> None:
    plan = plan_of(situation)
    if situation[2].backfill.kind != "checkpoint":
        assert cuts(plan) == []
    if not situation[2].rescue.enabled:
        assert cuts(plan, "cut-for-rescue") == []


@given(due(alone=True))
def test_who_is_cut_for_makes_full_use_of_it(situation: Situation) -> None:
    """The head fits where its victims were, and no victim could have been kept."""
    parts, _, _ = situation
    plan = plan_of(situation)
    assert plan_invariants.oversubscribed(parts.vnodes, plan_invariants.residents_after(parts, plan)) == []
    waiting = {job.id: job for job in parts.jobs}
    queues = {queue.name: queue for queue in parts.queues}
    for job_id, hold in plan.ledger.earmarks.items():
        assert (
            plan_invariants.misplaced(parts.vnodes, queues[waiting[job_id].queue], waiting[job_id], hold.allocation)
            == []
        )
    for preempt in cuts(plan):
        job = waiting[preempt.beneficiary]
        if plan_invariants.simple(job.request):
            assert not plan_invariants.fits_without(parts, plan, job, preempt.id), (preempt.id, job.id)


@given(due(plain=True, alone=True))
def test_the_run_on_most_nodes_is_cut_first(situation: Situation) -> None:
    """Then the one with most cores, then the earlier submitted: no victim could have been kept by taking one that comes
    before it instead (on cores counted alone)."""
    parts, ledger, settings = situation
    plan = plan_of(situation)
    taken = {preempt.id: preempt.run for preempt in cuts(plan)}
    if len(plan.ledger.earmarks) != 1 or not taken:
        return
    head = next(job for job in parts.jobs if job.id in plan.ledger.earmarks)
    gone = plan_invariants.ended_by_promise(parts, plan)
    parts = replace(parts, runs=tuple(run for run in parts.runs if run.id not in gone))
    idle = _idle(parts, [start.job for start in plan.starts if not start.backfilled])
    freed = sum(run.job.cores for run in taken.values())
    at_s = plan.ledger.promises[head.id]
    others = [run for run in parts.runs if run.id not in taken and _cuttable(run, ledger, settings, at_s)]
    for run in taken.values():
        assert idle + freed - run.job.cores < head.cores
        for other in others:
            if _order(other) < _order(run):
                assert idle + freed - run.job.cores + other.job.cores < head.cores, (run.id, other.id)


@given(due(plain=True, alone=True))
def test_a_head_whose_time_has_come_gets_its_cores_where_cutting_can_give_them(situation: Situation) -> None:
    """Exactly then, on cores counted alone; exempt times and caps protect no run now, while a run that does not save is
    not cut once it would have too much to repeat."""
    parts, ledger, settings = situation
    promised = [job for job in parts.jobs if job.id in ledger.promises]
    if not promised or settings.backfill.kind != "checkpoint":
        return
    (head,) = promised
    promised_s = ledger.promises[head.id]
    if promised_s - settings.checkpoint.grace_s > parts.time_s:
        return
    plan = plan_of(situation)
    assert (head.id in {start.id for start in plan.starts}) == (_idle(parts, []) >= head.cores)
    stay = [run for run in parts.runs if run.end_s > promised_s]
    idle_then = _idle(replace(parts, runs=tuple(stay)), [])
    enough = (
        idle_then + sum(run.job.cores for run in stay if _cuttable(run, ledger, settings, promised_s)) >= head.cores
    )
    assert (head.id in plan.ledger.earmarks) == (idle_then < head.cores and enough)


def _cuttable(run: Run, ledger: Ledger, settings: Settings, at_s: float) -> bool:
    """Whether the run may be cut for a head that is promised that time; one that does not save only while it has little
    to repeat then, or has now, if a pass comes later for it than the interval and the grace."""
    saves = settings.checkpoint.saves if run.job.saves is None else run.job.saves
    in_time_s = NOW_S - settings.schedule.interval_s - settings.checkpoint.grace_s
    repeats_s = max(at_s, in_time_s) - run.start_s
    may_go = saves or repeats_s <= settings.checkpoint.repeat_at_most_s
    if run.job.saved_s > 0 and run.job.left_s <= settings.backfill.shrink_threshold_s:
        may_go = may_go and run.start_s + run.job.left_s <= NOW_S
    return may_go and ledger.backfilled.get(run.id, Backfilled(0)).cuttable and run.job.rerunable and not run.exiting


def _order(run: Run) -> tuple[object, ...]:
    return (-len(set(run.allocation.vnodes)), -run.job.cores, run.job.submit_s, run.job.sequence, run.id)


def _idle(parts: Parts, started: list[Job]) -> int:
    held = sum(run.job.cores for run in parts.runs) + sum(job.cores for job in started)
    return sum(vnode.available["ncpus"] for vnode in parts.vnodes) - held


@given(st.one_of(due(alone=True), letting_in()))
def test_only_who_can_be_cut_is_let_in_on_that_condition(situation: Situation) -> None:
    """Above the threshold by what is left of it, unless that counts on saved work; rerunnable, below the cap, and
    saving or cheap to repeat. Any other job is let in by its whole estimate."""
    parts, ledger, settings = situation
    plan = plan_of(situation)
    latest_s = max((estimate.at_s for estimate in plan.estimates), default=parts.time_s)
    for start in plan.starts:
        noted = plan.ledger.backfilled.get(start.id)
        assert (noted is not None) == start.backfilled
        if noted is not None and noted.cuttable:
            job = start.job
            assert job.left_s > settings.backfill.shrink_threshold_s or job.saved_s > 0
            assert job.rerunable
            assert ledger.preemptions.get(start.id, 0) < settings.quota.cap
            saves = settings.checkpoint.saves if job.saves is None else job.saves
            assert saves or latest_s - parts.time_s <= settings.checkpoint.repeat_at_most_s
            assert latest_s - parts.time_s >= settings.quota.exempt_s
        elif noted is not None:
            assert noted.end_s == parts.time_s + start.job.longest_s


@given(letting_in())
def test_shrunk_estimates_are_p_times_what_is_left_or_what_the_past_predicts(situation: Situation) -> None:
    parts, ledger, settings = situation
    plan = plan_of(situation)
    for start in plan.starts:
        noted = plan.ledger.backfilled.get(start.id)
        if noted is None or not noted.cuttable:
            continue
        job, factor = start.job, settings.backfill.shrink_factor
        past = ledger.history.get(job.user)
        expected_s = job.left_s * (1 if factor is None else factor)
        if past is not None and len(past.last) == 2 and settings.backfill.predictor == "last-two":
            expected_s = min(job.left_s, max(1, sum(past.last) / 2 - job.saved_s))
        elif past is not None and len(past.last) == 2 and settings.backfill.predictor == "ratio" and past.estimate_s:
            expected_s = min(job.left_s, max(1, job.left_s * past.run_s / past.estimate_s))
        if job.left_s <= settings.backfill.shrink_threshold_s:
            expected_s = job.left_s
        assert abs(noted.end_s - parts.time_s - expected_s) < 1e-6 or noted.end_s == parts.time_s + expected_s


# Rescue


@given(rescuing())
def test_at_most_one_run_is_cut_for_rescue_in_a_pass(situation: Situation) -> None:
    assert len(cuts(plan_of(situation), "cut-for-rescue")) <= 1


@given(rescuing())
def test_a_rescue_keeps_to_all_its_numbers(situation: Situation) -> None:
    parts, ledger, settings = situation
    plan = plan_of(situation)
    rescue = settings.rescue
    waiting = {job.id: job for job in parts.jobs}
    for preempt in cuts(plan, "cut-for-rescue"):
        run, job = preempt.run, waiting[preempt.beneficiary]
        short_s = _short_s(job, ledger, settings)
        assert short_s <= rescue.short_s
        assert parts.time_s - job.submit_s >= max(rescue.wait_least_s, rescue.wait_factor * short_s)
        assert run.end_s - parts.time_s > rescue.left_least_s
        assert parts.time_s - run.start_s >= rescue.exempt_s
        assert ledger.preemptions.get(run.id, 0) < min(rescue.max_cuts, settings.quota.cap)
        assert run.job.rerunable
        assert not run.exiting
        assert settings.checkpoint.saves if run.job.saves is None else run.job.saves


def _short_s(job: Job, ledger: Ledger, settings: Settings) -> float:
    """The shrunk or predicted estimate of a waiting job; up to the threshold the estimate itself."""
    backfill, past = settings.backfill, ledger.history.get(job.user)
    if job.left_s <= backfill.shrink_threshold_s:
        return job.left_s
    if backfill.predictor != "none" and past is not None and len(past.last) == 2:
        if backfill.predictor == "last-two":
            return min(job.left_s, max(1.0, sum(past.last) / 2 - job.saved_s))
        if past.estimate_s:
            return min(job.left_s, max(1.0, job.left_s * past.run_s / past.estimate_s))
    return job.left_s if backfill.shrink_factor is None else job.left_s * backfill.shrink_factor


@given(rescuing())
def test_who_is_rescued_is_held_its_cores_and_counts_as_backfilled(situation: Situation) -> None:
    """Its cores are there once the victim is gone; when it starts, in the next pass, its run is noted as backfilled."""
    parts, _, settings = situation
    plan = plan_of(situation)
    assert plan_invariants.oversubscribed(parts.vnodes, plan_invariants.residents_after(parts, plan)) == []
    rescued = [job for job, hold in plan.ledger.earmarks.items() if hold.rule == "rescue"]
    gone = [preempt.id for preempt in plan.preempts]
    then = decide(plan.started.apply(Changes(parts.time_s, gone=gone)), plan.ledger, settings)
    assert set(rescued) <= {start.job.id for start in then.starts}
    assert {start.job.id for start in then.starts if start.id in then.ledger.backfilled} >= set(rescued)


@given(rescuing(plain=True))
def test_the_rescued_victim_has_the_fewest_cores_that_suffice(situation: Situation) -> None:
    """Where no job has a reservation, on cores counted alone."""
    parts, ledger, settings = situation
    plan = plan_of(situation)
    for preempt in cuts(plan, "cut-for-rescue"):
        if plan.estimates or ledger.promises:
            return
        job = next(job for job in parts.jobs if job.id == preempt.beneficiary)
        idle = _idle(parts, [start.job for start in plan.starts])
        rescue = settings.rescue
        for run in parts.runs:
            saves = settings.checkpoint.saves if run.job.saves is None else run.job.saves
            may = (
                saves
                and run.job.rerunable
                and run.end_s - NOW_S > rescue.left_least_s
                and NOW_S - run.start_s >= rescue.exempt_s
                and ledger.preemptions.get(run.id, 0) < min(rescue.max_cuts, settings.quota.cap)
            )
            if may and idle + run.job.cores >= job.cores:
                assert preempt.run.job.cores <= run.job.cores, (preempt.id, run.id)


@given(rescuing())
def test_no_more_short_jobs_share_the_hole_than_fit(situation: Situation) -> None:
    """Each job that cores are held for in this way waits for one and the same victim."""
    plan = plan_of(situation)
    victims = {hold.victims for hold in plan.ledger.earmarks.values() if hold.rule == "rescue"}
    assert victims <= {(preempt.id,) for preempt in cuts(plan, "cut-for-rescue")}


def test_the_drawn_situations_are_worth_it() -> None:
    """Among those drawn are cuts by both rules, also several for one head, or these laws prove nothing."""
    seen: Counter[str] = Counter()

    def look(situation: Situation) -> None:
        plan = plan_of(situation)
        count = len(cuts(plan))
        seen.update({"cut": count > 0, "several": count > 1, "rescued": bool(cuts(plan, "cut-for-rescue"))})

    for strategy in (due(plain=True, alone=True), due(alone=True), rescuing(), rescuing(plain=True)):
        settings_of_law(max_examples=100)(given(strategy)(look))()
    assert min(seen["cut"], seen["several"], seen["rescued"]) >= 5, seen
