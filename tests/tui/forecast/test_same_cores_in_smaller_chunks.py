"""A request in smaller chunks asks for the same in all, and is proposed only where it helps."""

from __future__ import annotations

import pytest

from policy import parse_request
from policy.model.jobs_runs_vnodes_queues import Run, Vnode
from tests.policy.clusters import QUEUE, cluster, run, vnode
from tui.forecast.same_cores_in_smaller_chunks import find_smaller_chunks, smaller_chunks


def all_of(select: str, place: str = "") -> list[str]:
    return [request.select for request in smaller_chunks(parse_request(select, place))]


def proposed(vnodes: list[Vnode], select: str, *runs: Run, place: str = "") -> str | None:
    found = find_smaller_chunks(cluster(vnodes, [], runs).cluster(), parse_request(select, place), QUEUE)
    return None if found is None else found.select


def test_all_that_a_chunk_asks_for_is_divided() -> None:
    assert all_of("1:ncpus=4:ngpus=4:mem=10kb:mpiprocs=4")[:2] == [
        "2:mem=5kb:ncpus=2:ngpus=2:mpiprocs=2",
        "4:mem=3kb:ncpus=1:ngpus=1:mpiprocs=1",
    ]


@pytest.mark.parametrize(
    ("select", "place"),
    [
        ("1:ncpus=4", "pack"),
        ("1:ncpus=4:ngpus=1", ""),
        ("1:ncpus=4:mpiprocs=1", ""),
        ("1:ncpus=4:ompthreads=4", ""),
        ("1:ncpus=4:licences=4", ""),
        ("4:ncpus=1", ""),
    ],
)
def test_what_does_not_divide_is_left_whole(select: str, place: str) -> None:
    assert all_of(select, place) == []


def test_of_several_kinds_those_that_divide_are_divided() -> None:
    assert all_of("1:ncpus=4+1:ncpus=1") == ["2:ncpus=2+1:ncpus=1", "4:ncpus=1+1:ncpus=1"]


def test_many_divisors_are_not_all_tried() -> None:
    assert len(all_of("1:ncpus=1048576")) == 12


def test_what_no_vnode_could_hold_is_proposed_in_the_fewest_chunks_that_have_room() -> None:
    assert proposed([vnode("v1", 4), vnode("v2", 4)], "1:ncpus=8") == "2:ncpus=4"
    half_full = proposed([vnode("v1", 4), vnode("v2", 4), vnode("v3", 4)], "1:ncpus=8", run("1", "bob", "v1=2 v2=2"))
    assert half_full == "4:ncpus=2"


def test_what_has_no_room_now_however_small_is_proposed_in_the_fewest_chunks_that_could_be_held() -> None:
    assert proposed([vnode("v1", 4), vnode("v2", 4)], "1:ncpus=8", run("1", "bob", "v1=4")) == "2:ncpus=4"


def test_what_could_be_held_is_proposed_smaller_only_where_that_has_room_now() -> None:
    vnodes = [vnode("v1", 4), vnode("v2", 4)]
    assert proposed(vnodes, "1:ncpus=4") is None, "it has room as it is"
    assert proposed(vnodes, "1:ncpus=4", run("1", "bob", "v1=2 v2=2")) == "2:ncpus=2"
    assert proposed(vnodes, "1:ncpus=4", run("1", "bob", "v1=3 v2=3")) is None, "nothing has room now"


def test_what_all_vnodes_together_could_not_hold_is_not_proposed() -> None:
    assert proposed([vnode("v1", 4)], "1:ncpus=8") is None
