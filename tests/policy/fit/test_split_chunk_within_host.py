"""Chunks over several vnodes of one host: only where no single one will do, on few of them, never on two hosts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import Vnode, parse_request
from policy.fit.best_fit import fit
from policy.fit.split_chunk_within_host import count_pieces, ever_holds
from policy.ranking.ranked_fit import fit_ranked
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import vnode


def numa(host: str, *cores: int, **more: Any) -> list[Vnode]:
    """A host's vnodes, ``h[0]``, ``h[1]``, with so many cores each."""
    return [vnode(f"{host}[{number}]", count, host=host, **more) for number, count in enumerate(cores)]


def capacity_of(*vnodes: Vnode) -> Capacity:
    return Capacity.of({each.name: each for each in vnodes})


def where(select: str, *vnodes: Vnode, place: str = "") -> str | None:
    capacity = capacity_of(*vnodes)
    before = dict(capacity.levels)
    allocation = fit(capacity, parse_request(select, place), -1)
    assert capacity.levels == before
    return None if allocation is None else allocation.exec_vnode()


H44, I44 = numa("h", 4, 4), numa("i", 4, 4)


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("1:ncpus=4", "(h[0]:ncpus=4)"),
        ("1:ncpus=6", "(h[0]:ncpus=4+h[1]:ncpus=2)"),
        ("1:ncpus=8", "(h[0]:ncpus=4+h[1]:ncpus=4)"),
        ("1:ncpus=9", None),
        ("2:ncpus=5", "(h[0]:ncpus=4+h[1]:ncpus=1)+(i[0]:ncpus=4+i[1]:ncpus=1)"),
        ("3:ncpus=5", None),
        ("5:ncpus=3", None),
        ("1:ncpus=6+1:ncpus=2", "(h[0]:ncpus=4+h[1]:ncpus=2)+(h[1]:ncpus=2)"),
        ("1:ncpus=6+1:ncpus=3", "(h[0]:ncpus=4+h[1]:ncpus=2)+(i[0]:ncpus=3)"),
    ],
)
def test_the_vnodes_of_a_host_hold_a_chunk_together(select: str, expected: str | None) -> None:
    assert where(select, *H44, *I44) == expected


def test_pieces_are_whole_as_long_as_whole_ones_go_in() -> None:
    assert (
        where("4:ncpus=3", *numa("h", 4, 4, 4))
        == "(h[0]:ncpus=3)+(h[1]:ncpus=3)+(h[2]:ncpus=3)+(h[0]:ncpus=1+h[1]:ncpus=1+h[2]:ncpus=1)"
    )


def test_the_tightest_host_that_holds_it() -> None:
    assert where("1:ncpus=6", *numa("h", 4, 4), *numa("i", 3, 3)) == "(i[0]:ncpus=3+i[1]:ncpus=3)"


def test_as_few_vnodes_as_will_do_and_the_tightest_for_the_rest() -> None:
    assert where("1:ncpus=10", *numa("h", 2, 3, 8, 6)) == "(h[2]:ncpus=8+h[0]:ncpus=2)"


def test_each_consumable_from_where_it_is() -> None:
    host = [vnode("h[0]", 4, host="h", has={"mem": 100}), vnode("h[1]", 4, host="h", has={"mem": 300})]
    assert where("1:ncpus=4:mem=350kb", *host) == "(h[1]:mem=300kb:ncpus=4+h[0]:mem=50kb)"
    assert where("1:ncpus=5:mem=500kb", *host) is None


def test_each_of_them_is_what_the_chunk_wants() -> None:
    wanted = numa("h", 4, 4, attributes={"arch": "new"})
    mixed = [*numa("h", 4), vnode("h[1]", 4, host="h", attributes={"arch": "new"})]
    assert where("1:ncpus=6:arch=new", *wanted) == "(h[0]:ncpus=4+h[1]:ncpus=2)"
    assert where("1:ncpus=6:arch=new", *mixed) is None
    assert where("1:ncpus=6:vnode=h[0]", *H44) is None
    assert where("1:ncpus=6:host=i", *H44, *I44) == "(i[0]:ncpus=4+i[1]:ncpus=2)"


