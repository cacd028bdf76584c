"""The binomial bound: which of the past waits it is, for like jobs, and after the times have changed."""

from __future__ import annotations

from math import comb

import pytest

from sim.forecast.wait_bound_from_past_waits import FEWEST, MISSES, SHARE, WaitHistory, kind_of, rank_of_bound

KIND = kind_of(4, 3600)


def history(waits_s: list[float]) -> WaitHistory:
    waits = WaitHistory()
    for wait_s in waits_s:
        waits.add(KIND, wait_s)
    return waits


@pytest.mark.parametrize("count", [29, 30, 59, 100, 290])
def test_the_rank_is_the_smallest_with_the_confidence(count: int) -> None:
    def below(rank: int) -> float:
        return sum(comb(count, k) * SHARE**k * (1 - SHARE) ** (count - k) for k in range(rank))

    rank = rank_of_bound(count)
    assert rank is not None
    assert below(rank) >= 0.95 > below(rank - 1)


def test_too_few_waits_bound_nothing() -> None:
    assert rank_of_bound(FEWEST - 1) is None
    assert history([1.0] * (FEWEST - 1)).bound_s(KIND, 0) is None


def test_many_waits_take_the_normal_approximation() -> None:
    assert rank_of_bound(1000) == 916


def test_the_bound_of_29_waits_is_the_largest() -> None:
    assert history([float(wait_s) for wait_s in range(29)]).bound_s(KIND, 0) == 28


def test_a_job_that_has_waited_is_held_against_longer_waits_only() -> None:
    waits = history([10.0] * 500 + [float(100 + wait_s) for wait_s in range(29)])
    assert waits.bound_s(KIND, 50) == 128


def test_another_kind_is_bounded_by_all_jobs() -> None:
    waits = history([float(wait_s) for wait_s in range(29)])
    assert waits.bound_s(kind_of(1000, 60), 0) == 28


def test_misses_in_a_row_forget_the_times_before() -> None:
    before = history([10.0] * 500)
    assert before.bound_s(KIND, 0) == 10
    for _ in range(MISSES):
        before.add(KIND, 1000.0)
    assert before.bound_s(KIND, 0) == 1000
