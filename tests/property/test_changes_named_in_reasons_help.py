"""The explanations are true: what a reason says would help its job does, when exactly that is changed.

In random situations each claim is tried by deciding again
(:mod:`tests.property.oracles.reason_claims_tried_by_replanning`); of each claim at least 99 in 100 come true.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Ledger, Settings
from policy.model.job_preferences import RankPreference, Requirements
from policy.reasons.reason_names import ReasonCode
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.site_settings import BackfillSettings, QuotaSettings
from tests.property.oracles.reason_claims_tried_by_replanning import CLAIM_NOTHING, CLAIMS
from tests.property.oracles.reason_what_if import all_told
from tests.property.strategies.closure_window_strategies import windowed
from tests.property.strategies.cluster_strategies import (
    NOW_S,
    Parts,
    clusters,
    contended_clusters,
    crowded_clusters,
    in_site_order,
    with_run_limits,
)
from tests.property.strategies.ledger_between_passes_strategies import ledgers
from tests.property.strategies.request_shape_strategies import shaped_clusters
from tests.property.strategies.settings_strategies import all_settings, backfills, by_class_settings, eager_settings
from tests.property.strategies.situation_strategies import Situation
from tests.property.test_head_yields_to_entitled_jobs import roomy_situations
from tests.property.test_ranking_laws import readings

TRUE_OF = 0.99
TIMES = 3
"""How many times as many situations are drawn as for another law: a claim is counted, not tried in each."""


def situations(parts: st.SearchStrategy[Parts], *settings: st.SearchStrategy[Settings]) -> st.SearchStrategy[Situation]:
    """Clusters of that kind at sites of these kinds, as an earlier pass may have left them."""
    pairs = st.tuples(parts, st.one_of(*settings))
    return pairs.flatmap(
        lambda pair: st.tuples(st.just(pair[0]), st.one_of(st.just(Ledger()), ledgers(pair[0])), st.just(pair[1]))
    )


def of_all_kinds() -> st.SearchStrategy[Situation]:
    return situations(
        st.one_of(clusters(), clusters(plain=True), contended_clusters(), clusters().map(_some_pinned)),
        all_settings(),
        eager_settings(),
    )


def where_users_contend() -> st.SearchStrategy[Situation]:
    contended = st.one_of(contended_clusters(), contended_clusters(ranked=True), crowded_clusters())
    return situations(contended, patient_settings(), patient_settings(), eager_settings(), by_class_settings())


def patient_settings() -> st.SearchStrategy[Settings]:
    """Rules A and B with delays and exempt times that matter on the drawn clusters."""
    quotas = st.builds(
        QuotaSettings,
        delay_s=st.sampled_from((0, 500, 900, 1000)),
        delay_per_core_s=st.sampled_from((0, 0, 50)),
        exempt_s=st.sampled_from((0, 50, 100, 200)),
        max_victims_per_pass=st.sampled_from((100, 1)),
    )
    return st.builds(Settings, backfill=backfills("none", "easy"), quota=quotas)


def behind_a_head() -> st.SearchStrategy[Situation]:
    """Jobs of single cores behind a head, where no job preempts."""
    quotas = st.just(QuotaSettings(preempt=False))
    settings = st.builds(Settings, backfill=backfills("easy", "checkpoint"), quota=quotas)
    return situations(clusters(plain=True), settings)


def shaped_behind_a_head() -> st.SearchStrategy[Situation]:
    """Pieces together, apart, or alone on their vnodes, behind a head on vnodes of which few have much room; without
    preemption, and with."""
    quotas = st.sampled_from((QuotaSettings(preempt=False), QuotaSettings()))
    settings = st.builds(Settings, backfill=backfills("easy"), quota=quotas)
    return situations(shaped_clusters(), settings)


def with_windows() -> st.SearchStrategy[Situation]:
    return situations(windowed(st.one_of(clusters(), clusters(plain=True))), all_settings())


def with_jobs_that_may_not_be_preempted() -> st.SearchStrategy[Situation]:
    """Quotas on cores or GPUs, of the queue or of the server, that jobs which may not be preempted would exceed; with
    full estimates, as a reserved time by shrunk ones is an expectation."""
    return st.tuples(roomy_situations(), backfills("none", "easy")).map(
        lambda drawn: (
            drawn[0][0],
            drawn[0][1]._replace(backfilled={}),
            replace(drawn[0][2], backfill=drawn[1]),
        )
    )


def in_the_order_of_schedulers() -> st.SearchStrategy[Situation]:
    """Sites with formulas that have a threshold, and with fair share where some entities have no share."""
    return situations(clusters(plain=True).flatmap(in_site_order).map(_with_a_high_threshold), eager_settings())


def _with_a_high_threshold(parts: Parts) -> Parts:
    """The same with a threshold that about half of the jobs with a formula do not exceed."""
    queues = [
        replace(queue, order=replace(queue.order, threshold=80.0))
        if queue.order is not None and queue.order.formula is not None
        else queue
        for queue in parts.queues
    ]
    return replace(parts, queues=tuple(queues))


def where_vnodes_limit_runs() -> st.SearchStrategy[Situation]:
    """Vnodes that limit how many jobs run on them, and on which almost nothing runs."""
    parts = clusters(plain=True).map(lambda drawn: replace(drawn, runs=drawn.runs[:1]))
    return situations(parts.flatmap(with_run_limits), eager_settings())


def ranked_and_striped() -> st.SearchStrategy[Situation]:
    """Jobs with requirements on vnodes that report, or that are striped over vnodes where stripes have just started."""
    return st.tuples(clusters(plain=True), st.booleans(), st.data()).map(_ranked_or_striped)


def _ranked_or_striped(drawn: tuple[Parts, bool, st.DataObject]) -> Situation:
    parts, striped, data = drawn
    if striped:
        settings = Settings(
            backfill=BackfillSettings(kind="easy"),
            stripe=StripeSettings(layout="stripe", width_factor=data.draw(st.sampled_from((1.5, 2, 4))), stagger_s=60),
        )
        started = [vnode.name for vnode in parts.vnodes if data.draw(st.integers(0, 3))]
        stripes = {name: NOW_S - data.draw(st.sampled_from((10.0, 30.0, 60.0))) for name in started}
        return parts, Ledger(stripes=stripes), settings
    reported = {vnode.name: data.draw(readings()) for vnode in parts.vnodes if data.draw(st.integers(0, 5))}
    part = st.sampled_from((None, None, 0.5, 0.9, 1.0))
    jobs = []
    for job in parts.jobs:
        memory, compute, network = (data.draw(part) for _ in range(3))
        needs = Requirements(
            None if memory is None else memory * (64 << 20),
            None if compute is None else compute * 32,
            None if network is None else network * 100,
            data.draw(st.sampled_from((None, 25.0, 50.0))),
        )
        jobs.append(job._replace(rank=RankPreference("memory", needs)))
    return replace(parts, jobs=tuple(jobs), readings=reported), Ledger(), Settings()


def _some_pinned(parts: Parts) -> Parts:
    """The same with those jobs that a vnode could hold kept to one by PBS's checkpoint."""
    jobs = [
        job._replace(pinned=(parts.vnodes[number % len(parts.vnodes)].name,)) if job.request.only_cores else job
        for number, job in enumerate(parts.jobs)
    ]
    return replace(parts, jobs=tuple(jobs))


