"""Regions: sets of queues with one head (docs/policies.md, "First come, the head, and EASY backfilling").

Queues that share vnodes, directly or by a chain, are one region, and so are queues that share hosts which some job may
get alone: a start on one queue's vnodes then blocks another queue's job.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policy.backfill.head_reservation import Reservation
from policy.model.jobs_runs_vnodes_queues import Job
from policy.reasons.reason import Reason
from policy.state.cluster_index import ClusterIndex


class Region:
    """The state of one region in a pass: idle cores, cores in total on vnodes that take jobs, the reservation of the
    head, why the head waits, and whether it was within quota when its reservation was made.

    ``moved_for``: the job to which the head gave way since its reservation was made; None if the reservation holds.
    ``promised_s``: the last time promised to a job of the region; 0 if none was, or if no estimate is shrunk.
    """

    __slots__ = ("head_waits", "head_within", "idle", "moved_for", "promised_s", "reservation", "total", "vnodes")

    def __init__(self, vnodes: int, idle: int, total: int) -> None:
        self.vnodes = vnodes
        self.idle = idle
        self.total = total
        self.reservation: Reservation | None = None
        self.head_waits: Reason | None = None
        self.head_within = False
        self.moved_for: Job | None = None
        self.promised_s = 0.0


Part = tuple[int, tuple[str, ...], int]
"""A region's vnodes, its queues, and its cores on vnodes that take jobs."""


def parts_with_one_head(cluster: ClusterIndex, promised: Iterable[str]) -> Sequence[Part]:
    """The regions of a pass.

    Parts that only share hosts keep a head each if jobs of both are ``promised`` a time already: that protects the
    promises.
    """
    partitions = cluster.partitions()
    if len(partitions) == 1:
        return partitions
    parts = sorted(partitions)
    if not _hosts_go_whole(cluster):
        return parts
    hosts_of = cluster.capacity.inventory.hosts_of
    heads = {cluster.jobs[job_id].queue for job_id in promised if job_id in cluster.jobs}
    merged: list[Part] = []
    while parts:
        vnodes, queues, total = parts.pop(0)
        for other in parts:
            both_promised = not heads.isdisjoint(queues) and not heads.isdisjoint(other[1])
            if hosts_of(vnodes) & other[0] and not both_promised:
                parts.remove(other)
                parts.insert(0, (vnodes | other[0], (*queues, *other[1]), total + other[2]))
                break
        else:
            merged.append((vnodes, queues, total))
    return merged


def _hosts_go_whole(cluster: ClusterIndex) -> bool:
    """Whether a waiting job may get a host of several vnodes alone."""
    if cluster.capacity.inventory.one_vnode_per_host:
        return False
    return cluster.capacity.sharing.gives_hosts or any(
        job.request.sharing == "exclhost" for job in cluster.jobs.values()
    )
