"""The kinds of applications, and how a trace's job gets one.

Traces have no data on memory traffic. A job's traits follow from the name of its application alone (where a trace has
none, from its user's), the same in every replay, so that a policy can learn by application.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

_FILLS_LINK = 0.4
_FILLS_MEMORY_GBS = 12.0
_LEAST_MEMORY = 0.25
"""Assumed: ranks that spend two fifths of their time in messages fill a node's link together, memory-bound ones its
memory, and every rank fills at least a quarter of its part."""


@dataclass(frozen=True)
class Traits:
    """How a job uses a node. `memory_share` and `communication_share` are the shares of its time at full speed (on the
    fewest nodes, memory not contended) that are bound by memory bandwidth and spent in communication, together at most
    1; `gbs_per_rank` is the bandwidth in GB/s that each rank, one per core, draws at full speed.
    """

    memory_share: float
    gbs_per_rank: float
    communication_share: float

    def __post_init__(self) -> None:
        shares = (self.memory_share, self.communication_share)
        if min(shares) < 0 or sum(shares) > 1 or not 0 <= self.gbs_per_rank < math.inf:
            raise ValueError(f"{self}: shares are from 0 to 1 together, a bandwidth is 0 or more")

    @property
    def link_share_per_rank(self) -> float:
        """The share of its cores' part of the node's link that a rank uses at full speed."""
        return min(1.0, self.communication_share / _FILLS_LINK)

    @property
    def memory_used_per_rank(self) -> float:
        """The share of its cores' part of the node's memory that a rank fills."""
        return _LEAST_MEMORY + (1 - _LEAST_MEMORY) * min(1.0, self.gbs_per_rank / _FILLS_MEMORY_GBS)

    def stretch(self, crowding: float, spread: float, load: float = 0.0, traffic: float = 0.0) -> float:
        """How many times longer than at full speed the job takes if the demand on its most crowded node is ``crowding``
        times the node's bandwidth, on ``spread`` times its fewest nodes; ``load`` and ``traffic`` are the demands on
        the node's cores and link over what these have.
        """
        memory, communication = self.memory_share, self.communication_share
        return (
            (1 - memory - communication) * max(1.0, load)
            + memory * max(1.0, crowding)
            + communication * (1 + math.log2(max(1.0, spread))) * max(1.0, traffic)
        )  # fmt: skip


KINDS = {
    "memory": Traits(memory_share=0.8, gbs_per_rank=12.0, communication_share=0.05),
    "mixed": Traits(memory_share=0.4, gbs_per_rank=6.0, communication_share=0.1),
    "compute": Traits(memory_share=0.05, gbs_per_rank=0.5, communication_share=0.05),
    "communication": Traits(memory_share=0.1, gbs_per_rank=1.0, communication_share=0.4),
}
"""Assumed, not measured: a memory-bound rank draws the 12 GB/s that one core of such a node can (twice its part of the
node), a compute-bound one runs from its caches, a communicating one spends two fifths of its time in messages.
"""


def traits_of(application: str) -> Traits:
    """The traits of an application by its name: those of the kind that the name begins with, else of a kind chosen by a
    checksum of the name.
    """
    for kind, traits in KINDS.items():
        if application.split("-", maxsplit=1)[0] == kind:
            return traits
    names = sorted(KINDS)
    return KINDS[names[zlib.crc32(application.encode("utf-8", "backslashreplace")) % len(names)]]
