"""The share of starts in one order: what is left out is the least that has to be, and what only one side started."""

from __future__ import annotations

import pytest

from tests.bench_pbs.start_order import same_order


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ([], [1], 0),
        ([1, 2, 3], [1, 2, 3], 3),
        ([1, 2, 3, 4], [4, 1, 2, 3], 3),
        ([1, 2, 3, 4], [2, 1, 4, 3], 2),
        ([1, 2, 3], [3, 2, 1], 1),
        ([1, 2, 3], [1, 9, 3], 2),
    ],
)
def test_the_longest_common_order_is_found(first: list[int], second: list[int], same: int) -> None:
    kept = same_order(first, second)
    assert len(kept) == same
    assert kept == [item for item in first if item in kept] == [item for item in second if item in kept]
