"""What a migrating job needs of a cluster: cores on any nodes, or equal chunks each on a host of its own."""

from __future__ import annotations

from typing import NamedTuple


class Demand(NamedTuple):
    """``nodes`` 0 places ``cores`` freely; else each of the ``nodes`` gives ``cores / nodes`` cores, ``mem_mib`` and
    ``gpus``. ``arch`` is that of the source, "" where a build command makes the program for any.
    """

    cores: int
    nodes: int = 0
    mem_mib: int = 0
    gpus: int = 0
    walltime_s: int = 0
    arch: str = ""

    @property
    def chunk_cores(self) -> int:
        """Cores of one chunk; 1 where placement is free."""
        return self.cores // self.nodes if self.nodes else 1

    def is_smaller_than(self, other: Demand) -> bool:
        """Whether it asks for less of anything that is counted."""
        mine = (self.cores, self.nodes, self.mem_mib, self.gpus, self.walltime_s)
        theirs = (other.cores, other.nodes, other.mem_mib, other.gpus, other.walltime_s)
        return any(less < more for less, more in zip(mine, theirs))


def find_demand_problem(cores: int, nodes: int, mem_mib: int, gpus: int, walltime_s: int) -> str:
    """A sentence if no cluster could ever give this; else empty. Memory and GPUs are counted a node."""
    if cores < 1:
        return f"cores {cores}: must be at least 1"
    if nodes < 0 or mem_mib < 0 or gpus < 0:
        return f"nodes {nodes}, memory {mem_mib}, GPUs {gpus}: none may be negative"
    if nodes and cores % nodes:
        return f"cores {cores}, nodes {nodes}: the cores must be a multiple of the nodes"
    if (mem_mib or gpus) and not nodes:
        return "memory and GPUs are counted a node: the number of nodes must be given"
    if walltime_s < 1:
        return f"walltime {walltime_s} s: must be at least 1 s"
    return ""
