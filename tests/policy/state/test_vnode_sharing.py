"""Which job is alone on a vnode or a host: by the job's own wish, or by how the vnode shares."""

from __future__ import annotations

from policy import Vnode, parse_request
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import place_of, vnode


def of(*vnodes: Vnode) -> Capacity:
    return Capacity.of({v.name: v for v in vnodes})


def test_a_job_alone_closes_its_vnode_and_one_alone_on_its_host_the_host() -> None:
    capacity = of(vnode("a", 4, host="h"), vnode("b", 4, host="h"), vnode("c", 4))
    shares = place_of("a=1").shares(capacity.directory)
    capacity.take(shares, parse_request("1", "excl"))
    assert capacity.idle(-1) == 8
    capacity.give(shares, parse_request("1", "excl"))
    capacity.take(shares, parse_request("1", "exclhost"))
    assert capacity.idle(-1) == 4
    capacity.give(shares, parse_request("1", "exclhost"))
    assert capacity.idle(-1) == 12


def test_vnodes_that_share_by_default_or_never() -> None:
    capacity = of(
        vnode("a", 4, sharing="default_excl"), vnode("b", 4, sharing="force_excl"), vnode("c", 4, sharing="ignore_excl")
    )
    for name in "abc":
        capacity.take(place_of(f"{name}=1").shares(capacity.directory), parse_request("1", "shared"))
    assert capacity.open_to(parse_request("1")) == 0b100
    assert capacity.open_to(parse_request("1", "shared")) == 0b101
    assert capacity.open_to(parse_request("1", "excl")) == 0b100


def test_alone_means_on_a_vnode_on_which_nothing_is_held() -> None:
    capacity = of(vnode("a", 4), vnode("b", 4, has={"mem": 9}), vnode("c", 4, elsewhere={"ncpus": 1}))
    capacity.take(place_of("(b:mem=1kb)").shares(capacity.directory), parse_request("1:ncpus=0:mem=1kb"))
    assert capacity.open_to(parse_request("1", "excl")) == 0b001


def test_the_rest_of_a_host_goes_with_a_vnode_that_gives_all_of_it() -> None:
    sharing = of(vnode("a", host="h", sharing="default_exclhost"), vnode("b", host="h"), vnode("c")).sharing
    assert sharing.held_alone(0b001, parse_request("1")) == 0b011
    assert sharing.beside(0b001, parse_request("1")) == 0b010
    assert sharing.beside(0b001, parse_request("1", "shared")) == 0
    assert sharing.beside(0b100, parse_request("1", "exclhost")) == 0
