"""Packing against striping on shared nodes: a workload for either, and learning that tells them apart.

Each workload is decided by the engine, pass by pass, on 16 nodes of 32 cores; all jobs have 64 cores and take 1,000 s
packed and alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.striping.layout_learning import Choice, choose, size_key
from tests.policy.clusters import job
from tests.sim.run_applications_on_shared_nodes import Outcome, Task, run_shared

MIXED = ("memory", "compute")
TALKING = ("communication",)
ALL = ("memory", "compute", "communication", "mixed")


def batch(applications: Sequence[str], count: int = 120) -> list[Task]:
    """So many tasks at once, the applications in turn."""
    return [Task(applications[number % len(applications)], 0) for number in range(count)]


@cache
def outcome(applications: tuple[str, ...], layout: str) -> Outcome:
    return run_shared(batch(applications), layout)


def chosen(found: Outcome, application: str) -> Choice:
    """What the next job of an application would get."""
    each = job("next", select="64", estimate_s=3000, application=application)
    return choose(found.ledger.learned, each, StripeSettings(layout="learn"), 0)


def test_every_job_runs_to_its_end() -> None:
    for layout in ("pack", "stripe", "learn"):
        assert sorted(outcome(MIXED, layout).spans) == list(range(120))


def test_striping_wins_where_jobs_want_different_things_of_a_node() -> None:
    packed, striped = outcome(MIXED, "pack"), outcome(MIXED, "stripe")
    assert striped.makespan_s < 0.95 * packed.makespan_s
    tasks = batch(MIXED)
    assert striped.mean_run_s(tasks, "memory") < 0.8 * packed.mean_run_s(tasks, "memory")
    assert striped.mean_run_s(tasks, "compute") < 1.1 * packed.mean_run_s(tasks, "compute")


def test_packing_wins_where_they_talk() -> None:
    packed, striped = outcome(TALKING, "pack"), outcome(TALKING, "stripe")
    assert packed.makespan_s < 0.8 * striped.makespan_s


@pytest.mark.parametrize(
    ("applications", "name", "layout"),
    [(MIXED, "memory", "stripe"), (TALKING, "communication", "pack"), (ALL, "memory", "stripe"),
     (ALL, "communication", "pack"), (ALL, "mixed", "pack")],
)  # fmt: skip
def test_learning_finds_out_which(applications: tuple[str, ...], name: str, layout: str) -> None:
    choice = chosen(outcome(applications, "learn"), name)
    assert choice.settled
    assert choice.layout == layout


@pytest.mark.parametrize("applications", [MIXED, TALKING])
def test_learning_ends_between_the_two(applications: tuple[str, ...]) -> None:
    """Its price is that both layouts are tried, and that each application looks at its own runs only."""
    ends = {layout: outcome(applications, layout).makespan_s for layout in ("pack", "stripe", "learn")}
    better, worse = sorted((ends["pack"], ends["stripe"]))
    assert better <= ends["learn"] < worse


def test_both_layouts_are_observed_by_speed_at_equal_size() -> None:
    tallies = outcome(TALKING, "learn").ledger.learned[size_key("u:alice:communication", 64, 3000)]
    assert tallies["pack"].runs + tallies["stripe"].runs == 120
    assert tallies["stripe"].runs >= 5
    assert tallies["pack"].runs > 80


def test_a_stagger_delays_nobody_for_long() -> None:
    tasks = batch(MIXED, 24)
    plain, staggered = run_shared(tasks, "stripe"), run_shared(tasks, "stripe", stagger_s=30)
    assert staggered.makespan_s < 1.05 * plain.makespan_s
    starts = sorted(start_s for start_s, _ in staggered.spans.values())
    assert {starts[index] for index in range(8)} == {0.0, 30.0}
