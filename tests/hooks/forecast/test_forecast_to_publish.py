"""A forecast is published with the moments of its jobs, where they start, and after which run."""

from __future__ import annotations

from hooks.forecast.forecast_to_publish import publishable
from policy.forecast.forecast import forecast
from policy.forecast.run_time_history import RunTimeHistory
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from tests.policy.clusters import cluster, job, run, vnode


def test_a_forecast_is_published_with_where_and_after_what_its_jobs_start() -> None:
    snapshot = cluster(
        [vnode("n1"), vnode("n2")],
        [job("2", select="2:ncpus=4"), job("3", blocked="held\x1b")],
        [run("1", "bob", "n1=4 n2=4", estimate_s=500)],
    )
    made = forecast(snapshot, Ledger(), Settings(), RunTimeHistory())
    published = publishable(made, 0, 0.5)
    estimate = published.jobs["2"]
    assert (estimate.half_s, estimate.nine_tenths_s, estimate.last_s) == (500.0, 500.0, 500.0)
    assert (estimate.after, estimate.after_share, estimate.vnodes, estimate.vnode_count) == ("1", 1.0, ("n1", "n2"), 2)
    assert published.unknown == {"3": "held\\x1b"}
    assert published.age_s(60.0) == 50.0
    assert published.age_s(-100.0) == 0.0
