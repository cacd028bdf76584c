"""Seconds of one pass with all policies on, on a large busy cluster that changes by one part in a hundred each time.

Quotas and priorities for half of the users, shrunk estimates and cuts, the rescue, ranked vnodes with differing
readings, layouts learned. What is measured is the pass itself, with its plan's reasons; the changes are applied before.
"""

from __future__ import annotations

import gc
import time
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from policy import Ledger, Settings, decide
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, RescueSettings
from tests.bench.drawn_large_busy_cluster import Site, shares, ten_priorities

VNODES = 10_000
PASSES = 5
ALL_ON = Settings(
    BackfillSettings("checkpoint", "shortest-first", 0.2, predictor="ratio"),
    checkpoint=CheckpointSettings(saves=True),
    rescue=RescueSettings(enabled=True),
    ranking=RankingSettings("composite"),
    stripe=StripeSettings("learn"),
)


@pytest.mark.parametrize("queued", [50_000, 100_000, 200_000])
def test_decide_with_all_policies(benchmark: BenchmarkFixture, queued: int) -> None:
    site = Site(VNODES, queued, quotas=shares(VNODES), priorities=ten_priorities(), wishes=True)
    ledger = Ledger()
    started_s = time.process_time()
    plan = decide(site.snapshot, ledger, ALL_ON)
    first_s = time.process_time() - started_s
    times_s: list[float] = []
    applied_s: list[float] = []
    reasons: list[int] = []

    def one_pass() -> None:
        nonlocal plan
        began_s = time.process_time()
        snapshot = site.after(plan)
        applied_s.append(time.process_time() - began_s)
        gc.collect()
        began_s = time.process_time()
        plan = decide(snapshot, plan.ledger, ALL_ON)
        reasons.append(sum(len(wait.jobs) for wait in plan.waits))
        times_s.append(time.process_time() - began_s)

    benchmark.pedantic(one_pass, rounds=PASSES)  # type: ignore[no-untyped-call]  # the library's own
    print(  # noqa: T201 - a figure is there to be read
        f"\n10,000 vnodes, 20,000 runs, {queued:,} queued, all policies: first pass {first_s:.2f} s of CPU, then",
        f"median {median(times_s):.2f} s ({min(times_s):.2f} to {max(times_s):.2f});",
        f"{reasons[-1]:,} jobs told why they wait; the changes, drawing them included, {median(applied_s):.2f} s",
    )