def test_of_every_reason_it_is_known_what_it_claims() -> None:
    claiming = {claim.code for claim in CLAIMS}
    assert claiming & set(CLAIM_NOTHING) == set()
    assert claiming | set(CLAIM_NOTHING) == set(get_args(ReasonCode))


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (of_all_kinds(), {"reserved", "over-quota", "too-few-idle", "hard-limit", "never-fits"}),
        (behind_a_head(), {"reserved", "backfill-window", "too-few-idle"}),
        (shaped_behind_a_head(), {"reserved", "backfill-window", "too-few-idle", "fragmented", "never-arranged"}),
        (where_users_contend(), {"base-class", "exempt-victims", "preempt-delay", "no-victims", "too-few-lower"}),
        (with_jobs_that_may_not_be_preempted(), {"unpreemptible"}),
        (in_the_order_of_schedulers(), {"under-threshold", "no-fair-share"}),
        (with_windows(), {"into-window", "queue-closed"}),
        (where_vnodes_limit_runs(), {"vnode-run-limit"}),
        (ranked_and_striped(), {"not-good-enough", "staggered"}),
    ],
    ids=[
        "of_all_kinds",
        "behind_a_head",
        "shaped_behind_a_head",
        "where_users_contend",
        "with_jobs_that_may_not_be_preempted",
        "in_the_order_of_schedulers",
        "with_windows",
        "where_vnodes_limit_runs",
        "ranked_and_striped",
    ],
)
def test_what_a_reason_says_would_help_does(drawn: st.SearchStrategy[Situation], expected: set[str]) -> None:
    true: Counter[tuple[str, str]] = Counter()
    false: dict[tuple[str, str], list[str]] = {}

    @settings_of_law(max_examples=TIMES * settings_of_law().max_examples)
    @given(drawn)
    def look(situation: Situation) -> None:
        for told in all_told(*situation):
            for claim in CLAIMS:
                outcome = claim.try_it(told) if claim.code == told.reason.code else None
                if outcome:
                    true[claim.code, claim.said] += 1
                elif outcome is not None:
                    false.setdefault((claim.code, claim.said), []).append(told.story())

    look()
    untrue = [
        f"{code}, {said}: false {len(told)} times, true {true[code, said]} times; {min(told, key=len)}"
        for (code, said), told in false.items()
        if len(told) > (1 - TRUE_OF) * (len(told) + true[code, said])
    ]
    assert not untrue, "\n\n".join(untrue)
    seen = {code for code, _ in true}
    assert expected <= seen, expected - seen
