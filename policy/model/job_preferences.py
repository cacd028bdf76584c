"""What a job may ask for beyond select and place: how its vnodes are ranked, and how its ranks are laid out.

Ranking and layout are values read once from the job; :mod:`policy.ranking.vnode_ranking_and_requirements`
(docs/policies.md, P4) and :mod:`policy.striping.spread_ranks` (docs/policies.md, P5) apply them.
"""

from __future__ import annotations

from typing import NamedTuple

RANK_MODES = (
    "composite", "compute", "memory", "network", "stability",
    "compute+memory", "compute+network", "memory+network",
)  # fmt: skip
DETAILS = ("vnode", "socket", "core")
LAYOUTS = ("pack", "stripe")
AUTO = "auto"
"""The layout of a job that leaves the choice to the policy, whatever its queue's layout is."""


class Requirements(NamedTuple):
    """What each vnode of the job must have left, at least: memory, compute and network bandwidth (these two in the
    units of the readings); and its highest allowed temperature. None: no requirement."""

    memory_kib: float | None = None
    compute: float | None = None
    network: float | None = None
    temperature: float | None = None


class RankPreference(NamedTuple):
    """The mode by which the job's vnodes are ranked (one of :data:`RANK_MODES`), what they must have left, and the
    detail of the choice (one of :data:`DETAILS`): with ``socket`` and ``core`` these are chosen at the start too."""

    mode: str
    needs: Requirements = Requirements()
    detail: str = "vnode"


class Layout(NamedTuple):
    """``kind`` is one of :data:`LAYOUTS`, or :data:`AUTO`; ``width`` is the number of nodes to stripe over, with
    :data:`AUTO` the most, None for the policy's choice; ``nodes_per_stripe`` is how many nodes one stripe (an equal
    part of the ranks) spans."""

    kind: str
    width: int | None = None
    nodes_per_stripe: int = 1
