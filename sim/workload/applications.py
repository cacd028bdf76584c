"""What kinds of applications there are, and which one a job of a trace is taken for.

Traces say nothing about memory traffic. A job's traits follow from the name of its application alone (where a trace has
none, from its user's), the same in every replay, so that there is something that can be learned by application.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """What a job does with a node: the shares of its time at full speed (on the fewest nodes, memory not contended)
    that are bound by memory bandwidth and that communicate, together at most 1, and the bandwidth in GB/s that each of
    its ranks, one to a core, draws at full speed."""

    memory_share: float
    gbs_per_rank: float
    communication_share: float

    def __post_init__(self) -> None:
        shares = (self.memory_share, self.communication_share)
        if min(shares) < 0 or sum(shares) > 1 or not 0 <= self.gbs_per_rank < math.inf:
            raise ValueError(f"{self}: shares are from 0 to 1 together, a bandwidth is 0 or more")

    def stretch(self, crowding: float, spread: float) -> float:
        """How much longer than at full speed the job takes where the demand on its most crowded node is ``crowding``
        times the node's bandwidth, on ``spread`` times its fewest nodes."""
        memory, communication = self.memory_share, self.communication_share
        return (
            1 - memory - communication
            + memory * max(1.0, crowding)
            + communication * (1 + math.log2(max(1.0, spread)))
        )  # fmt: skip


KINDS = {
    "memory": Traits(memory_share=0.8, gbs_per_rank=12.0, communication_share=0.05),
    "mixed": Traits(memory_share=0.4, gbs_per_rank=6.0, communication_share=0.1),
    "compute": Traits(memory_share=0.05, gbs_per_rank=0.5, communication_share=0.05),
    "communication": Traits(memory_share=0.1, gbs_per_rank=1.0, communication_share=0.4),
}
"""Stated, not measured: a memory-bound rank draws the 12 GB/s that one core of such a node can (twice its part of the
node), a compute-bound one runs from its caches, a communicating one spends two fifths of its time in messages."""


def traits_of(application: str) -> Traits:
    """The traits of an application by its name: of the kind that the name begins with, else of one drawn from the name
    once and for all."""
    for kind, traits in KINDS.items():
        if application.split("-", maxsplit=1)[0] == kind:
            return traits
    names = sorted(KINDS)
    return KINDS[names[zlib.crc32(application.encode("utf-8", "backslashreplace")) % len(names)]]
