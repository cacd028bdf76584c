"""A job over quota has the same reason whether it is made at the attempt or when the plan's reasons are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import Plan, decide
from policy.eligibility.quota_headroom import QuotaHeadroom
from tests.property.strategies.cluster_strategies import contended_clusters, crowded_clusters
from tests.property.strategies.ledger_between_passes_strategies import due_ledgers, ledgers
from tests.property.strategies.settings_strategies import all_settings, by_quota_settings
from tests.property.strategies.situation_strategies import Situation

crowded = st.tuples(
    st.one_of(crowded_clusters(), contended_clusters(plain=True)), st.one_of(by_quota_settings(), all_settings())
).flatmap(lambda pair: st.tuples(st.just(pair[0]), st.one_of(ledgers(pair[0]), due_ledgers(pair[0])), st.just(pair[1])))


@given(crowded)
def test_reasons_are_the_same_whenever_they_are_made(situation: Situation) -> None:
    def plan() -> Plan:
        parts, ledger, settings = situation
        return decide(parts.snapshot(), ledger, settings)

    later = plan()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QuotaHeadroom, "counts_cores", lambda *_: False)
        at_once = plan()
    assert later.reasons() == at_once.reasons()
    assert later._replace(waits=at_once.waits, started=at_once.started) == at_once
