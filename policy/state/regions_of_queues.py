"""The vnodes of each queue, and regions: those of queues that share some, directly or by a chain of other queues."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from policy.model.jobs_runs_vnodes_queues import Queue, Vnode


def vnodes_open_to(queue: Queue, vnodes: Collection[Vnode]) -> list[Vnode]:
    """The vnodes that jobs of the queue may use: those bound to it; if there are none, the unbound vnodes of its
    partition."""
    bound = [vnode for vnode in vnodes if vnode.queue is not None and queue.name in vnode.queue.split(",")]
    return bound or [vnode for vnode in vnodes if vnode.queue is None and vnode.partition == queue.partition]


def join_overlapping(vnodes: Mapping[str, int]) -> dict[str, int]:
    """Each queue's region, of the vnodes of each queue (bit sets)."""
    regions = dict(vnodes)
    merged = True
    while merged:
        merged = False
        for queue, mask in regions.items():
            wide = mask
            for other in regions.values():
                wide |= other if other & mask else 0
            if wide != mask:
                regions[queue] = wide
                merged = True
    return regions
