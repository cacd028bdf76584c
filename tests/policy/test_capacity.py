"""Levels of idle cores over sets of vnodes: taking and giving back are inverses; counts agree with plain ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy import Vnode, parse_request
from policy.capacity import Capacity, each_bit, lowest
from policy.placement import count_vnodes
from tests.policy.clusters import place_of, vnode


def of(*vnodes: Vnode) -> Capacity:
    return Capacity({v.name: v for v in vnodes})


@given(st.integers(1, 1 << 70), st.data())
def test_the_lowest_vnodes_of_a_set(mask: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, count_vnodes(mask)))
    assert lowest(mask, count) == sum(list(each_bit(mask))[:count])


def test_levels_are_sets_of_vnodes_by_idle_cores() -> None:
    capacity = of(vnode("a", 4), vnode("b", 4, elsewhere={"ncpus": 1}), vnode("c", 2))
    assert capacity.levels == {4: 0b001, 3: 0b010, 2: 0b100}
    assert capacity.idle(-1) == 9
    assert capacity.idle(0b110) == 5
    assert capacity.total(0b011) == 8


def test_unusable_and_overcommitted_vnodes_have_nothing_idle() -> None:
    capacity = of(vnode("a", 4, usable=False), vnode("b", 2, elsewhere={"ncpus": 3}), vnode("c", 1))
    assert capacity.idle(-1) == 1
    assert capacity.free_on(0b010, "ncpus") == -1


def test_giving_back_undoes_taking() -> None:
    capacity = of(vnode("a", 4, has={"mem": 100}), vnode("b", 4))
    shares = place_of("(a:ncpus=2:mem=60kb)+(b:ncpus=4)").shares(capacity.directory)
    request = parse_request("1:ncpus=6")
    assert capacity.at_least("mem", 50) == 0b01
    capacity.take(shares, request)
    assert capacity.levels == {2: 0b01, 0: 0b10}
    assert capacity.at_least("mem", 50) == 0
    assert capacity.at_least("mem", 40) == 0b01
    capacity.give(shares, request)
    assert capacity.levels == {4: 0b11}
    assert capacity.at_least("mem", 50) == 0b01


def test_a_copy_is_its_own() -> None:
    capacity = of(vnode("a", 4, has={"mem": 10}))
    twin = capacity.copy()
    twin.take(place_of("(a:ncpus=3:mem=9kb)").shares(twin.directory), parse_request("1"))
    assert (capacity.idle(-1), capacity.free_on(1, "mem")) == (4, 10)
    assert (twin.idle(-1), twin.free_on(1, "mem")) == (1, 1)


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


def test_wishes_match_attributes_names_and_hosts() -> None:
    capacity = of(
        vnode("a", attributes={"arch": "linux", "fast": "True", "switch": "s1,s2"}), vnode("b", host="big.site.org")
    )

    def matching(wish: str) -> int:
        return capacity.matching(parse_request(f"1:{wish}").chunks[0])

    assert matching("arch=linux") == 0b01
    assert matching("fast=true") == matching("fast=t") == matching("fast=1") == 0b01
    assert matching("fast=false") == 0
    assert matching("switch=s2") == 0b01
    assert matching("vnode=b") == 0b10
    assert matching("host=big") == matching("host=big.site.org") == 0b10
    assert matching("host=a") == 0b01


def test_how_many_chunks_there_could_ever_be() -> None:
    capacity = of(vnode("a", 4, has={"mem": 10}), vnode("b", 8, elsewhere={"ncpus": 8}), vnode("c", 3))

    def ever(select: str, vnodes: int = -1) -> int:
        return capacity.ever_holds(parse_request(select).chunks[0], vnodes)

    assert ever("1") == 15
    assert ever("1:ncpus=3") == 1 + 2 + 1
    assert ever("1:ncpus=1:mem=4kb") == 2
    assert ever("1:ncpus=3", 0b010) == 2
    assert ever("1:ncpus=9") == 0


def test_a_placement_falls_into_what_is_free_and_what_is_missing() -> None:
    capacity = of(vnode("a", 4), vnode("b", 4))
    capacity.take(place_of("a=3").shares(capacity.directory), parse_request("3"))
    inside, missing = capacity.part_within(place_of("a=2 b=2"))
    assert {(share.mask, share.amounts) for share in inside} == {(0b01, (("ncpus", 1),)), (0b10, (("ncpus", 2),))}
    assert [(share.mask, share.amounts) for share in missing] == [(0b01, (("ncpus", 1),))]


def test_groups_by_host_or_attribute_value() -> None:
    capacity = of(vnode("a", attributes={"rack": "r2"}), vnode("b", attributes={"rack": "r1,r2"}), vnode("c"))
    assert capacity.grouped_by("rack") == [0b010, 0b011]
    assert capacity.grouped_by("host") == [0b001, 0b010, 0b100]


def test_a_vnode_of_another_kind_is_not_replaced_in_place() -> None:
    old = vnode("a", 4)
    capacity = of(old, vnode("b", 4))
    assert capacity.replace(old, vnode("a", 4, usable=False, elsewhere={"ncpus": 1}))
    assert (capacity.idle(-1), capacity.free_on(0b01, "ncpus")) == (4, 3)
    assert not capacity.replace(old, vnode("a", 5))
    assert not capacity.replace(old, vnode("a", 4, sharing="force_excl"))
