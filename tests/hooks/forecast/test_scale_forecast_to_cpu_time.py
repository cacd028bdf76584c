"""How far ahead a what-if looks is found by draws that go on as long as those that it compares."""

from __future__ import annotations

from hooks.forecast.scale_forecast_to_cpu_time import Within, find_horizon_s
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from tests.policy.clusters import cluster, job, vnode


def test_the_time_that_the_further_subjobs_of_an_array_take_counts() -> None:
    # Each reading of this clock is a second: after one try of four decisions, a tenth of the time is over.
    ticks = iter(range(100))
    array = job("1[].s", select="4", estimate_s=100, subjobs=tuple(range(50)))
    snapshot = cluster([vnode("n1")], [array], now_s=0)
    within = Within(cpu_s=10.0, horizon_s=10_000)
    assert find_horizon_s(snapshot, Ledger(), Settings(), within, lambda: next(ticks)) == 300
    assert find_horizon_s(snapshot, Ledger(), Settings(), within._replace(cpu_s=1000.0), lambda: next(ticks)) == 10_000


def test_where_nothing_waits_the_whole_span_is_looked_at() -> None:
    snapshot = cluster([vnode("n1")])
    assert find_horizon_s(snapshot, Ledger(), Settings(), Within(horizon_s=5000)) == 5000
