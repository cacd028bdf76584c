"""P3: backfilled runs cut when the reserved time of the head has come (docs/policies.md, P3).

Whoever was backfilled with a shrunk estimate was let in on the condition that it gives way: at the head's promised time
the one on most nodes goes first (then the one with most cores, then the earlier submitted), only until the head fits.
Exempt time does not protect it then; a run that was tested with its full estimate is never cut.
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.cluster import Job, Run
from policy.ledger import Backfilled
from policy.placement import count_vnodes
from policy.victims import Room, Search
from policy.world import World


def cut_order(world: World, backfilled: Mapping[str, Backfilled], allowed: int) -> list[Run]:
    """The runs that may be cut for a head that may use these vnodes, in the order in which they go."""
    directory = world.capacity.directory
    runs = world.runs
    managed = {queue.name for queue in world.queues.values() if queue.managed}
    found = [
        run
        for run_id, entry in backfilled.items()
        if entry.cuttable
        for run in (runs.get(run_id),)
        if run is not None
        and not run.exiting
        and run.job.rerunable
        and run.job.queue in managed
        and any(share.mask & allowed for share in run.placement.shares(directory))
    ]
    found.sort(key=lambda run: (-_nodes(run, world), -run.job.cores, run.job.submit_s, run.job.sequence, run.id))
    return found


def cut_for(world: World, head: Job, allowed: int, backfilled: Mapping[str, Backfilled]) -> Room | None:
    """The runs to cut so that the head fits, and where; None where all of them would not be enough."""
    return Search(world, head, allowed).first_enough(cut_order(world, backfilled, allowed))


def _nodes(run: Run, world: World) -> int:
    capacity = world.capacity
    mask = 0
    for share in run.placement.shares(capacity.directory):
        mask |= share.mask
    if capacity.one_vnode_per_host:
        return count_vnodes(mask)
    return sum(1 for host in capacity.hosts() if host & mask)
