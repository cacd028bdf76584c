"""An allocation falls into what is free on its vnodes and what is missing there."""

from __future__ import annotations

from collections.abc import Sequence

from policy import Vnode, parse_request
from policy.model.allocation import Share
from policy.state.free_and_missing_amounts import free_and_missing
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import place_of, vnode


def of(*vnodes: Vnode) -> Capacity:
    return Capacity.of({v.name: v for v in vnodes})


def plain(shares: Sequence[Share]) -> set[tuple[int, tuple[tuple[str, int], ...]]]:
    return {(share.mask, share.amounts) for share in shares}


def test_what_is_idle_is_inside_and_the_rest_is_missing() -> None:
    capacity = of(vnode("a", 4), vnode("b", 4))
    capacity.take(place_of("a=3").shares(capacity.directory), parse_request("3"))
    inside, missing = free_and_missing(capacity, place_of("a=2 b=2"))
    assert plain(inside) == {(0b01, (("ncpus", 1),)), (0b10, (("ncpus", 2),))}
    assert plain(missing) == {(0b01, (("ncpus", 1),))}


def test_vnodes_alike_are_one_share() -> None:
    capacity = of(*(vnode(name, 4) for name in "abcd"))
    capacity.take(place_of("c=4 d=4").shares(capacity.directory), parse_request("8"))
    inside, missing = free_and_missing(capacity, place_of("a=3 b=3 c=3 d=3"))
    assert plain(inside) == {(0b0011, (("ncpus", 3),))}
    assert plain(missing) == {(0b1100, (("ncpus", 3),))}


def test_chunks_on_one_vnode_count_together() -> None:
    capacity = of(vnode("a", 4), vnode("b", 4))
    inside, missing = free_and_missing(capacity, place_of("(a:ncpus=1)+(a:ncpus=2)+(b:ncpus=1)+(a:ncpus=2)"))
    assert plain(inside) == {(0b01, (("ncpus", 4),)), (0b10, (("ncpus", 1),))}
    assert plain(missing) == {(0b01, (("ncpus", 1),))}


def test_other_consumables_and_overcommitted_vnodes() -> None:
    capacity = of(vnode("a", 4, has={"mem": 100}, elsewhere={"ncpus": 5}), vnode("b", 4, has={"mem": 30}))
    inside, missing = free_and_missing(capacity, place_of("(a:ncpus=1:mem=60kb)+(b:ncpus=1:mem=60kb)"))
    assert plain(inside) == {(0b10, (("ncpus", 1),)), (0b01, (("mem", 60),)), (0b10, (("mem", 30),))}
    assert plain(missing) == {(0b01, (("ncpus", 1),)), (0b10, (("mem", 30),))}
