"""Seconds of one pass where each policy by itself makes most work, and how they grow with the queued jobs.

Every figure is the median of passes over a busy cluster of which one part in a hundred changes in between; the last
line tells a pass over 100,000 jobs by that over 10,000: 10 is linear.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from policy import Ledger, Settings, decide
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, PrioritySettings, QuotaSettings
from tests.bench.drawn_large_busy_cluster import Site, shares, shares_of_all_kinds, ten_priorities

VNODES = 10_000
QUEUED = (10_000, 30_000, 100_000)
PASSES = 5
EASY = Settings(quota=QuotaSettings(preempt=False), priority=PrioritySettings(preempt=False))
RULE_A = Settings(priority=PrioritySettings(preempt=False))
CUTS = Settings(BackfillSettings("checkpoint", "shortest-first", 0.2), checkpoint=CheckpointSettings(saves=True))
STRIPED = Settings(quota=EASY.quota, priority=EASY.priority, stripe=StripeSettings("stripe"))

Kind = tuple[Callable[[int], Site], Settings]
KINDS: dict[str, Kind] = {
    "plain": (lambda queued: Site(VNODES, queued), EASY),
    "windows": (lambda queued: Site(VNODES, queued, windows=True), EASY),
    "rule A": (lambda queued: Site(VNODES, queued, quotas=shares(VNODES)), RULE_A),
    "rule A, groups, projects": (lambda queued: Site(VNODES, queued, quotas=shares_of_all_kinds(VNODES)), RULE_A),
    "rule A, windows": (lambda queued: Site(VNODES, queued, quotas=shares(VNODES), windows=True), RULE_A),
    "rules A and B": (
        lambda queued: Site(VNODES, queued, quotas=shares(VNODES), priorities=ten_priorities()),
        Settings(),
    ),
    "rules A and B, windows, cuts": (
        lambda queued: Site(VNODES, queued, quotas=shares(VNODES), priorities=ten_priorities(), windows=True),
        CUTS,
    ),
    "place=group": (lambda queued: Site(VNODES, queued, racks=100), EASY),
    "place=group, windows": (lambda queued: Site(VNODES, queued, windows=True, racks=100), EASY),
    "stripes": (lambda queued: Site(VNODES, queued), STRIPED),
    "chunks over vnodes": (lambda queued: Site(VNODES, queued, vnodes_per_host=4), EASY),
    "chunks over vnodes, rule A": (
        lambda queued: Site(VNODES, queued, quotas=shares(VNODES // 4), vnodes_per_host=4),
        RULE_A,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_decide_by_kind(benchmark: BenchmarkFixture, kind: str) -> None:
    make, settings = KINDS[kind]
    medians_s: list[float] = []

    def all_sizes() -> None:
        medians_s.extend(_seconds_of_passes(kind, make(queued), settings, queued) for queued in QUEUED)

    benchmark.pedantic(all_sizes, rounds=1)  # type: ignore[no-untyped-call]  # the library's own
    print(f"{kind}: 100,000 jobs take {medians_s[-1] / medians_s[0]:.1f} times as long as 10,000")  # noqa: T201


def _seconds_of_passes(kind: str, site: Site, settings: Settings, queued: int) -> float:
    """The median CPU time of the passes after the first."""
    began_s = time.process_time()
    plan = decide(site.snapshot, Ledger(), settings)
    first_s = time.process_time() - began_s
    times_s = []
    for _ in range(PASSES):
        snapshot = site.after(plan)
        gc.collect()
        began_s = time.process_time()
        plan = decide(snapshot, plan.ledger, settings)
        times_s.append(time.process_time() - began_s)
    print(  # noqa: T201 - a figure is there to be read
        f"\n{kind}, {VNODES:,} vnodes, {queued:,} queued: first pass {first_s:.2f} s, then {median(times_s):.2f} s",
        f"({min(times_s):.2f} to {max(times_s):.2f}); {len(plan.starts)} starts, {len(plan.preempts)} preemptions,",
        f"{len(plan.waits)} reasons",
    )
    return median(times_s)
