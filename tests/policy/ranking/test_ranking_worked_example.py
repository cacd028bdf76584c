"""The worked example of docs/policies.md, P4, from readings to the lists that programs read."""

from __future__ import annotations

from functools import partial

import pytest

from policy import Job, Reading, Run, Snapshot, parse_request
from policy.explain.hostfiles_for_mpi_and_openmp import node_file, ranked_list
from policy.fit.core_binding import CoreBook
from policy.model.allocation import Allocation
from policy.model.job_preferences import RankPreference, Requirements
from policy.model.lists_for_programs import mpich_hostfile, open_mpi_hostfile, openmp_places
from policy.ranking.ranked_fit import fit_ranked
from policy.ranking.vnode_ranking_and_requirements import Ranking
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.state.cluster_index import ClusterIndex
from tests.policy.clusters import job, place_of, vnode

GIB = 1 << 20
NOW_S = 1000
LEFT = {
    "n1": (24, 32, 80, 63, 990), "n2": (16, 96, 50, 45, 990), "n3": (32, 120, 90, 36, 700),
    "n4": (8, 112, 40, 54, 990), "n5": (28, 64, 20, 72, 990),
}  # fmt: skip
PREFERENCE = RankPreference("compute+memory", Requirements(memory_kib=48 * GIB, temperature=72))
REQUEST = parse_request("2:ncpus=12:mem=24gb:mpiprocs=4:ompthreads=3", "scatter")


def cluster() -> ClusterIndex:
    attributes = {"sockets": "2", "cores_per_socket": "16"}
    vnodes = [vnode(name, 32, has={"mem": 128 * GIB}, attributes=attributes) for name in LEFT]
    readings = {
        name: Reading(at_s, compute, 32, memory * GIB, 128 * GIB, network, 100, temperature, 90)
        for name, (compute, memory, network, temperature, at_s) in LEFT.items()
    }
    runs = [Run("7", job("7"), 500, place_of("n2=16"), 5000)]
    return Snapshot.build(NOW_S, vnodes, runs=runs, readings=readings).cluster()


def order(index: ClusterIndex, ranking: Ranking, preference: RankPreference) -> dict[str, float | None]:
    names = [index.capacity.directory.named(bit)[0] for bit in ranking.ordered(preference, -1)]
    return {name: ranking.standing(preference, name).dispatch_score for name in names}


def place(index: ClusterIndex, ranking: Ranking) -> Allocation:
    allocation = fit_ranked(
        index.capacity, REQUEST, ranking.compliant(PREFERENCE), partial(ranking.ordered, PREFERENCE)
    )
    assert allocation is not None
    return allocation


@pytest.mark.parametrize(
    ("preference", "expected"),
    [
        (RankPreference("compute+memory"), {"n5": 1.375, "n2": 1.25, "n4": 1.125, "n1": 1.0, "n3": None}),
        (RankPreference("composite"), {"n2": 2.25, "n1": 2.1, "n4": 1.925, "n5": 1.775, "n3": None}),
        (PREFERENCE, {"n2": 2.0, "n4": 1.5, "n5": 1.375}),
    ],
)
def test_the_order_of_the_vnodes(preference: RankPreference, expected: dict[str, float | None]) -> None:
    index = cluster()
    found = order(index, Ranking(index, RankingSettings(), NOW_S), preference)
    assert list(found) == list(expected)
    assert [score for score in found.values() if score] == pytest.approx([s for s in expected.values() if s])


def test_vnodes_that_are_not_good_enough() -> None:
    ranking = Ranking(cluster(), RankingSettings(), NOW_S)
    assert ranking.standing(PREFERENCE, "n1").compliance == pytest.approx(2 / 3)
    assert ranking.standing(PREFERENCE, "n3").compliance is None


def test_the_job_goes_to_the_two_best_and_the_next_finds_another_order() -> None:
    index = cluster()
    ranking = Ranking(index, RankingSettings(), NOW_S)
    allocation = place(index, ranking)
    assert allocation.vnodes == ("n2", "n4")
    started = Job("8", "alice", REQUEST, "workq", 0, rank=PREFERENCE)
    index.set_run("8", Run("8", started, NOW_S, allocation, 5000))
    ranking.started(started, allocation)
    found = order(index, ranking, PREFERENCE)
    assert list(found) == ["n5", "n4", "n2"]
    assert list(found.values()) == pytest.approx([1.375, 2 / 3, 0.5])
    assert ranking.missing(RankPreference("memory", Requirements(memory_kib=120 * GIB)), -1).sentence(
        started, NOW_S
    ) == (
        "n4 comes nearest, with 64 GiB of memory left where 120 GiB is required: 56 GiB too little;"
        " none of the 5 vnodes open to it meets what it requires;"
        " without a recent reading of memory: 1 vnode (1 with an old one)"
    )


def test_its_lists() -> None:
    index = cluster()
    allocation = place(index, Ranking(index, RankingSettings(), NOW_S))
    cores = CoreBook(index.vnodes, {"7": {"n2": tuple(range(16))}}).give("8", allocation)
    entries = ranked_list(allocation, REQUEST, index.vnodes, cores)
    assert [entry.show() for entry in entries] == ["n2 sockets 1 cores 16-27", "n4 sockets 0 cores 0-11"]
    assert node_file(allocation, REQUEST, index.vnodes) == "n2\n" * 4 + "n4\n" * 4
    assert open_mpi_hostfile(entries) == "n2 slots=4\nn4 slots=4\n"
    assert mpich_hostfile(entries) == "n2:4\nn4:4\n"
    assert openmp_places(entries[0].cores, 3) == "{16:3},{19:3},{22:3},{25:3}"
    assert openmp_places(entries[0].cores).startswith("{16},{17},{18}")
