"""The layout for a batch of waiting jobs about which nothing is learned: from what is idle, and from what the jobs ask
for (docs/policies.md, P5).

While the idle nodes would hold all waiting jobs spread out, a wide stripe makes no other job wait. Once they would not,
a stripe helps only beside jobs that need something else of a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from policy.model.job_request import Request
    from policy.state.cluster_index import ClusterIndex

_LIGHT_SHARE = 0.5
"""A job that asks for at most this share of the memory that its cores come with leaves memory for others."""


class CoresAndMemory(NamedTuple):
    """Cores and memory in KiB."""

    cores: int = 0
    memory_kib: int = 0


class Batch(NamedTuple):
    """What nodes have, what of that is on idle nodes, and what the waiting jobs ask for. ``heavy`` and ``light``: some
    waiting or running job asks for more memory than its cores come with on these nodes; for half of it or less."""

    nodes: CoresAndMemory = CoresAndMemory()
    idle: CoresAndMemory = CoresAndMemory()
    waiting: CoresAndMemory = CoresAndMemory()
    heavy: bool = False
    light: bool = False

    def spread(self, request: Request) -> float:
        """How many times as wide as packed the waiting jobs, this one at least, could be on the idle nodes."""
        wanted = (
            max(self.waiting.cores, request.cores),
            max(self.waiting.memory_kib, request.amount("mem")),
        )
        return min((idle / amount for idle, amount in zip(self.idle, wanted) if amount), default=0.0)

    def memory_need(self, request: Request) -> int:
        """1 for a heavy request, -1 for a light one, 0 for any other and for one that names no memory."""
        return _memory_need(request, self.nodes)


class Extent(NamedTuple):
    """The fewest nodes that hold a job, and the most over which it can be spread; 0 if it cannot be spread."""

    fewest: int = 0
    most: int = 0

    @property
    def factor(self) -> float:
        """The most, as a multiple of the fewest."""
        return self.most / self.fewest if self.fewest else 0.0


def describe_batch(cluster: ClusterIndex, vnodes: int, now_s: float) -> Batch:
    """The batch of the jobs that wait now for these vnodes. Jobs that may not start yet are left out."""
    capacity = cluster.capacity
    usable = vnodes & capacity.usable
    nodes = _sum(cluster, usable)
    idle = _sum(cluster, _whole_hosts(cluster, usable & capacity.empty()))
    here = {queue for queue in cluster.queues if cluster.vnodes_of(queue) & vnodes}
    cores = memory_kib = 0
    needs = set()
    for job in cluster.jobs.values():
        if job.queue in here and not job.blocked and (job.not_before_s is None or job.not_before_s <= now_s):
            times = 1 if job.subjobs is None else len(job.subjobs)
            cores += times * job.request.cores
            memory_kib += times * job.request.amount("mem")
            needs.add(_memory_need(job.request, nodes))
    needs.update(_memory_need(run.job.request, nodes) for run in cluster.runs.values() if run.job.queue in here)
    return Batch(nodes, idle, CoresAndMemory(cores, memory_kib), heavy=1 in needs, light=-1 in needs)


def factor_for_batch(request: Request, extent: Extent, batch: Batch, factors: Mapping[str, float]) -> tuple[float, str]:
    """How many times as wide as the fewest nodes a job is to be striped, 0 to pack it; and why. ``factors`` are those
    to choose from, the narrowest first."""
    need = batch.memory_need(request)
    if extent.fewest <= 1 and need <= 0:
        return 0.0, "auto: one node holds it"
    spread = batch.spread(request)
    free = max((factor for factor in factors.values() if factor <= spread), default=0.0)
    if free:
        return free, f"auto: the idle nodes hold the jobs that wait {free:g} times as wide as packed"
    if (need > 0 and batch.light) or (need < 0 and batch.heavy):
        other = "little" if need > 0 else "much"
        return next(iter(factors.values())), f"auto: it shares its nodes with jobs that ask for {other} memory"
    return 0.0, "auto: the idle nodes do not hold the jobs that wait any wider"


def _memory_need(request: Request, nodes: CoresAndMemory) -> int:
    asked_kib = request.amount("mem")
    if not asked_kib or not nodes.cores or not nodes.memory_kib:
        return 0
    usual_kib = request.cores * nodes.memory_kib / nodes.cores
    return 1 if asked_kib > usual_kib else -1 if asked_kib <= _LIGHT_SHARE * usual_kib else 0


def _whole_hosts(cluster: ClusterIndex, idle: int) -> int:
    """The idle vnodes of hosts all of whose vnodes are idle."""
    inventory = cluster.capacity.inventory
    if inventory.one_vnode_per_host:
        return idle
    whole = 0
    for host in inventory.hosts():
        if host & idle == host:
            whole |= host
    return whole


def _sum(cluster: ClusterIndex, vnodes: int) -> CoresAndMemory:
    have = [(each.get("ncpus", 0), each.get("mem", 0)) for each in _available(cluster, vnodes)]
    return CoresAndMemory(sum(cores for cores, _ in have), sum(memory_kib for _, memory_kib in have))


def _available(cluster: ClusterIndex, vnodes: int) -> Iterator[Mapping[str, int]]:
    for name in cluster.capacity.directory.named(vnodes):
        yield cluster.vnodes[name].available
