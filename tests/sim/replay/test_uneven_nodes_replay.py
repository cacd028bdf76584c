"""Replays on nodes that differ: what they report, what that costs jobs, and that ranking goes by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policy.model.allocation import Allocation, Spot
from policy.settings.ranking_and_stripe_settings import RankingSettings
from sim.replay.job_records import Replay
from sim.replay.named_policies import Policy, resolve
from sim.replay.node_contention import Contention, Shape
from sim.replay.replay import replay
from sim.workload import uneven_nodes
from sim.workload.application_contention_traits import KINDS
from sim.workload.lublin_feitelson import generate
from sim.workload.uneven_nodes import Condition
from sim.workload.workload import Cluster, TraceJob, Workload

UNEVEN = Cluster(3, 4, uneven=1)


def a(number: int, submit_s: float, run_s: float = 100, cores: int = 4, application: str = "compute") -> TraceJob:
    return TraceJob(number, submit_s, run_s, run_s, cores, "alice", "g", application)


@pytest.fixture
def conditions(monkeypatch: pytest.MonkeyPatch) -> dict[str, Condition]:
    """The conditions of the three nodes, to be set by a test; nothing differs unless it does."""
    given: dict[str, Condition] = {}
    monkeypatch.setattr(
        "sim.replay.node_contention.draw_condition", lambda _seed, name: given.get(name, uneven_nodes.EVEN)
    )
    return given


def run(policy: str | Policy, *jobs: TraceJob, cluster: Cluster = UNEVEN) -> Replay:
    workload = Workload("test", cluster, jobs, generated=True)
    return replay(
        workload,
        cluster,
        resolve(policy, workload, cluster) if isinstance(policy, str) else policy,
        contention=True,
    )


def ranked(mode: str) -> Policy:
    policy = resolve("ranked", Workload("test", UNEVEN, (), generated=True), UNEVEN)
    return replace(policy, settings=replace(policy.settings, ranking=RankingSettings(mode=mode)))


def first_nodes(result: Replay) -> dict[int, str]:
    return {record.job.number: record.vnodes[0] for record in result.records}


def test_what_a_node_reports_follows_from_its_condition_and_its_ranks(conditions: dict[str, Condition]) -> None:
    conditions["n1"] = Condition(warmer=10, cores=0.25, network=0.5, memory=0.125)
    contention = Contention(UNEVEN, {"1": Shape(2, 100, KINDS["communication"])})
    contention.started("1", Allocation((Spot("n1", (("ncpus", 1),), 2),)), 0)
    busy, idle = contention.reading("n1", 60), contention.reading("n2", 60)
    assert (busy.at_s, busy.compute, busy.compute_all) == (60, 1.0, 4)
    assert (busy.network, busy.network_all) == (0.0, 100_000)
    assert busy.temperature == 35 + 10 + 35 * 0.75
    assert busy.memory_kib is not None
    assert busy.memory_kib < 0.875 * 4 * 4 * 1024 * 1024
    assert (idle.compute, idle.network, idle.temperature, idle.temperature_most) == (4, 100_000, 35, 95)
    assert idle.memory_kib == idle.memory_all_kib


@pytest.mark.parametrize(
    ("mode", "bad"),
    [
        ("stability", Condition(warmer=20)),
        ("compute", Condition(cores=0.3)),
        ("network", Condition(network=0.6)),
        ("memory", Condition(memory=0.4)),
        ("composite", Condition(warmer=20)),
    ],
)
def test_ranking_leaves_the_node_that_is_worse_by_its_mode(
    conditions: dict[str, Condition], mode: str, bad: Condition
) -> None:
    """Nothing is reported before the first interval is over; the node without ranking is the first by name."""
    conditions["n1"] = bad
    assert first_nodes(run("easy", a(1, 120)))[1] == "n1"
    assert first_nodes(run(ranked(mode), a(1, 120)))[1] == "n2"


@pytest.mark.parametrize(
    ("bad", "application", "slower"),
    [
        (Condition(warmer=20), "compute", 1.25),
        (Condition(cores=0.3), "compute", 0.9 * 1.3 + 0.1),
        (Condition(network=0.6), "communication", 0.5 + 0.1 + 0.4 * 1.6),
        (Condition(memory=0.4), "memory", 1.0),
    ],
)
def test_a_bad_node_costs_a_job_time(
    conditions: dict[str, Condition], bad: Condition, application: str, slower: float
) -> None:
    """Memory that others hold costs nothing. Packed and alone, a memory-bound job takes its recorded time."""
    conditions["n1"] = bad
    result = run("easy", a(1, 0, application=application))
    assert result.records[0].end_s == pytest.approx(100 * slower)


def test_a_job_goes_at_the_pace_of_its_worst_node(conditions: dict[str, Condition]) -> None:
    conditions["n3"] = Condition(warmer=20)
    assert run("easy", a(1, 0, cores=12)).records[0].end_s == pytest.approx(125)


def test_a_reading_is_of_the_last_interval_and_starts_since_are_subtracted(conditions: dict[str, Condition]) -> None:
    """1 and 2 start after the readings of 120 s: 2 does not go beside 1, and 3, at 190 s, sees what 1 and 2 left."""
    conditions["n3"] = Condition(warmer=20)
    result = run(ranked("composite"), a(1, 125, 500, 2), a(2, 126, 500, 2), a(3, 190, 500, 2))
    assert first_nodes(result) == {1: "n1", 2: "n2", 3: "n3"}


@pytest.mark.parametrize("policy", ["easy", "striped", "ranked", "ranked-striped", "checkpoint-rescue"])
def test_the_same_seed_gives_the_same_replay_and_every_job_ends(policy: str) -> None:
    cluster = Cluster(8, 8, uneven=3)
    workload = generate(150, cluster, users=5, seed=3, load=1.1)
    chosen = resolve(policy, workload, cluster)
    first, again = (replay(workload, cluster, chosen, contention=True) for _ in range(2))
    assert first.records == again.records
    assert len(first.records) == len(workload.jobs)


def test_without_contention_nothing_differs_and_nothing_is_reported() -> None:
    workload = generate(100, UNEVEN, users=5, seed=3, load=1.1)
    for policy in ("easy", "ranked"):
        even = replay(workload, Cluster(3, 4), resolve(policy, workload, UNEVEN))
        assert replay(workload, UNEVEN, resolve(policy, workload, UNEVEN)).records == even.records
