"""Idle cores of each vnode: changes of many vnodes at once wait for a query, and cancel what undoes them."""

from __future__ import annotations

from policy.model.allocation import Share
from policy.state.idle_cores_of_each_vnode import IdleOfEach
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import vnode


def test_a_change_that_undoes_the_last_one_cancels_it() -> None:
    idle = IdleOfEach([4, 4, 4])
    assert idle.add_to_many(0b101, -2)
    assert idle.add_to_many(0b101, 2)
    assert (idle.waiting, list(idle.up_to_date())) == ([], [4, 4, 4])
    assert idle.add_to_many(0b101, -2)
    assert list(idle.up_to_date()) == [2, 4, 2]
    assert idle.waiting == []


def test_a_copy_has_its_own_changes() -> None:
    idle = IdleOfEach([4, 4])
    idle.add_to_many(0b11, -1)
    twin = idle.copy()
    twin.add_to_many(0b11, -1)
    assert (list(idle.up_to_date()), list(twin.up_to_date())) == ([3, 3], [2, 2])


def test_too_many_changes_are_not_noted() -> None:
    idle = IdleOfEach([0, 0])
    assert not all(idle.add_to_many(0b11, 1) for _ in range(1000))


def test_idle_cores_by_index_are_those_of_the_levels() -> None:
    """Whether taken from one vnode or from many, given back at once or later, and in a copy."""
    capacity = Capacity.of({f"v{n}": vnode(f"v{n}", 9, has={"mem": 50}) for n in range(4)})
    capacity.idle_by_index()
    wide, narrow = Share(0b1011, (("ncpus", 2),), 1), Share(0b0010, (("ncpus", 3),), 1)
    capacity.take_amounts([wide])
    assert list(capacity.idle_by_index()) == capacity.idle_of_each(-1) == [7, 7, 9, 7]
    capacity.take_amounts([narrow])
    capacity.take_amounts([wide], -1)
    twin = capacity.copy()
    twin.take_amounts([wide, wide])
    twin.take_amounts([wide], -1)
    assert list(twin.idle_by_index()) == [7, 4, 9, 7]
    assert [twin.free_on(1 << index, "ncpus") for index in range(4)] == [7, 4, 9, 7]
    assert list(capacity.idle_by_index()) == [9, 6, 9, 9]
    for _ in range(200):
        capacity.take_amounts([wide])
    assert list(capacity.idle_by_index()) == [-391, -394, 9, -391]
    assert (capacity.free_at(0, "mem"), capacity.free_at(0, "licences")) == (50, 0)
