"""The jobs to come are those of the days before, each at its time of day."""

from __future__ import annotations

from itertools import islice, takewhile

from policy.forecast.arrivals_resampled_from_past_days import DAY_S, UsualArrivals
from policy.forecast.random_numbers_from_seed import DrawnNumbers
from tests.policy.clusters import job

NUMBERS = 1


def test_one_known_day_comes_again_and_again() -> None:
    past = UsualArrivals([job("1", submit_s=100), job("2", submit_s=5000)], since_s=0)
    coming = list(islice(past.from_now(DAY_S, DrawnNumbers(NUMBERS)), 4))
    assert [each.submit_s for each in coming] == [DAY_S + 100, DAY_S + 5000, 2 * DAY_S + 100, 2 * DAY_S + 5000]
    assert len({each.id for each in coming}) == 4
    assert {each.user for each in coming} == {"alice"}


def test_days_are_drawn_from_all_that_are_known() -> None:
    past = UsualArrivals([job("1", submit_s=10), job("2", submit_s=DAY_S + 20)], since_s=0)
    coming = takewhile(lambda each: each.submit_s < 22 * DAY_S, past.from_now(2 * DAY_S, DrawnNumbers(NUMBERS)))
    assert {each.submit_s % DAY_S for each in coming} == {10, 20}


def test_nothing_is_drawn_before_a_day_is_known_nor_from_days_without_jobs() -> None:
    past = UsualArrivals([job("1", submit_s=10)], since_s=0)
    assert not list(past.from_now(DAY_S - 1, DrawnNumbers(NUMBERS)))
    assert not list(past.from_now(100 * DAY_S, DrawnNumbers(NUMBERS)))
    assert not list(UsualArrivals([], since_s=0).from_now(DAY_S, DrawnNumbers(NUMBERS)))
