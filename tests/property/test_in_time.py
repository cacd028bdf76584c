"""What must hold of a cluster that lives on: promises, holds, progress, and the snapshot carried from pass to pass."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from policy import Job, Ledger, Plan, Settings, Snapshot, decide
from policy.cluster import UNLIMITED_S
from policy.settings import BackfillSettings, QuotaSettings
from tests.property import audit
from tests.property.strategies import (
    Parts,
    arrivals,
    clusters,
    contended_clusters,
    eager_settings,
    lively_settings,
)
from tests.property.timeline import History, live

Lively = tuple[Parts, tuple[Job, ...], Settings]

LEFT_FOR_EVER = frozenset(
    {"blocked", "never-fits", "never-arranged", "queue-stopped", "queue-unknown", "hard-limit", "server-resource"}
)
"""Reasons that only somebody from outside can end."""


def lives() -> st.SearchStrategy[Lively]:
    """A cluster of any kind, jobs to come, and settings."""
    pairs = st.tuples(st.one_of(clusters(), contended_clusters()), lively_settings())
    return pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), arrivals(pair[0]), st.just(pair[1])))


def contended_lives() -> st.SearchStrategy[Lively]:
    """The same where preemption is likely."""
    pairs = st.tuples(contended_clusters(), st.one_of(eager_settings(), eager_settings(), lively_settings()))
    return pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), arrivals(pair[0]), st.just(pair[1])))


def as_estimated(job: Job) -> float:
    """Jobs end when their estimates say; those without one after a while."""
    return 130 if job.estimate_s == UNLIMITED_S else job.estimate_s


def earlier(job: Job) -> float:
    """Jobs end before their estimates say."""
    return as_estimated(job) // (1 + job.sequence % 3)


@given(lives())
def test_every_job_runs_its_full_time_once(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    for run in parts.runs:
        assert run.id in history.ended
    for job in (*parts.jobs, *coming):
        ids = [job.id] if job.subjobs is None else [job.subjob_id(index) for index in job.subjobs]
        for run_id in ids:
            if run_id in history.ended:
                start_s, end_s = history.segments[run_id][-1]
                assert end_s - start_s == earlier(job)
                before = history.segments[run_id][:-1]
                assert len(before) == sum(victim == run_id for victim, _, _ in history.preempted)
    _nobody_forgotten(history)


@given(contended_lives())
def test_it_comes_to_rest_however_much_is_preempted(lively: Lively) -> None:
    parts, coming, settings = lively
    _nobody_forgotten(live(parts, settings, as_estimated, coming=coming))


@given(contended_lives(), st.sampled_from((1, 20, 300)))
def test_it_comes_to_rest_where_victims_take_their_time(lively: Lively, letting_go_s: float) -> None:
    parts, coming, settings = lively
    _nobody_forgotten(live(parts, settings, as_estimated, coming=coming, letting_go_s=letting_go_s))


def _nobody_forgotten(history: History) -> None:
    """Whoever still waits at the end has a reason that only somebody from outside can end."""
    _, _, plan = history.passes[-1]
    for job_id in history.waiting:
        reason = plan.reason_of(job_id)
        assert reason is not None
        assert reason.code in LEFT_FOR_EVER, (job_id, reason)


@given(lives(), st.sampled_from((0, 20)))
def test_no_vnode_is_ever_given_more_than_it_has(lively: Lively, letting_go_s: float) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, _ledger: Ledger, plan: Plan) -> None:
        now = _parts_of(snapshot)
        assert audit.oversubscribed(now.vnodes, audit.residents(now, plan)) == []

    live(parts, settings, earlier, coming=coming, letting_go_s=letting_go_s, watch=watch)


def _parts_of(snapshot: Snapshot) -> Parts:
    return Parts(
        tuple(snapshot.vnodes.values()),
        tuple(snapshot.queues.values()),
        tuple(snapshot.jobs.values()),
        tuple(snapshot.runs.values()),
        snapshot.time_s,
        snapshot.server,
    )


@given(lives(), st.sampled_from((0, 20)))
def test_a_snapshot_carried_on_decides_as_one_built_anew(lively: Lively, letting_go_s: float) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, ledger: Ledger, plan: Plan) -> None:
        anew = _parts_of(snapshot).snapshot()
        assert audit.told(decide(anew, ledger, settings)) == audit.told(plan)

    live(parts, settings, earlier, coming=coming, letting_go_s=letting_go_s, watch=watch)


@given(lives())
def test_old_snapshots_stay_what_they_were(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    for snapshot, ledger, plan in history.passes[:: max(1, len(history.passes) // 5)]:
        assert audit.told(decide(snapshot, ledger, settings)) == audit.told(plan)


@given(clusters(plain=True), st.sampled_from(("none", "easy")), st.sampled_from(("first-come", "shortest-first")))
def test_a_promise_is_kept_without_preemption(parts: Parts, kind: str, order: str) -> None:
    settings = Settings(BackfillSettings(kind=kind, order=order), QuotaSettings(preempt=False))
    assert live(parts, settings, as_estimated).late == {}


@given(lives(), st.sampled_from(("none", "easy")))
def test_a_promise_is_kept_whatever_the_jobs_ask_for(lively: Lively, kind: str) -> None:
    parts, coming, settings = lively
    settings = replace(settings, backfill=replace(settings.backfill, kind=kind), quota=QuotaSettings(preempt=False))
    assert live(parts, settings, as_estimated, coming=coming).late == {}


@given(contended_lives())
def test_a_promise_is_kept_while_others_preempt(lively: Lively) -> None:
    parts, coming, settings = lively
    assert live(parts, settings, as_estimated, coming=coming).late == {}


@given(contended_lives())
def test_a_promise_is_kept_where_jobs_end_early(lively: Lively) -> None:
    parts, coming, settings = lively
    assert live(parts, settings, earlier, coming=coming).late == {}


@given(contended_lives())
def test_a_promise_never_moves_later(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    for _, before, plan in history.passes:
        began = {start.job.id for start in plan.starts}
        for job_id, at_s in before.promises.items():
            if job_id not in began:
                assert plan.ledger.promises.get(job_id, at_s) <= at_s


@given(contended_lives(), st.sampled_from((0, 20)))
def test_victims_stay_off_the_cores_they_freed_until_the_beneficiary_runs(lively: Lively, letting_go_s: float) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, _ledger: Ledger, plan: Plan) -> None:
        now = _parts_of(snapshot)
        if not [preempt for preempt in plan.preempts if preempt.again]:
            assert audit.oversubscribed(now.vnodes, audit.residents_after(now, plan)) == []

    live(parts, settings, as_estimated, coming=coming, letting_go_s=letting_go_s, watch=watch)


@given(contended_lives())
def test_a_beneficiary_starts_as_soon_as_its_victims_let_go(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, as_estimated, coming=coming)
    assert {beneficiary for _, beneficiary, _ in history.preempted} <= {
        start.job.id for _, _, plan in history.passes for start in plan.starts
    }
    for (_, _, plan), (_, _, then) in zip(history.passes, history.passes[1:]):
        assert set(plan.ledger.holds) <= {start.job.id for start in then.starts}


@given(contended_lives())
def test_nobody_is_preempted_more_often_than_the_cap(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, as_estimated, coming=coming)
    counts = Counter(victim for victim, _, _ in history.preempted)
    assert all(count <= settings.quota.max_preemptions for count in counts.values())


@given(contended_lives())
def test_a_run_below_its_exempt_time_is_left_alone(lively: Lively) -> None:
    parts, coming, settings = lively
    history = live(parts, settings, as_estimated, coming=coming)
    for snapshot, _, plan in history.passes:
        for preempt in plan.preempts:
            assert snapshot.time_s - snapshot.runs[preempt.id].start_s >= settings.quota.exempt_s


def test_the_drawn_lives_are_worth_it() -> None:
    """Among those drawn there are promises and preemptions, or these laws prove nothing."""
    seen: Counter[str] = Counter()

    @given(contended_lives())
    def look(lively: Lively) -> None:
        parts, coming, settings = lively
        assume(coming)
        history = live(parts, settings, as_estimated, coming=coming)
        promised = any(plan.estimates for _, _, plan in history.passes)
        seen.update({"promised": promised, "preempted": bool(history.preempted)})

    look()
    assert min(seen.values()) >= 5, seen
