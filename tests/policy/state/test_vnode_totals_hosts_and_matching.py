"""What the vnodes are: what a chunk may want of them, how many they could ever hold, their hosts and groups."""

from __future__ import annotations

from policy import Vnode, parse_request
from policy.state.vnode_totals_hosts_and_matching import Inventory
from tests.policy.clusters import vnode


def of(*vnodes: Vnode) -> Inventory:
    return Inventory({v.name: v for v in vnodes})


def test_cores_and_other_consumables_in_all() -> None:
    inventory = of(vnode("a", 4, has={"mem": 10}), vnode("b", 8, elsewhere={"ncpus": 8}), vnode("c", 4))
    assert inventory.totals == {4: 0b101, 8: 0b010}
    assert (inventory.total(-1), inventory.total(0b011)) == (16, 12)
    assert [sum(inventory.host_sums(vnodes, "mem")) for vnodes in (-1, 0b110)] == [10, 0]
    assert inventory.available_on(0b001, "mem") == 10


def test_hosts_of_one_and_of_several_vnodes() -> None:
    single, several = of(vnode("a"), vnode("b")), of(vnode("a", host="h"), vnode("b"), vnode("c", host="h"))
    assert (single.one_vnode_per_host, several.one_vnode_per_host) == (True, False)
    assert list(several.hosts()) == [0b101, 0b010]
    assert (single.hosts_of(0b01), several.hosts_of(0b001)) == (0b01, 0b101)


def test_wishes_match_attributes_names_and_hosts() -> None:
    inventory = of(
        vnode("a", attributes={"arch": "linux", "fast": "True", "switch": "s1,s2"}), vnode("b", host="big.site.org")
    )

    def matching(wish: str) -> int:
        return inventory.matching(parse_request(f"1:{wish}").chunks[0])

    assert matching("arch=linux") == 0b01
    assert matching("fast=true") == matching("fast=t") == matching("fast=1") == 0b01
    for false in ("False", "false", "FALSE", "f", "F", "n", "N", "0"):
        assert matching(f"fast={false}") == 0b10, "a boolean that is not set is False"
    assert matching("other=False") == 0b11, "also where no vnode has it set"
    assert matching("other=f") == matching("other=0") == matching("color=f") == 0, "which may be a text"
    assert matching("switch=s2") == 0b01
    assert matching("vnode=b") == 0b10
    assert matching("host=big") == matching("host=big.site.org") == 0b10
    assert matching("host=a") == matching("host=A") == 0b01
    assert matching("host=big.other.org") == 0, "another domain's"
    assert matching("vnode=B") == 0


def test_of_a_measure_a_vnode_has_to_have_so_much_or_more() -> None:
    inventory = of(vnode("a", measures={"speed": 2.5}), vnode("b", measures={"speed": 3.0, "disk": float(1 << 30)}))

    def matching(wish: str) -> int:
        return inventory.matching(parse_request(f"1:{wish}").chunks[0])

    assert [matching(f"speed={speed}") for speed in ("2", "2.5", "3", "3.1", "high")] == [0b11, 0b11, 0b10, 0, 0]
    assert [matching(f"disk={size}") for size in ("1gb", "1025mb", "128mw", "1000")] == [0b10, 0, 0b10, 0b10]


def test_how_many_chunks_there_could_ever_be() -> None:
    inventory = of(vnode("a", 4, has={"mem": 10}), vnode("b", 8, elsewhere={"ncpus": 8}), vnode("c", 3))

    def ever(select: str, vnodes: int = -1) -> int:
        return inventory.ever_holds(parse_request(select).chunks[0], vnodes)

    assert ever("1") == 15
    assert ever("1:ncpus=3") == 1 + 2 + 1
    assert ever("1:ncpus=1:mem=4kb") == 2
    assert ever("1:ncpus=3", 0b010) == 2
    assert ever("1:ncpus=9") == 0


def test_groups_by_host_or_attribute_value() -> None:
    inventory = of(vnode("a", attributes={"rack": "r2"}), vnode("b", attributes={"rack": "r1,r2"}), vnode("c"))
    assert inventory.grouped_by("rack") == (0b011, 0b010)
    assert inventory.grouped_by("rack", has_rest=True) == (0b011, 0b010, 0b100)
    assert inventory.grouped_by("host") == (0b001, 0b010, 0b100)
    assert inventory.grouped_by("nothing") == ()
