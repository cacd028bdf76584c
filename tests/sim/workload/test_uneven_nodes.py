"""The conditions of nodes that differ: drawn once, by seed and name, within what the README states."""

from __future__ import annotations

import pytest

from sim.workload.uneven_nodes import EVEN, HOTTEST, draw_condition

NODES = [f"n{number:03}" for number in range(200)]


def test_the_same_seed_and_name_give_the_same_condition_and_others_give_others() -> None:
    assert draw_condition(1, "n001") == draw_condition(1, "n001")
    assert draw_condition(1, "n001") != draw_condition(2, "n001")
    assert len({draw_condition(1, name) for name in NODES}) == len(NODES)


def test_conditions_stay_within_their_bounds_and_most_nodes_have_no_background() -> None:
    drawn = [draw_condition(7, name) for name in NODES]
    assert all(0 <= each.warmer <= 20 for each in drawn)
    for share, most in (("cores", 0.3), ("network", 0.6), ("memory", 0.4)):
        shares = [getattr(each, share) for each in drawn]
        assert 0 <= min(shares) <= max(shares) <= most
        assert 0.2 < sum(each > 0 for each in shares) / len(shares) < 0.4


def test_an_even_node_is_never_throttled_and_a_warm_one_is_under_load() -> None:
    assert EVEN.throttling(1.0) == 1.0
    warm = EVEN._replace(warmer=20.0)
    assert (warm.temperature(0.0), warm.temperature(1.0), warm.temperature(3.0)) == (55.0, 90.0, 90.0)
    assert warm.throttling(0.5) == 1.0
    assert warm.throttling(1.0) == pytest.approx(1.25)
    assert warm.temperature(1.0) < HOTTEST
