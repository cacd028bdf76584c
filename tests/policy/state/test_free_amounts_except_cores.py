"""What is free beside cores: the remembered sets of vnodes stay what a count would give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy.model.vnode_bitsets import indices_of
from policy.state.free_amounts_except_cores import Consumables
from tests.policy.clusters import vnode

CHANGES = st.lists(st.tuples(st.integers(0, 7), st.integers(-12, 12), st.integers(0, 20)), max_size=12)


@given(CHANGES)
def test_the_vnodes_with_at_least_so_much_are_those_counted_one_by_one(changes: list[tuple[int, int, int]]) -> None:
    consumables = Consumables.of([vnode(name, has={"mem": 10}) for name in "abc"])
    free = [10, 10, 10]
    asked = set()
    for vnodes, by, amount in changes:
        asked.add(amount)
        assert consumables.at_least("mem", amount) == _counted(free, amount)
        consumables.shift("mem", vnodes, by)
        for index in indices_of(vnodes):
            free[index] += by
        assert consumables.free["mem"] == free
        assert all(consumables.at_least("mem", each) == _counted(free, each) for each in asked)


def _counted(free: list[int], amount: int) -> int:
    return sum(1 << index for index, each in enumerate(free) if each >= amount)


def test_what_is_in_use_elsewhere_is_not_free() -> None:
    consumables = Consumables.of([vnode("a", has={"mem": 10}, elsewhere={"mem": 12, "ncpus": 1}), vnode("b")])
    assert (consumables.on(0b01, "mem"), consumables.on(0b10, "mem")) == (-2, 0)
    assert consumables.at_least("mem", 0) == 0b10


def test_of_a_consumable_that_no_vnode_has_there_is_nothing() -> None:
    consumables = Consumables.of([vnode("a")])
    consumables.shift("ngpus", 1, 4)
    assert (consumables.at_least("ngpus", 1), consumables.on(1, "ngpus")) == (0, 0)


def test_a_copy_is_its_own() -> None:
    consumables = Consumables.of([vnode("a", has={"mem": 10})])
    twin = consumables.copy()
    assert consumables.at_least("mem", 5) == 1
    twin.shift("mem", 1, -9)
    assert (consumables.on(1, "mem"), twin.on(1, "mem")) == (10, 1)
    assert (consumables.at_least("mem", 5), twin.at_least("mem", 5)) == (1, 0)
