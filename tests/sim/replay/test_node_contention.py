"""How jobs on shared nodes hold each other up, and that their progress adds up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model.allocation import Allocation, Spot
from sim.replay.node_contention import GBS_PER_CORE, Contention, Shape
from sim.workload.application_contention_traits import KINDS, Traits, traits_of
from sim.workload.workload import Cluster

CLUSTER = Cluster(8, 32)
MEMORY, COMPUTE, TALKS = KINDS["memory"], KINDS["compute"], KINDS["communication"]


def on(**cores: int) -> Allocation:
    return Allocation(tuple(Spot(vnode, (("ncpus", 1),), count) for vnode, count in cores.items()))


def model(**jobs: Shape) -> Contention:
    return Contention(CLUSTER, jobs)


def shape(traits: Traits, cores: int = 64, run_s: float = 1000) -> Shape:
    return Shape(cores, run_s, traits)


# The model


def test_packed_and_alone_a_job_takes_its_recorded_time() -> None:
    for traits in KINDS.values():
        for cores, where in ((64, on(a=32, b=32)), (8, on(a=8))):
            assert model(j=shape(traits, cores)).started("j", where, 500) == [("j", 1500)]


@pytest.mark.parametrize(
    ("crowding", "spread", "stretch"),
    [(0.5, 1, 1.0), (1, 1, 1.0), (2, 1, 1.5), (3, 1, 2.0), (1, 2, 1.25), (1, 4, 1.5), (2, 4, 2.0), (1, 0.5, 1.0)],
)
def test_time_stretches_with_the_crowding_and_with_each_doubling_of_the_nodes(
    crowding: float, spread: float, stretch: float
) -> None:
    assert Traits(0.5, 1, 0.25).stretch(crowding, spread) == stretch


def test_half_the_ranks_a_node_draw_half_the_bandwidth() -> None:
    [(_, end_s)] = model(j=shape(MEMORY)).started("j", on(a=16, b=16, c=16, d=16), 0)
    crowded = 32 * MEMORY.gbs_per_rank / (32 * GBS_PER_CORE)
    packed = 1 - MEMORY.memory_share + MEMORY.memory_share * crowded
    assert end_s == pytest.approx(1000 * (1 + MEMORY.communication_share) / packed)


def test_like_jobs_gain_nothing_by_sharing_and_unlike_ones_do() -> None:
    quarters = on(a=16, b=16, c=16, d=16)
    like = model(j=shape(MEMORY), k=shape(MEMORY))
    like.started("j", quarters, 0)
    like.started("k", quarters, 0)
    assert like.pace("j") == like.pace("k") < 1
    unlike = model(j=shape(MEMORY), k=shape(COMPUTE))
    unlike.started("j", quarters, 0)
    unlike.started("k", quarters, 0)
    assert unlike.pace("j") > 1.5
    assert unlike.pace("k") == pytest.approx(1, abs=0.06)


def test_a_job_goes_at_the_pace_of_its_slowest_rank() -> None:
    running = model(j=shape(MEMORY, 32), k=shape(MEMORY, 16), far=shape(MEMORY, 16))
    running.started("j", on(a=16, b=16), 0)
    free = running.pace("j")
    assert running.started("far", on(c=16), 0) == [("far", 1000)]
    assert running.pace("j") == free
    running.started("k", on(b=16), 0)
    assert running.pace("j") < free


# Progress


def test_a_slower_stretch_is_paid_for_once_and_only_while_it_lasts() -> None:
    """j alone at pace p until 100, beside k at q until k is gone at 300, then at p again."""
    running = model(j=shape(MEMORY), k=shape(MEMORY))
    quarters = on(a=16, b=16, c=16, d=16)
    [(_, alone_s)] = running.started("j", quarters, 0)
    fast = running.pace("j")
    moved = dict(running.started("k", quarters, 100))
    slow = running.pace("j")
    assert set(moved) == {"j", "k"}
    assert moved["j"] > alone_s
    assert running.left_s("j", 300) == pytest.approx(1000 - 100 * fast - 200 * slow)
    [(job, end_s)] = running.ended("k", 300)
    assert job == "j"
    assert end_s == pytest.approx(300 + (1000 - 100 * fast - 200 * slow) / fast)


def test_who_is_not_touched_is_not_told() -> None:
    running = model(j=shape(MEMORY), k=shape(COMPUTE), far=shape(MEMORY))
    running.started("far", on(g=32, h=32), 0)
    running.started("k", on(a=16, b=16, c=16, d=16), 0)
    assert [job for job, _ in running.started("j", on(e=32, f=32), 0)] == ["j"]
    assert running.ended("j", 10) == []


def test_a_job_that_goes_on_has_only_the_rest_to_run() -> None:
    running = model(j=shape(COMPUTE))
    running.started("j", on(a=32, b=32), 0)
    left_s = running.left_s("j", 400)
    assert left_s == 600
    running.ended("j", 400)
    assert running.started("j", on(c=32, d=32), 900, left_s) == [("j", 1500)]


events = st.lists(
    st.tuples(st.integers(0, 300), st.sampled_from(sorted(KINDS)), st.integers(1, 4), st.integers(1, 16)),
    min_size=1,
    max_size=12,
)


@given(events)
def test_every_job_runs_its_recorded_time_at_its_paces(arrivals: list[tuple[int, str, int, int]]) -> None:
    """Whatever starts and ends beside it: the sum of pace times duration is the recorded run time."""
    jobs = {str(n): shape(KINDS[kind], nodes * each, 100) for n, (_, kind, nodes, each) in enumerate(arrivals)}
    coming = sorted((at_s, str(n)) for n, (at_s, *_) in enumerate(arrivals))
    running, ends = model(**jobs), dict[str, float]()
    done = dict.fromkeys(jobs, 0.0)
    now_s = 0.0
    while coming or ends:
        next_s = min([*ends.values(), *(at_s for at_s, _ in coming[:1])])
        for job in ends:
            done[job] += (next_s - now_s) * running.pace(job)
        now_s = next_s
        for job in [job for job, end_s in ends.items() if end_s == now_s]:
            del ends[job]
            ends.update({other: end_s for other, end_s in running.ended(job, now_s) if other in ends})
        while coming and coming[0][0] == now_s:
            job = coming.pop(0)[1]
            _, _, nodes, each = arrivals[int(job)]
            ends.update(running.started(job, on(**{f"n{n}": each for n in range(nodes)}), now_s))
    assert all(math.isclose(work_s, 100, rel_tol=1e-9) for work_s in done.values())


# Applications


def test_the_name_of_an_application_says_what_it_does() -> None:
    assert traits_of("memory-lbm") is MEMORY
    assert traits_of("compute") is COMPUTE
    assert traits_of("wrf") is traits_of("wrf")
    assert {traits_of(f"user{number}") for number in range(50)} == set(KINDS.values())


@pytest.mark.parametrize("traits", [(-0.1, 1, 0), (0.6, 1, 0.5), (0.5, -1, 0), (0.5, math.inf, 0)])
def test_traits_that_cannot_be(traits: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="shares are from 0 to 1 together"):
        Traits(*traits)
