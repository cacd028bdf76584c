"""Requests placed on the best ranked vnodes first, in every arrangement."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from policy import Vnode, parse_request
from policy.ranking.ranked_fit import fit_ranked
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import place_of, show_cores, vnode


def by(capacity: Capacity, names: str) -> Callable[[int], Iterator[int]]:
    """The order of these names; others are left out."""
    bits = [capacity.directory.bits[name] for name in names.split()]
    return lambda vnodes: iter([bit for bit in bits if bit & vnodes])


def where(select: str, order: str, *vnodes: Vnode, place: str = "", allowed: int = -1) -> str | None:
    capacity = Capacity.of({v.name: v for v in vnodes})
    before = (dict(capacity.levels), capacity.free_on(1, "mem"), capacity.exclusive)
    allocation = fit_ranked(capacity, parse_request(select, place), allowed, by(capacity, order), -1)
    assert (capacity.levels, capacity.free_on(1, "mem"), capacity.exclusive) == before
    return None if allocation is None else show_cores(allocation)


A4, B2, C8 = vnode("a", 4), vnode("b", 2), vnode("c", 8)


@pytest.mark.parametrize(
    ("select", "place", "expected"),
    [
        ("1", "", "b=1"),
        ("3", "", "b=2 a=1"),
        ("14", "", "b=2 a=4 c=8"),
        ("15", "", None),
        ("1:ncpus=3", "", "a=3"),
        ("2:ncpus=4", "", "a=4 c=4"),
        ("3:ncpus=2", "scatter", "b=2 a=2 c=2"),
        ("2:ncpus=1", "vscatter", "b=1 a=1"),
        ("4:ncpus=1", "vscatter", None),
        ("3", "pack", "a=3"),
        ("2:ncpus=1+1:ncpus=3", "pack", "c=5"),
        ("9", "pack", None),
        ("1:ncpus=2+1:ncpus=1", "", "b=2 a=1"),
        ("1:ncpus=2", "excl", "b=2"),
    ],
)
def test_the_best_ranked_first(select: str, place: str, expected: str | None) -> None:
    assert where(select, "b a c", A4, B2, C8, place=place) == expected


def test_the_ranks_order_is_the_order_of_the_placement() -> None:
    assert where("14", "c b a", A4, B2, C8) == "c=8 b=2 a=4"


def test_only_allowed_vnodes() -> None:
    assert where("3", "b a c", A4, B2, C8, allowed=0b101) == "a=3"


def test_other_consumables_bind_too() -> None:
    small, large = vnode("a", 8, has={"mem": 1 << 20}), vnode("b", 8, has={"mem": 4 << 20})
    assert where("3:ncpus=1:mem=1gb", "a b", small, large) == "a=1 b=2"
    assert where("6:ncpus=1:mem=1gb", "a b", small, large) is None
    assert where("2:ncpus=1:mem=1gb", "a b", small, large, place="pack") == "b=2"


def test_a_chunk_without_cores() -> None:
    small, large = vnode("a", 0, has={"ngpus": 1}), vnode("b", 0, has={"ngpus": 4})
    capacity = Capacity.of({v.name: v for v in (small, large)})
    allocation = fit_ranked(capacity, parse_request("2:ncpus=0:ngpus=1"), -1, by(capacity, "a b"))
    assert allocation is not None
    assert allocation.vnodes == ("a", "b")


def test_wishes_about_the_vnode_are_kept() -> None:
    fast = vnode("c", 4, attributes={"kind": "fast"})
    assert where("2:ncpus=1:kind=fast", "a b c", A4, B2, fast) == "c=2"
    assert where("2:ncpus=1:kind=fast", "a b c", A4, B2, fast, place="pack") == "c=2"


HOSTS = (vnode("a", 2, host="h1"), vnode("b", 2, host="h2"), vnode("c", 4, host="h1"), vnode("d", 4, host="h2"))


def test_packed_on_the_host_with_the_best_ranked_vnode() -> None:
    assert where("5:ncpus=1", "b a c d", *HOSTS, place="pack") == "b=2 d=3"
    assert where("5:ncpus=1", "c d a b", *HOSTS, place="pack") == "c=4 a=1"
    assert where("7:ncpus=1", "c d a b", *HOSTS, place="pack") is None


def test_scattered_over_hosts_not_only_over_vnodes() -> None:
    assert where("2:ncpus=1", "a c b d", *HOSTS, place="scatter") == "a=1 b=1"
    assert where("3:ncpus=1", "a c b d", *HOSTS, place="scatter") is None


def test_chunks_of_several_kinds_are_scattered_over_hosts_too() -> None:
    assert where("1:ncpus=1+1:ncpus=2", "a c b d", *HOSTS, place="scatter") == "a=1 b=2"


def test_only_vnodes_that_are_open_to_the_job() -> None:
    vnodes = {v.name: v for v in (vnode("a", 4, usable=False), vnode("b", 4), vnode("c", 4))}
    capacity = Capacity.of(vnodes)
    capacity.take_amounts(place_of("b=1").shares(capacity.directory))
    alone = fit_ranked(capacity, parse_request("2", "excl"), -1, by(capacity, "a b c"))
    shared = fit_ranked(capacity, parse_request("2"), -1, by(capacity, "a b c"))
    assert (alone and alone.vnodes, shared and shared.vnodes) == (("c",), ("b",))


def test_the_group_with_the_best_ranked_vnode_that_holds_it() -> None:
    def on(name: str, switch: str) -> Vnode:
        return vnode(name, 2, attributes={"switch": switch})

    vnodes = (on("a", "s1"), on("b", "s2"), on("c", "s2"), on("d", "s1,s3"))
    assert where("3:ncpus=1", "b a d c", *vnodes, place="group=switch") == "b=2 c=1"
    assert where("3:ncpus=1", "d b c a", *vnodes, place="group=switch") == "d=2 a=1"
    assert where("3:ncpus=1", "d b c a", *vnodes, place="group=switch", allowed=0b0011) is None, "a switch will"
    assert where("5:ncpus=1", "d b c a", *vnodes, place="group=switch") == "d=2 b=2 c=1", "no switch ever could"


def test_where_the_order_leads_nowhere_it_is_placed_as_if_unranked() -> None:
    # In order, the single core would take a place on a, and leave no vnode for the four.
    assert where("1:ncpus=1+1:ncpus=4", "a b", A4, B2) == "b=1 a=4"
    host = (vnode("a", 4, host="h"), vnode("b", 2, host="h"))
    assert where("1:ncpus=1+1:ncpus=4", "a b", *host, place="pack") == "b=1 a=4"