@pytest.mark.parametrize(
    ("place", "select", "expected"),
    [
        ("pack", "1:ncpus=6+1:ncpus=2", "(h[0]:ncpus=4+h[1]:ncpus=2)+(h[1]:ncpus=2)"),
        ("pack", "1:ncpus=6+1:ncpus=3", None),
        ("scatter", "2:ncpus=6", "(h[0]:ncpus=4+h[1]:ncpus=2)+(i[0]:ncpus=4+i[1]:ncpus=2)"),
        ("scatter", "3:ncpus=6", None),
        ("scatter", "1:ncpus=6+1:ncpus=2", "(h[0]:ncpus=4+h[1]:ncpus=2)+(i[0]:ncpus=2)"),
        ("vscatter", "1:ncpus=6", None),
        ("vscatter", "2:ncpus=4", "(h[0]:ncpus=4)+(h[1]:ncpus=4)"),
        ("group=host", "1:ncpus=6+1:ncpus=2", "(h[0]:ncpus=4+h[1]:ncpus=2)+(h[1]:ncpus=2)"),
        ("excl", "1:ncpus=6", "(h[0]:ncpus=4+h[1]:ncpus=2)"),
    ],
)
def test_place_keeps_its_meaning(place: str, select: str, expected: str | None) -> None:
    assert where(select, *H44, *I44, place=place) == expected


def test_alone_means_that_none_of_its_vnodes_has_anybody() -> None:
    capacity = capacity_of(*H44, *I44)
    one = fit(capacity, parse_request("1:ncpus=1"), -1)
    assert one is not None
    capacity.take(one.shares(capacity.directory), parse_request("1:ncpus=1"))
    alone = fit(capacity, parse_request("1:ncpus=6", "excl"), -1)
    assert alone is not None
    assert alone.exec_vnode() == "(i[0]:ncpus=4+i[1]:ncpus=2)"


@pytest.mark.parametrize(
    ("sharing", "place", "whole_host"),
    [
        ("default_exclhost", "", True),
        ("default_exclhost", "shared", False),
        ("default_exclhost", "excl", False),
        ("force_exclhost", "", True),
        ("force_exclhost", "shared", True),
        ("force_exclhost", "excl", True),
        ("default_excl", "", False),
        ("default_shared", "exclhost", True),
        ("ignore_excl", "exclhost", False),
    ],
)
def test_a_whole_host_goes_to_one_job(sharing: str, place: str, whole_host: bool) -> None:
    capacity = capacity_of(*numa("h", 4, 4, sharing=sharing))
    request = parse_request("1:ncpus=1", place)
    first = fit(capacity, request, -1)
    assert first is not None
    shares = first.shares(capacity.directory)
    capacity.take(shares, request)
    assert (fit(capacity, parse_request("1:ncpus=4:vnode=h[1]", place), -1) is None) == whole_host
    capacity.give(shares, request)
    assert fit(capacity, parse_request("1:ncpus=4:vnode=h[1]", place), -1) is not None


def test_the_best_ranked_host_from_its_best_vnode_on() -> None:
    capacity = capacity_of(*H44, *I44)
    bits, names = capacity.directory.bits, ("i[1]", "h[0]", "h[1]", "i[0]")

    def ranked(vnodes: int) -> list[int]:
        return [bits[name] for name in names if bits[name] & vnodes]

    parted = fit_ranked(capacity, parse_request("1:ncpus=6"), 0b1111, ranked)
    assert parted is not None
    assert parted.exec_vnode() == "(i[1]:ncpus=4+i[0]:ncpus=2)"


@given(
    hosts=st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=4), max_size=4),
    pieces=st.integers(1, 5),
    cores=st.integers(1, 9),
    mem=st.integers(0, 9),
)
def test_there_is_room_exactly_where_hosts_have_it_together(
    hosts: list[list[tuple[int, int]]], pieces: int, cores: int, mem: int
) -> None:
    vnodes = [
        vnode(f"h{at}[{number}]", has_cores, host=f"h{at}", has={"mem": has_mem})
        for at, host in enumerate(hosts)
        for number, (has_cores, has_mem) in enumerate(host)
    ]
    capacity = capacity_of(*vnodes)
    request = parse_request(f"{pieces}:ncpus={cores}:mem={mem}kb")
    room = 0
    for host in hosts:
        of_mem = sum(has for _, has in host) // mem if mem else pieces
        room += min(sum(has for has, _ in host) // cores, of_mem)
    everything = (1 << len(vnodes)) - 1
    chunk = request.chunks[0]
    assert (fit(capacity, request, everything) is not None) == (room >= pieces)
    assert (count_pieces(capacity, chunk, everything, pieces) >= pieces) == (room >= pieces)
    assert (ever_holds(capacity, chunk, everything, "free") >= pieces) == (room >= pieces)
