"""Levels of idle cores over sets of vnodes: taking and giving back are inverses; counts agree with plain ones."""

from __future__ import annotations

from itertools import islice

from policy import Vnode, parse_request
from policy.state.vnode_totals_hosts_and_matching import MOST_CORELESS
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import place_of, vnode


def of(*vnodes: Vnode) -> Capacity:
    return Capacity.of({v.name: v for v in vnodes})


def test_levels_are_sets_of_vnodes_by_idle_cores() -> None:
    capacity = of(vnode("a", 4), vnode("b", 4, elsewhere={"ncpus": 1}), vnode("c", 2))
    assert capacity.levels == {4: 0b001, 3: 0b010, 2: 0b100}
    assert capacity.idle(-1) == 9
    assert capacity.idle(0b110) == 5
    assert capacity.inventory.total(0b011) == 8


def test_unusable_and_overcommitted_vnodes_have_nothing_idle() -> None:
    capacity = of(vnode("a", 4, usable=False), vnode("b", 2, elsewhere={"ncpus": 3}), vnode("c", 1))
    assert capacity.idle(-1) == 1
    assert capacity.free_on(0b010, "ncpus") == -1


def test_giving_back_undoes_taking() -> None:
    capacity = of(vnode("a", 4, has={"mem": 100}), vnode("b", 4))
    shares = place_of("(a:ncpus=2:mem=60kb)+(b:ncpus=4)").shares(capacity.directory)
    request = parse_request("1:ncpus=6")
    assert capacity.others.at_least("mem", 50) == 0b01
    capacity.take(shares, request)
    assert capacity.levels == {2: 0b01, 0: 0b10}
    assert capacity.others.at_least("mem", 50) == 0
    assert capacity.others.at_least("mem", 40) == 0b01
    capacity.give(shares, request)
    assert capacity.levels == {4: 0b11}
    assert capacity.others.at_least("mem", 50) == 0b01


def test_a_copy_is_its_own() -> None:
    capacity = of(vnode("a", 4, has={"mem": 10}))
    twin = capacity.copy()
    twin.take(place_of("(a:ncpus=3:mem=9kb)").shares(twin.directory), parse_request("1"))
    assert (capacity.idle(-1), capacity.free_on(1, "mem")) == (4, 10)
    assert (twin.idle(-1), twin.free_on(1, "mem")) == (1, 1)


def test_a_vnode_of_another_kind_is_not_replaced_in_place() -> None:
    old = vnode("a", 4)
    capacity = of(old, vnode("b", 4))
    assert capacity.replace(old, vnode("a", 4, usable=False, elsewhere={"ncpus": 1}))
    assert (capacity.idle(-1), capacity.free_on(0b01, "ncpus")) == (4, 3)
    assert not capacity.replace(old, vnode("a", 5))
    assert not capacity.replace(old, vnode("a", 4, sharing="force_excl"))


def test_pieces_that_ask_for_nothing_are_not_counted_one_by_one() -> None:
    """Else a job of a thousand million such pieces would keep a pass busy for minutes."""
    chunk = parse_request("1000000000:ncpus=0").chunks[0]
    assert of(vnode("a")).pieces(chunk, 0b1, chunk.pieces) == MOST_CORELESS
    assert of(vnode("a")).pieces(chunk, 0, chunk.pieces) == 0


def test_pieces_without_cores_are_counted_only_so_far() -> None:
    """Else a thousand million pieces of a KiB each would keep a pass busy for ever."""
    chunk = parse_request("1000000000:ncpus=0:mem=1kb").chunks[0]
    capacity = of(vnode("a", has={"mem": 2**30}), vnode("b", has={"mem": 3}))
    assert list(capacity.held_at_least(chunk, 0b11)) == [0b11] * 3 + [0b01] * (MOST_CORELESS - 3)
    assert capacity.pieces(chunk, 0b11, chunk.pieces) == MOST_CORELESS + 3


def test_a_vnode_of_more_cores_than_any_has_is_counted_only_as_far_as_asked() -> None:
    """Else one wrong number of cores would keep a pass busy for minutes."""
    capacity = of(vnode("a", 2**40), vnode("b", 5))
    chunk = parse_request("4:ncpus=2").chunks[0]
    assert list(islice(capacity.held_at_least(chunk, 0b11), 4)) == [0b11, 0b11, 0b01, 0b01]
    assert capacity.pieces(chunk, 0b11, 4) == 4
