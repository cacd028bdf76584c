"""What may not be preempted starts only within quota, at sites where quotas, classes and heads meet (docs/policies.md,
P1, 17)."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import settings as settings_of_law

from tests.property.oracles import unpreemptible_by_hand
from tests.property.strategies.cluster_strategies import parts_of
from tests.property.strategies.situation_strategies import Situation
from tests.property.test_head_yields_to_entitled_jobs import EXAMPLES, passes, roomy_situations
from tests.property.test_laws_over_time import may_preempt


@settings_of_law(max_examples=EXAMPLES)
@given(roomy_situations())
def test_what_may_not_be_preempted_starts_within_quota_only_and_waits_only_beyond_it(situation: Situation) -> None:
    settings = situation[2]
    for snapshot, ledger, plan in passes(situation):
        now = parts_of(snapshot)
        unpreemptible_by_hand.check_reasons(now, ledger, plan, settings)
        if may_preempt(now, settings) or (settings.quota.preempt and now.server.quotas):
            unpreemptible_by_hand.check_starts(now, ledger, plan, settings)


def test_the_drawn_situations_are_worth_it() -> None:
    """Among those drawn such jobs start and wait, for either cause, or the law proves nothing."""
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=EXAMPLES)
    @given(roomy_situations())
    def look(situation: Situation) -> None:
        for _, _, plan in passes(situation):
            reasons = [reason for _, reason in plan.reasons().values() if reason.code == "unpreemptible"]
            seen.update("capped" if "cap" in str(reason.number("why")) else "not rerunnable" for reason in reasons)
            seen.update("starts" for start in plan.starts if not start.job.rerunable)

    look()
    assert min(seen["capped"], seen["not rerunnable"], seen["starts"]) >= 5, seen
