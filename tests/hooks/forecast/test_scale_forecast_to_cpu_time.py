"""How far ahead a what-if looks, and which jobs it runs forward where very many wait."""

from __future__ import annotations

import pytest

from hooks.forecast.scale_forecast_to_cpu_time import Within, find_horizon_s, find_left_out
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


def test_what_is_among_the_first_in_line_on_one_side_is_left_out_on_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hooks.forecast.scale_forecast_to_cpu_time.MOST_JOBS", 2)
    before = cluster([vnode("n1")], [job(str(number)) for number in range(1, 6)])
    raised = cluster([vnode("n1")], [job(str(number), priority=int(number == 5)) for number in range(1, 6)])
    few = cluster([vnode("n1")], [job("1"), job("4")])
    settings = Settings()
    assert find_left_out([(before, settings)], Ledger()) == ["3", "4", "5"]
    assert find_left_out([(before, settings), (raised, settings)], Ledger()) == ["3", "4"]
    assert find_left_out([(before, settings), (few, settings)], Ledger()) == ["3", "5"], "those that are gone too"
    assert find_left_out([(few, settings), (few, settings)], Ledger()) == []
