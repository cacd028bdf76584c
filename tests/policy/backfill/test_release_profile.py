"""Expected ends replace those of the estimates, few or many of them, and stay in order."""

from __future__ import annotations

import random

import pytest

from policy.backfill.release_profile import expected_ends
from tests.policy.clusters import cluster, run, vnode


@pytest.mark.parametrize("expected_count", [0, 3, 900])
def test_expected_ends_are_in_order(expected_count: int) -> None:
    draw = random.Random(1)
    runs = [run(str(n), "a", "v1=1", 0, draw.randrange(100, 200)) for n in range(1000)]
    index = cluster([vnode("v1", 1000)], [], runs).cluster()
    expected = {each.id: float(draw.randrange(100)) for each in draw.sample(runs, expected_count)}
    ends = expected_ends(index, expected)
    assert list(ends) == sorted((expected.get(each.id, each.end_s), each.id) for each in runs)
    assert index.ends == sorted((each.end_s, each.id) for each in runs)
