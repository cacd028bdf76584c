"""What must hold of a cluster that lives on: promises, holds, progress, and the snapshot carried from pass to pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import assume, given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Changes, Job, Ledger, Plan, Preempt, Settings, Snapshot, decide
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.ledger_between_passes import PROMISE
from policy.settings.site_settings import BackfillSettings, PrioritySettings, QuotaSettings
from tests.property.oracles import plan_invariants, unpreemptible_by_hand
from tests.property.oracles.cluster_over_many_passes import History, live, saves
from tests.property.strategies.change_strategies import arrivals
from tests.property.strategies.cluster_strategies import (
    Parts,
    clusters,
    contended_clusters,
    crowded_clusters,
    in_site_order,
    parts_of,
)
from tests.property.strategies.settings_strategies import (
    all_settings,
    by_class_settings,
    by_quota_settings,
    cutting_settings,
    eager_settings,
    lively,
    nobody_makes_room,
)

Lively = tuple[Parts, tuple[Job, ...], Settings]

LEFT_FOR_EVER = frozenset(
    {
        "blocked", "never-fits", "never-arranged", "held-elsewhere", "queue-stopped", "queue-unknown", "hard-limit",
        "server-resource",
    }
)  # fmt: skip
"""Reasons that only a change from outside can end."""


def lives_of(parts: st.SearchStrategy[Parts], *settings: st.SearchStrategy[Settings]) -> st.SearchStrategy[Lively]:
    """Clusters, jobs to come, and settings."""
    pairs = st.tuples(parts, lively(st.one_of(*settings)))
    return pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), arrivals(pair[0]), st.just(pair[1])))


def lives() -> st.SearchStrategy[Lively]:
    """A cluster of any kind under any settings."""
    parts = st.one_of(clusters(), contended_clusters(), contended_clusters(ranked=True), clusters(plain=True))
    parts = st.one_of(parts, parts.flatmap(in_site_order))
    return lives_of(parts, all_settings(), cutting_settings())


def contended_lives() -> st.SearchStrategy[Lively]:
    """The same where preemption by the rules A and B is likely."""
    parts = st.one_of(contended_clusters(), contended_clusters(ranked=True), crowded_clusters())
    parts = st.one_of(parts, parts, parts.flatmap(in_site_order))
    return lives_of(parts, eager_settings(), by_class_settings(), by_quota_settings(), all_settings())


def cutting_lives(*, rescue: bool | None = None) -> st.SearchStrategy[Lively]:
    """The same where P3 cuts, and perhaps rescues, and no other job preempts."""
    return lives_of(st.one_of(clusters(plain=True), clusters(), crowded_clusters()), cutting_settings(rescue=rescue))


def as_estimated(job: Job) -> float:
    """Jobs end when their estimates say; those without one after a while."""
    return 130 if job.estimate_s == UNLIMITED_S else job.estimate_s


def earlier(job: Job) -> float:
    """Jobs end before their estimates say."""
    return as_estimated(job) // (1 + job.sequence % 3)


@given(st.one_of(lives(), cutting_lives()))
def test_every_job_runs_its_full_time_once(lively: Lively) -> None:
    """With what saving cost it, and again what it could not save."""
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    for run in parts.runs:
        assert run.id in history.ended or run.id in history.waiting
    for job in (*parts.jobs, *coming):
        ids = [job.id] if job.subjobs is None else [job.subjob_id(index) for index in job.subjobs]
        for run_id in ids:
            if run_id in history.ended:
                segments = history.segments[run_id]
                assert len(segments) - 1 == sum(victim == run_id for victim, _, _ in history.preempted)
                own_s = max(0.0, earlier(job) - job.saved_s)
                ran_s = [end_s - start_s for start_s, end_s in segments]
                assert history.charges_s.get(run_id, 0) == 0 or saves(job, settings)
                assert (sum(ran_s) if saves(job, settings) else ran_s[-1]) == own_s + history.charges_s.get(run_id, 0)
    _nobody_forgotten(history, settings)


@given(st.one_of(contended_lives(), cutting_lives()))
def test_it_comes_to_rest_however_much_is_preempted(lively: Lively) -> None:
    parts, coming, settings = lively
    _nobody_forgotten(live(parts, settings, as_estimated, coming=coming), settings)


@given(st.one_of(contended_lives(), cutting_lives()), st.sampled_from((1, 20, 300)))
def test_it_comes_to_rest_where_victims_take_their_time(lively: Lively, letting_go_s: float) -> None:
    parts, coming, settings = lively
    _nobody_forgotten(live(parts, settings, as_estimated, coming=coming, letting_go_s=letting_go_s), settings)


def _nobody_forgotten(history: History, settings: Settings) -> None:
    """What still waits at the end has a reason that only a change from outside can end. What may not be preempted is
    left for ever only where it exceeds a quota by itself: nothing runs any more."""
    snapshot, ledger, plan = history.passes[-1]
    for job_id in history.waiting:
        reason = plan.reason_of(job_id)
        assert reason is not None
        assert reason.code in LEFT_FOR_EVER | {"unpreemptible"}, (job_id, reason)
    if unpreemptible_by_hand.check_reasons(parts_of(snapshot), ledger, plan, settings):
        assert not plan.started.runs


@given(lives(), st.sampled_from((0, 20)))
def test_no_vnode_is_ever_given_more_than_it_has(lively: Lively, letting_go_s: float) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, _ledger: Ledger, plan: Plan) -> None:
        now = parts_of(snapshot)
        assert plan_invariants.oversubscribed(now.vnodes, plan_invariants.residents(now, plan)) == []

    live(parts, settings, earlier, coming=coming, letting_go_s=letting_go_s, watch=watch)


@given(lives(), st.sampled_from((0, 20)))
def test_a_snapshot_carried_on_decides_as_one_built_anew(lively: Lively, letting_go_s: float) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, ledger: Ledger, plan: Plan) -> None:
        anew = parts_of(snapshot).snapshot()
        assert plan_invariants.told(decide(anew, ledger, settings)) == plan_invariants.told(plan)

    live(parts, settings, earlier, coming=coming, letting_go_s=letting_go_s, watch=watch)


@given(lives())
def test_old_snapshots_stay_what_they_were(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    for snapshot, ledger, plan in history.passes[:: max(1, len(history.passes) // 5)]:
        assert plan_invariants.told(decide(snapshot, ledger, settings)) == plan_invariants.told(plan)


@given(clusters(plain=True), st.sampled_from(("none", "easy")), st.sampled_from(("first-come", "shortest-first")))
def test_a_promise_is_kept_without_preemption(parts: Parts, kind: str, order: str) -> None:
    settings = Settings(
        BackfillSettings(kind=kind, order=order), QuotaSettings(preempt=False), PrioritySettings(preempt=False)
    )
    assert live(parts, settings, as_estimated).late == {}


@given(lives(), st.sampled_from(("none", "easy")))
def test_a_promise_is_kept_whatever_the_jobs_ask_for(lively: Lively, kind: str) -> None:
    parts, coming, settings = lively
    settings = nobody_makes_room(settings, kind)
    assert live(parts, settings, as_estimated, coming=coming).late == {}


@given(cutting_lives(rescue=False), st.sampled_from((as_estimated, earlier)))
def test_a_promise_is_kept_by_cutting(lively: Lively, run_s: Callable[[Job], float]) -> None:
    parts, coming, settings = lively
    assert live(parts, settings, run_s, coming=coming).late == {}


@given(cutting_lives(rescue=True), st.sampled_from((as_estimated, earlier)))
def test_a_promise_is_kept_while_short_jobs_are_rescued(lively: Lively, run_s: Callable[[Job], float]) -> None:
    parts, coming, settings = lively
    assert live(parts, settings, run_s, coming=coming).late == {}


@given(cutting_lives(rescue=False), st.sampled_from((5, 20)))
def test_a_head_is_late_by_no_more_than_the_grace_or_what_its_victims_take(lively: Lively, letting_go_s: float) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, as_estimated, coming=coming, letting_go_s=letting_go_s)
    most_s = max(letting_go_s, settings.checkpoint.grace_s)
    assert all(start_s - promised_s <= most_s for promised_s, start_s in history.late.values()), history.late


@given(contended_lives())
def test_a_promise_is_kept_while_others_preempt(lively: Lively) -> None:
    parts, coming, settings = lively
    assert live(parts, settings, as_estimated, coming=coming).late == {}


@given(contended_lives())
def test_a_promise_is_kept_where_jobs_end_early(lively: Lively) -> None:
    parts, coming, settings = lively
    assert live(parts, settings, earlier, coming=coming).late == {}


@given(st.one_of(contended_lives(), cutting_lives()))
def test_a_promise_never_moves_later_but_for_a_better_claim(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    for _, before, plan in history.passes:
        began = {start.job.id for start in plan.starts} | {moved.id for moved in plan.moved}
        for job_id, at_s in before.promises.items():
            if job_id not in began:
                assert plan.ledger.promises.get(job_id, at_s) <= at_s


@given(st.one_of(contended_lives(), cutting_lives()), st.sampled_from((0, 20)))
def test_victims_stay_off_the_cores_they_freed_until_the_beneficiary_runs(lively: Lively, letting_go_s: float) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, _ledger: Ledger, plan: Plan) -> None:
        now = parts_of(snapshot)
        if not [preempt for preempt in plan.preempts if preempt.again]:
            assert plan_invariants.oversubscribed(now.vnodes, plan_invariants.residents_after(now, plan)) == []

    live(parts, settings, as_estimated, coming=coming, letting_go_s=letting_go_s, watch=watch)


@given(st.one_of(contended_lives(), cutting_lives()))
def test_a_beneficiary_starts_as_soon_as_its_victims_end(lively: Lively) -> None:
    """One that P3 cuts for may also need cores of runs that end by its promised time: it has until then."""
    parts, coming, settings = lively
    history = live(parts, settings, as_estimated, coming=coming)
    assert {beneficiary for _, beneficiary, _ in history.preempted} <= {
        start.job.id for _, _, plan in history.passes for start in plan.starts
    }
    for (_, _, plan), (_, _, then) in zip(history.passes, history.passes[1:]):
        kept = {job_id for job_id, at_s in then.ledger.promises.items() if at_s >= then.time_s}
        waits_for_others = {job for job, earmark in plan.ledger.earmarks.items() if earmark.rule == PROMISE} & kept
        assert set(plan.ledger.earmarks) - waits_for_others <= {start.job.id for start in then.starts}


@given(st.one_of(contended_lives(), cutting_lives()))
def test_no_run_is_preempted_more_often_than_the_cap(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, as_estimated, coming=coming)
    counts = Counter(victim for victim, _, _ in history.preempted)
    assert all(count <= settings.quota.cap for count in counts.values())


@given(st.one_of(contended_lives(), cutting_lives()))
def test_what_may_not_be_preempted_starts_only_within_quota(lively: Lively) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, ledger: Ledger, plan: Plan) -> None:
        now = parts_of(snapshot)
        unpreemptible_by_hand.check_reasons(now, ledger, plan, settings)
        if may_preempt(parts, settings):
            unpreemptible_by_hand.check_starts(now, ledger, plan, settings)

    live(parts, settings, as_estimated, coming=coming, watch=watch)


def may_preempt(parts: Parts, settings: Settings) -> bool:
    """Whether the rules A and B are of any use there."""
    by_quota = settings.quota.preempt and any(queue.quotas_by_resource() for queue in parts.queues)
    return by_quota or (settings.priority.preempt and any(queue.priorities for queue in parts.queues))


@given(contended_lives())
def test_a_run_below_its_exempt_time_is_left_alone_by_quotas_and_classes(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, as_estimated, coming=coming)
    for snapshot, _, plan in history.passes:
        for preempt in plan.preempts:
            if preempt.reason.code in ("preempted-quota", "preempted-class"):
                assert snapshot.time_s - snapshot.runs[preempt.id].start_s >= settings.quota.exempt_s


@given(cutting_lives())
def test_a_job_at_or_below_the_threshold_is_never_cut_for_a_promise(lively: Lively) -> None:
    """Nor one that did not start by backfilling: told by what each run was when it started."""
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    started: dict[str, tuple[float, bool]] = {}
    for _, _, plan in history.passes:
        for preempt in plan.preempts:
            if preempt.reason.code == "cut-for-promise":
                left_s, backfilled = started[preempt.id]
                assert left_s > settings.backfill.shrink_threshold_s
                assert backfilled
        rescued = {preempt.beneficiary for _, _, p in history.passes for preempt in p.preempts if _is_rescue(preempt)}
        for start in plan.starts:
            started[start.id] = (start.job.left_s, start.backfilled or start.job.id in rescued)


def _is_rescue(preempt: Preempt) -> bool:
    return preempt.reason.code == "cut-for-rescue"


@given(st.one_of(lives(), contended_lives(), cutting_lives()), st.floats(0.01, 0.99))
def test_nothing_changes_before_the_time_that_a_pass_names(lively: Lively, part: float) -> None:
    """Time alone brings no start and no preemption before ``next_s``, as long as no run outlives what was expected of
    it."""
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    for _, before, plan in history.passes[:: max(1, len(history.passes) // 8)]:
        if _is_to_be_repeated(plan, before):
            continue
        last_s = plan.time_s + 300 if plan.next_s is None else plan.next_s
        ends_s = [run.end_s for run in plan.started.runs.values()]
        ends_s += [run.end_s for run in plan.ledger.backfilled.values() if run.cuttable]
        last_s = min([last_s, *(end_s for end_s in ends_s if end_s > plan.time_s)])
        between_s = plan.time_s + (last_s - plan.time_s) * part
        again = decide(plan.started, plan.ledger, settings)
        later = decide(plan.started.apply(Changes(between_s)), plan.ledger, settings)
        if not again.starts:
            assert (later.starts, later.preempts) == ((), ()), (plan.time_s, between_s, plan.next_s)


@given(st.one_of(lives(), contended_lives(), cutting_lives()))
def test_a_pass_that_is_not_to_be_repeated_leaves_nothing_to_do(lively: Lively) -> None:
    """No run is preempted if it is decided again; nor does any job start where none did, while after starts a place
    may be found that was not seen before: which place is tried first depends on what is free."""
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    for _, before, plan in history.passes[:: max(1, len(history.passes) // 8)]:
        if not _is_to_be_repeated(plan, before):
            again = decide(plan.started, plan.ledger, settings)
            assert again.preempts == (), plan.time_s
            assert plan.starts or again.starts == (), plan.time_s


def _is_to_be_repeated(plan: Plan, before: Ledger) -> bool:
    """Whether the pass itself lets the next one do more: it asks for that, or a run ends; a run
    started by a promise or on kept cores, or a subjob, which is no victim in that same pass, but may be in the
    next; or by a start other jobs come into a class."""
    kept = {*before.promises, *before.earmarks}
    spared = any(start.subjob is not None or start.job.id in kept for start in plan.starts)
    classed_anew = bool(plan.starts) and plan.classes is not None
    return plan.again or bool(plan.preempts) or spared or classed_anew


def test_the_drawn_lives_are_worth_it() -> None:
    """Among those drawn there are promises and preemptions by each rule, or these laws prove nothing."""
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=400)
    @given(st.one_of(contended_lives(), cutting_lives(rescue=True)))
    def look(lively: Lively) -> None:
        parts, coming, settings = lively
        assume(coming)
        history = live(parts, settings, as_estimated, coming=coming)
        codes = {preempt.reason.code for _, _, plan in history.passes for preempt in plan.preempts}
        promised = any(plan.estimates for _, _, plan in history.passes)
        every = ("preempted-quota", "preempted-class", "cut-for-promise", "cut-for-rescue")
        seen.update({"promised": promised, **{code: code in codes for code in every}})

    look()
    assert min(seen.values()) >= 5, seen
