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
    assert sums.counts() == {3: 2, 4: 1}


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
    assert {free: hosts for free, hosts in sums.counts().items() if hosts} == {5: 1, 0: 1, 4: 1}


def test_a_copy_changes_by_itself() -> None:
    sums = sums_of(1, 2, 3, 4)
    sums.copy().change([(0, 9)])
    assert sums.of(-1) == [3, 3, 4]


def test_a_consumable_that_no_vnode_has() -> None:
    assert Capacity.of(VNODES).by_host("licences").of(-1) == [0, 0, 0]
