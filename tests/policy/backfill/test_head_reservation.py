"""The head's time and what is spare beside it, counted where counting is exact and placed where it is not."""

from __future__ import annotations

import pytest

from policy import Job, Run, Snapshot, Vnode
from policy.backfill.head_reservation import Reservation
from policy.backfill.shadow_time import reserve
from policy.fit.best_fit import fit
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from tests.policy.clusters import cluster, job, run, vnode


def reserved(head: Job, vnodes: list[Vnode], runs: list[Run], now_s: float = 10) -> tuple[Snapshot, Reservation]:
    snapshot = cluster(vnodes, [head], runs, now_s=now_s)
    index = snapshot.cluster()
    reservation = reserve(index, head, index.vnodes_of("workq"), now_s)
    assert reservation is not None
    return snapshot, reservation


def admits(snapshot: Snapshot, reservation: Reservation, other: Job) -> bool:
    capacity = snapshot.cluster().capacity
    allocation = fit(capacity, other.request, -1)
    assert allocation is not None
    return reservation.admits(allocation, snapshot.time_s + other.estimate_s, other.request)


RUNS = [run("1", "a", "v1=4", 0, 100), run("2", "a", "v2=2", 0, 50), run("3", "a", "v2=1", 0, 50)]
VNODES = [vnode("v1"), vnode("v2")]


@pytest.mark.parametrize(("select", "at_s", "spare"), [("2", 50, 2), ("4", 50, 0), ("5", 100, 3), ("8", 100, 0)])
@pytest.mark.parametrize("exact", ["", ":mem=0"])
def test_the_first_end_that_is_enough(select: str, at_s: float, spare: int, exact: str) -> None:
    _, reservation = reserved(job("9", "b", f"{select}:ncpus=1{exact}"), VNODES, RUNS)
    assert (reservation.at_s, reservation.spare_cores) == (at_s, spare)


def test_the_shape_counts_not_the_number() -> None:
    """After 50 there are 4 cores on v2; two chunks of 3 cores need v1 as well, so 100."""
    _, reservation = reserved(job("9", "b", "2:ncpus=3"), VNODES, RUNS)
    assert reservation.at_s == 100


def test_a_run_that_outlives_its_estimate_may_end_any_moment() -> None:
    _, reservation = reserved(job("9", "b", "4"), VNODES, RUNS, now_s=70)
    assert reservation.at_s == 70


def test_nobody_can_tell_where_a_run_has_no_walltime() -> None:
    _, reservation = reserved(job("9", "b", "4"), [vnode("v1")], [run("1", "a", "v1=1", 0, UNLIMITED_S)])
    assert reservation.at_s == UNLIMITED_S


def test_none_where_it_would_not_fit_even_on_an_empty_cluster() -> None:
    snapshot = cluster(VNODES, [job("9", "b", "3:ncpus=1", place="scatter")], RUNS)
    assert reserve(snapshot.cluster(), snapshot.jobs["9"], 0b11, 10) is None


def test_runs_on_vnodes_of_others_give_nothing() -> None:
    snapshot = cluster(VNODES, [job("9", "b", "4")], RUNS)
    reservation = reserve(snapshot.cluster(), snapshot.jobs["9"], 0b01, 10)
    assert reservation is not None
    assert reservation.at_s == 100


@pytest.mark.parametrize("exact", ["", ":mem=0"])
def test_who_passes_the_window_uses_up_what_is_spare(exact: str) -> None:
    runs = [run("1", "a", "v1=4", 0, 100), run("2", "a", "v2=2", 0, 50)]
    snapshot, reservation = reserved(job("9", "b", f"3:ncpus=1{exact}"), VNODES, runs)
    assert (reservation.at_s, reservation.spare_cores) == (50, 1)
    assert admits(snapshot, reservation, job("10", "c", "2", 40))
    assert not admits(snapshot, reservation, job("10", "c", "2", 41))
    assert admits(snapshot, reservation, job("11", "c", "1", 1000))
    assert reservation.spare_cores == 0
    assert not admits(snapshot, reservation, job("12", "c", "1", UNLIMITED_S))


def test_one_core_alone_on_its_vnode_is_a_whole_vnode() -> None:
    runs = [run("1", "a", "v1=3", 0, 50)]
    snapshot, reservation = reserved(job("9", "b", "7"), VNODES, runs)
    assert reservation.spare_cores == 1
    assert not admits(snapshot, reservation, job("10", "c", "1", 1000, place="excl"))
    assert admits(snapshot, reservation, job("11", "c", "1", 1000))


def test_the_head_may_need_just_these_vnodes() -> None:
    """Beside a head of 4 cores in one chunk, 4 of 8 cores are spare, but not on the vnode it will take."""
    vnodes = [vnode("v1", 4), vnode("v2", 2), vnode("v3", 2)]
    snapshot, reservation = reserved(job("9", "b", "1:ncpus=4"), vnodes, [run("1", "a", "v1=2", 0, 50)])
    assert reservation.at_s == 50
    assert reservation.head_vnodes() == 0b001
    assert admits(snapshot, reservation, job("10", "c", "1:ncpus=2:vnode=v2", 1000))
    assert not admits(snapshot, reservation, job("11", "c", "1:ncpus=1:vnode=v1", 1000))
