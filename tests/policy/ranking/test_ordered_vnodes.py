"""A ranked list keeps its order while numbers change, and walks only through the vnodes it is asked for."""

from __future__ import annotations

import pytest

from policy.ranking.ordered_vnodes import RankedList

BITS = [1 << index for index in range(600)]


def order(ranked: RankedList, vnodes: int = -1) -> list[int]:
    return [bit.bit_length() - 1 for bit in ranked.within(vnodes)]


def test_highest_first_and_equal_ones_by_index() -> None:
    assert order(RankedList({3: 1.0, 0: 2.0, 2: 1.0, 1: 5.0}, BITS)) == [1, 0, 2, 3]


def test_only_the_vnodes_of_the_set() -> None:
    ranked = RankedList({index: float(index) for index in range(600)}, BITS)
    assert order(ranked, BITS[7] | BITS[599] | BITS[598]) == [599, 598, 7]


@pytest.mark.parametrize("walked_before", [False, True])
def test_a_changed_number_moves_the_vnode(walked_before: bool) -> None:
    ranked = RankedList({0: 1.0, 1: 2.0, 2: 3.0}, BITS)
    if walked_before:
        assert order(ranked) == [2, 1, 0]
    ranked.put(0, 2.5)
    ranked.drop(2)
    ranked.drop(2)
    assert order(ranked, BITS[2]) == []
    assert order(ranked) == [0, 1]
    assert (ranked.number(0), ranked.number(2)) == (2.5, None)


def test_a_list_may_become_empty_and_fill_again() -> None:
    ranked = RankedList({5: 1.0}, BITS)
    assert order(ranked) == [5]
    ranked.drop(5)
    assert order(ranked) == []
    ranked.put(6, 1.0)
    assert order(ranked) == [6]


def test_many_vnodes_put_at_one_place_stay_in_order() -> None:
    ranked = RankedList({}, BITS)
    assert order(ranked) == []
    for index in reversed(range(600)):
        ranked.put(index, float(index % 7))
        if index % 50 == 0:
            assert order(ranked, BITS[index]) == [index]
    assert order(ranked) == sorted(range(600), key=lambda index: (-(index % 7), index))
