"""Regions: which queues have one head together (docs/policies.md, "First come, the head, and EASY backfilling").

Queues that share vnodes, directly or by a chain, are one region. So are those that only share hosts, as long as
somebody may get such a host alone: what starts on one queue's vnodes then keeps another queue's job away.
"""

from __future__ import annotations

from collections.abc import Iterable

from policy.backfill.reservation import Reservation
from policy.model.cluster import Job
from policy.reasons.reason import Reason
from policy.state.cluster_index import World


class Region:
    """What one set of queues that share vnodes has come to in this pass: its idle cores, its cores in all on vnodes
    that take jobs, the reservation of its head, and why the head waits.

    ``moved_for`` is the job to which the head gave way since it was reserved for; None where the reservation holds.
    ``promised_s`` is the last time that was promised to a job of it, 0 where none was, or where no estimate is shrunk.
    """

    __slots__ = ("head_waits", "idle", "moved_for", "promised_s", "reservation", "total", "vnodes")

    def __init__(self, vnodes: int, idle: int, total: int) -> None:
        self.vnodes = vnodes
        self.idle = idle
        self.total = total
        self.reservation: Reservation | None = None
        self.head_waits: Reason | None = None
        self.moved_for: Job | None = None
        self.promised_s = 0.0


Part = tuple[int, tuple[str, ...], int]
"""The vnodes and the queues of a region, and how many cores it has on vnodes that take jobs."""


def parts_with_one_head(world: World, promised: Iterable[str]) -> list[Part]:
    """The regions of a pass.

    Where jobs of both sides are ``promised`` a time already each keeps its own head, as that protects the promise.
    """
    parts = sorted(world.partitions())
    if len(parts) == 1 or not _hosts_go_whole(world):
        return parts
    hosts_of = world.capacity.inventory.hosts_of
    heads = {world.jobs[job_id].queue for job_id in promised if job_id in world.jobs}
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


def _hosts_go_whole(world: World) -> bool:
    """Whether somebody who waits may get a host of several vnodes alone."""
    if world.capacity.inventory.one_vnode_per_host:
        return False
    return world.capacity.sharing.gives_hosts or any(job.request.sharing == "exclhost" for job in world.jobs.values())
