"""The drawn numbers follow from seed and draw, and are spread as they say."""

from __future__ import annotations

import pytest

from policy.forecast.random_numbers_from_seed import DrawnNumbers


def many(numbers: DrawnNumbers, count: int = 4000) -> list[float]:
    return [numbers.next() for _ in range(count)]


def test_the_same_seed_and_draw_give_the_same_numbers() -> None:
    assert many(DrawnNumbers(7, 3), 10) == many(DrawnNumbers(7, 3), 10)


@pytest.mark.parametrize(("seed", "draw"), [(8, 3), (7, 4), (7, -1), (-7, 3)])
def test_another_seed_or_draw_gives_others(seed: int, draw: int) -> None:
    assert many(DrawnNumbers(7, 3), 10) != many(DrawnNumbers(seed, draw), 10)


def test_numbers_are_spread_evenly_from_0_until_before_1() -> None:
    drawn = many(DrawnNumbers(1))
    assert all(0 <= number < 1 for number in drawn)
    assert all(900 < sum(low <= number * 4 < low + 1 for number in drawn) < 1100 for low in range(4))


def test_below_gives_every_whole_number_of_its_range() -> None:
    numbers = DrawnNumbers(1)
    assert {numbers.below(3) for _ in range(100)} == {0, 1, 2}


def test_strata_have_one_number_in_each_part_in_a_drawn_order() -> None:
    drawn = DrawnNumbers(1).strata(10)
    assert sorted(int(number * 10) for number in drawn) == list(range(10))
    assert drawn != sorted(drawn)
