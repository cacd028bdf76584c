"""exec_vnode as a value: read, shown, and held as sets of vnodes over one directory of names."""

from __future__ import annotations

import pytest

from policy.model.allocation import Allocation, AllocationError, Cell, Directory, Share, Spot, parse_exec_vnode
from policy.model.vnode_bitsets import count_vnodes
from tests.policy.clusters import place_of


def test_spots_in_the_order_of_the_chunks() -> None:
    allocation = parse_exec_vnode("(v2:ncpus=2:mem=1024kb)+(v1:ncpus=1)+(v1:ncpus=1)")
    assert allocation.spots == (Spot("v2", (("mem", 1024), ("ncpus", 2)), 1), Spot("v1", (("ncpus", 1),), 2))
    assert allocation.vnodes == ("v2", "v1")
    assert (allocation.cores, allocation.total("mem"), allocation.total("ngpus")) == (4, 1024, 0)


def test_a_chunk_over_several_vnodes_of_a_host_is_joined_spots() -> None:
    allocation = parse_exec_vnode(
        "(h[0]:ncpus=2+h[1]:ncpus=1)+(h[1]:ncpus=1)+(h[1]:ncpus=1)+(h[1]:ncpus=1+h[2]:ncpus=2)"
    )
    assert allocation.spots == (
        Spot("h[0]", (("ncpus", 2),), 1),
        Spot("h[1]", (("ncpus", 1),), 1, joined=True),
        Spot("h[1]", (("ncpus", 1),), 2),
        Spot("h[1]", (("ncpus", 1),), 1),
        Spot("h[2]", (("ncpus", 2),), 1, joined=True),
    )
    assert (allocation.chunks, allocation.cores) == (4, 8)


def test_string_resources_hold_nothing() -> None:
    assert parse_exec_vnode("(v1:ncpus=2:arch=linux)").spots == (Spot("v1", (("ncpus", 2),), 1),)


def test_a_bare_size_is_bytes() -> None:
    assert parse_exec_vnode("(v1:ncpus=1:mem=1048576)").total("mem") == 1024


def test_nothing_is_a_placement_too() -> None:
    assert parse_exec_vnode("").spots == ()


@pytest.mark.parametrize("text", ["(", ")(", "(v1:ncpus=1"])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(AllocationError, match="exec_vnode"):
        parse_exec_vnode(text)


def test_equal_where_they_name_the_same_spots() -> None:
    directory = Directory(["v2", "v1"])
    of_sets = Allocation(shares=(Share(0b11, (("ncpus", 1),), 2),), directory=directory)
    assert of_sets.exec_vnode() == "(v1:ncpus=1)+(v1:ncpus=1)+(v2:ncpus=1)+(v2:ncpus=1)"
    assert parse_exec_vnode(of_sets.exec_vnode()) == of_sets
    assert hash(parse_exec_vnode(of_sets.exec_vnode())) == hash(of_sets)
    assert of_sets != place_of("v1=2 v2=2")


def test_sets_of_vnodes_leave_out_those_the_directory_does_not_know() -> None:
    allocation = place_of("v1=2 v9=4")
    assert allocation.cores == 6
    directory = Directory(["v1", "v2"])
    assert allocation.shares(directory) == (Share(0b01, (("ncpus", 2),), 1),)
    assert allocation.cores_on(0b01, directory) == 2
    assert allocation.cores_on(0b10, directory) == 0
    assert allocation.vnodes == ("v1", "v9")


def test_the_cells_of_an_allocation_are_its_shares_vnode_by_vnode() -> None:
    allocation = parse_exec_vnode("(b:ncpus=2:mem=1kb)+(b:ncpus=2:mem=1kb)+(c:mem=3kb)+(a:ncpus=2:mem=1kb)")
    amounts = (("mem", 1), ("ncpus", 2))
    of_three = {Cell(0, amounts, 1, 2), Cell(1, amounts, 2, 4), Cell(2, (("mem", 3),), 1, 0)}
    assert {*allocation.cells(Directory.of(["a", "b", "c"]))} == of_three
    assert {*allocation.cells(Directory.of(["b", "c"]))} == {Cell(0, amounts, 2, 4), Cell(1, (("mem", 3),), 1, 0)}


def test_the_same_vnode_twice_counts_twice() -> None:
    directory = Directory(["v1"])
    allocation = parse_exec_vnode("(v1:ncpus=2)+(v1:ncpus=1)+(v1:ncpus=2)")
    assert allocation.cores_on(0b1, directory) == 5


def test_a_directory_is_in_order_of_names() -> None:
    directory = Directory(["b", "a", "c"])
    assert directory.names == ("a", "b", "c")
    assert directory.named(0b101) == ["a", "c"]
    assert count_vnodes(0b101) == 2


def test_the_same_names_have_one_directory_and_a_single_vnode_its_integer() -> None:
    names = [f"v{number:03}" for number in range(200)]
    directory = Directory.of(names)
    assert Directory.of(reversed(names)) is directory
    assert Directory.of(names[1:]).names == tuple(names[1:])
    (share,) = place_of("v150=2").shares(directory)
    assert share.mask is directory.bits["v150"]


def test_sizes_are_shown_in_kb() -> None:
    assert (
        Allocation((Spot("v1", (("mem", 5), ("ncpus", 1), ("ngpus", 2)), 1),)).exec_vnode()
        == "(v1:mem=5kb:ncpus=1:ngpus=2)"
    )
