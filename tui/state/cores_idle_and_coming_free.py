"""How many cores are idle in a snapshot, now and by the expected ends of what runs, as the reasons of jobs count
them.

A vnode that a job has to itself has no idle core, and all of its cores come free with that job.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from policy import Snapshot
from policy.model.vnode_bitsets import indices_of
from policy.state.closure_windows import windows_of

AHEAD = 48
"""Quarters of an hour for which it is foreseen which cores come free: half a day."""
QUARTER_S = 900.0


def idle_cores(snapshot: Snapshot, queue: str | None = None) -> int:
    """The idle cores on the vnodes that take jobs, without those that a window keeps now; of those open to a queue if
    one is named."""
    cluster = snapshot.cluster()
    vnodes = -1 if queue is None else cluster.vnodes_of(queue)
    windows = windows_of(cluster, snapshot.time_s, 0.0)
    if windows is None:
        return cluster.capacity.idle(vnodes)
    return windows.idle_now(cluster.capacity, vnodes, snapshot.time_s)


def free_by_quarter(snapshot: Snapshot, queue: str | None = None) -> Sequence[int]:
    """The cores that what runs will have given back by the end of each of the next
    :data:`AHEAD` quarters of an hour."""
    cluster = snapshot.cluster()
    capacity = cluster.capacity
    open_to = capacity.usable & (-1 if queue is None else cluster.vnodes_of(queue))
    unused = capacity.idle_of_each(capacity.exclusive)
    ends = [0] * AHEAD
    for run in cluster.runs.values():
        quarter = (run.end_s - snapshot.time_s) // QUARTER_S
        # Without an end it is no number.
        if not quarter < AHEAD:
            continue
        cores = run.allocation.cores_on(open_to, capacity.directory)
        held = 0
        for share in run.allocation.shares(capacity.directory):
            held |= share.mask
        alone = capacity.sharing.held_alone(held, run.job.request) & open_to
        ends[max(0, int(quarter))] += cores + sum([max(0, unused[index]) for index in indices_of(alone)])
    return list(accumulate(ends))
