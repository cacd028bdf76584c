"""A cluster's nodes as no two are alike: how warm each stands, and what others use of it beside the jobs.

Drawn from a seed, and the same for the whole replay. README.md has the assumptions; nothing is fitted to a machine.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

MEMORY_KIB_PER_CORE = 4 * 1024 * 1024
LINK_MBIT = 100_000
HOTTEST = 95.0
"""The highest temperature that a node tolerates, in degrees Celsius."""

_COOLEST, _BY_LOAD = 35.0, 35.0
_MOST_WARMER = 20.0
_THROTTLED_FROM, _TWICE_AS_SLOW_AFTER = 80.0, 40.0
_CHANCE = 0.3
_MOST_CORES, _MOST_NETWORK, _MOST_MEMORY = 0.3, 0.6, 0.4


class Condition(NamedTuple):
    """How many degrees a node is warmer than the coolest place, and the shares of its cores, its link and its memory
    that others use."""

    warmer: float = 0.0
    cores: float = 0.0
    network: float = 0.0
    memory: float = 0.0

    def temperature(self, load: float) -> float:
        """Degrees Celsius at a load (busy cores over all, background included, at most 1)."""
        return _COOLEST + self.warmer + _BY_LOAD * min(1.0, load)

    def throttling(self, load: float) -> float:
        """How many times slower the processors run at this load: above a temperature they lower their clock."""
        return 1 + max(0.0, self.temperature(load) - _THROTTLED_FROM) / _TWICE_AS_SLOW_AFTER


EVEN = Condition()
"""A node in the coolest place that nobody else uses."""


def draw_condition(seed: int, node: str) -> Condition:
    """The condition of a node: the same for the same seed and name, whatever other nodes there are."""
    random = Random(f"{seed} {node}")  # noqa: S311 - no secret depends on it

    def background(most: float) -> float:
        share = random.uniform(0, most)
        return share if random.random() < _CHANCE else 0.0

    return Condition(
        random.uniform(0, _MOST_WARMER), background(_MOST_CORES), background(_MOST_NETWORK), background(_MOST_MEMORY)
    )
