"""What a job may wish for beyond select and place: how its vnodes are ranked, its ranks laid out, its work saved.

The first two are values read once from the job; what they mean is decided in :mod:`policy.ranking.ranking`
(docs/policies.md, P4) and :mod:`policy.striping.striping` (docs/policies.md, P5).
"""

from __future__ import annotations

from typing import NamedTuple

RANK_MODES = (
    "composite", "compute", "memory", "network", "stability",
    "compute+memory", "compute+network", "memory+network",
)  # fmt: skip
DETAILS = ("vnode", "socket", "core")
LAYOUTS = ("pack", "stripe")
SAVE_METHODS = ("requeue", "signal", "checkpoint")
"""How a job that is preempted may save its work, by default the first: not at all (docs/saving.md)."""
SAVED_STATUS = 85
"""The exit status of a job that has saved, unless the site says otherwise."""


class Needs(NamedTuple):
    """What each vnode of the job must have left, at least: memory, compute (in the unit of the readings), network
    bandwidth (the same); and how hot it may be, at most. None where the job does not care."""

    memory_kib: float | None = None
    compute: float | None = None
    network: float | None = None
    temperature: float | None = None


class RankWish(NamedTuple):
    """The mode (one of :data:`RANK_MODES`) by which the job's vnodes are ranked, what they must have left, and how far
    down the list of them goes (one of :data:`DETAILS`): with sockets and cores, these are chosen at the start."""

    mode: str
    needs: Needs = Needs()
    detail: str = "vnode"


class Layout(NamedTuple):
    """``kind`` is one of :data:`LAYOUTS`; ``width`` the number of nodes to stripe over, None for the policy's choice;
    ``nodes_per_stripe`` how many nodes one stripe (an equal part of the ranks) spans."""

    kind: str
    width: int | None = None
    nodes_per_stripe: int = 1
