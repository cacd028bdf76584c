"""The sums of hosts: made once, kept in step, and for any part of the vnodes."""

from __future__ import annotations

from policy.state.free_per_host import HostSums
from policy.state.vnode_totals_hosts_and_matching import Inventory
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import vnode

VNODES = {
    name: vnode(name, cores, host=host)
    for name, cores, host in (("a0", 4, "a"), ("a1", 4, "a"), ("b0", 8, "b"), ("c0", 2, "c"))
}


def sums_of(*free: int) -> HostSums:
    return HostSums.summed(Inventory(VNODES), free)


def test_a_host_has_what_its_vnodes_have_together() -> None:
    sums = sums_of(1, 2, 3, 4)
    assert sums.of(-1) == [3, 3, 4]
    assert sums.hosts_with() == {3: {0, 1}, 4: {2}}


def test_of_some_vnodes_only() -> None:
    assert sums_of(1, 2, 3, 4).of(0b1010) == [2, 0, 4]


def test_what_is_overcommitted_takes_nothing_from_the_others() -> None:
    assert sums_of(-3, 2, 3, 4).of(-1) == [2, 3, 4]


def test_a_change_shows_in_all_sums() -> None:
    sums = sums_of(1, 2, 3, 4)
    part = list(sums.of(0b0101))
    sums.change([(0, 3), (2, -1)])
    assert part == [1, 3, 0]
    assert sums.of(0b0101) == [3, 0, 0]
    assert sums.of(-1) == [5, 0, 4]
    assert {free: hosts for free, hosts in sums.hosts_with().items() if hosts} == {5: {0}, 0: {1}, 4: {2}}


def test_a_copy_changes_by_itself() -> None:
    sums = sums_of(1, 2, 3, 4)
    before = {free: set(hosts) for free, hosts in sums.hosts_with().items()}
    sums.copy().change([(0, 9)])
    assert sums.of(-1) == [3, 3, 4]
    assert sums.hosts_with() == before


def test_the_hosts_with_enough_are_in_order_whether_few_have_it_or_many() -> None:
    vnodes = {f"h{n:02}": vnode(f"h{n:02}", 8, host=f"h{n:02}") for n in range(20)}
    sums = HostSums.summed(Inventory(vnodes), [7 if n == 3 else 9 if n == 1 else n % 4 for n in range(20)])
    assert sums.hosts_with_at_least(-1, 4) == [1, 3]
    assert sums.hosts_with_at_least(-1, 3) == [1, 3, 7, 11, 15, 19]
    assert sums.hosts_with_at_least(0b1000, 4) == [3]


def test_a_consumable_that_no_vnode_has() -> None:
    assert Capacity.of(VNODES).by_host("licences").of(-1) == [0, 0, 0]
