"""Sets of vnodes, taken apart and put together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy.model.vnode_bitsets import count_vnodes, each_bit, indices_of, lowest, mask_of


@given(st.sets(st.integers(0, 3000)))
def test_a_set_is_the_sum_of_its_vnodes(indices: set[int]) -> None:
    assert mask_of(indices) == sum(1 << index for index in indices)


@given(st.sets(st.integers(0, 3000)))
def test_taken_apart_lowest_first(indices: set[int]) -> None:
    assert indices_of(sum(1 << index for index in indices)) == sorted(indices)


@given(st.integers(1, 1 << 70), st.data())
def test_the_lowest_vnodes_of_a_set(mask: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, count_vnodes(mask)))
    assert lowest(mask, count) == sum(list(each_bit(mask))[:count])
