"""Situations of one pass: a cluster, what earlier passes left, and settings."""

from __future__ import annotations

from hypothesis import strategies as st

from policy import Changes, Ledger, Plan, Settings, decide
from tests.property.strategies.cluster_strategies import (
    Parts,
    clusters,
    contended_clusters,
    crowded_clusters,
    in_site_order,
    parts_of,
)
from tests.property.strategies.ledger_between_passes_strategies import due_ledgers, ledgers
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


def crowded() -> st.SearchStrategy[Situation]:
    """Hardly an idle core, and jobs that preempt for the cores of several vnodes, beside a head."""
    return st.tuples(crowded_clusters(), st.just(Ledger()), eager_settings())


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
