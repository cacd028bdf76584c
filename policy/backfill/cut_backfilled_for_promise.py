"""Keeps the promised start of a head by cutting backfilled runs that were tested with a shrunk estimate
(docs/policies.md, P3).

The run on most nodes goes first, then the one with most cores, then the earlier submitted, and only until the head
fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Callable, Final, NamedTuple

from policy.backfill.head_reservation import Reservation
from policy.backfill.release_profile import Pending, ReleaseProfile, release_profile
from policy.fit.best_fit import fits, fits_where_open
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.model.ledger_between_passes import Backfilled
from policy.model.vnode_bitsets import count_vnodes
from policy.preemption.victim_search import Search, Slot
from policy.state.closure_windows import NOTHING_CLOSED, Closed, Windows
from policy.state.cluster_index import ClusterIndex


class Promise(NamedTuple):
    """The latest start of a head, and a function for the runs that may be cut to keep it, in the order of cuts. The
    function is not called if the head fits by then anyway."""

    at_s: float
    cuttable: Callable[[], Sequence[Run]]


NO_PROMISE: Final = Promise(UNLIMITED_S, tuple)


def cut_order(cluster: ClusterIndex, backfilled: Mapping[str, Backfilled], allowed: int) -> list[Run]:
    """The runs on these vnodes that may be cut, in the order of cuts."""
    directory = cluster.capacity.directory
    runs = cluster.runs
    managed = {queue.name for queue in cluster.queues.values() if queue.managed}
    found = [
        run
        for run_id, entry in backfilled.items()
        if entry.cuttable
        for run in (runs.get(run_id),)
        if run is not None
        and not run.exiting
        and run.job.rerunable
        and run.job.queue in managed
        and any(share.mask & allowed for share in run.allocation.shares(directory))
    ]
    found.sort(key=lambda run: (-_nodes(run, cluster), -run.job.cores, run.job.submit_s, run.job.sequence, run.id))
    return found


def cut_for(
    cluster: ClusterIndex,
    head: Job,
    allowed: int,
    at_s: float,
    cuttable: Sequence[Run],
    pending: Sequence[Pending] = (),
    closed: Closed = NOTHING_CLOSED,
) -> Slot | None:
    """The runs to cut so that the head fits at ``at_s`` on what is not closed to it, and where.

    None if all of them would not be enough, or if none is needed. Runs that end by then, by their full estimates, count
    as gone; a shrunk estimate does not count, as a run that outlasts it could not be asked to save in time. Victims of
    other jobs count as gone, and their beneficiaries keep what they need.
    """
    profile = release_profile(cluster, cluster.ends, pending)
    profile.give_back(profile.free, 0, profile.count_until(at_s))
    if fits_where_open(profile.free, head.request, allowed, closed):
        return None
    offered = [run for run in cuttable if run.end_s > at_s and run.id not in profile.gone]
    return Search(cluster, head, allowed, None, closed, profile.free).first_enough(offered)


def _nodes(run: Run, cluster: ClusterIndex) -> int:
    capacity = cluster.capacity
    mask = 0
    for share in run.allocation.shares(capacity.directory):
        mask |= share.mask
    if capacity.inventory.one_vnode_per_host:
        return count_vnodes(mask)
    return sum(1 for host in capacity.inventory.hosts() if host & mask)


def keep_by_count(
    cluster: ClusterIndex,
    head: Job,
    allowed: int,
    now_s: float,
    idle: int,
    expected: Mapping[str, float],
    promise: Promise,
) -> Reservation | None:
    """The reservation at the promised time, with the runs that are cut then; None if all of them are not enough."""
    directory = cluster.capacity.directory
    cut: dict[str, int] = {}
    for run in promise.cuttable():
        if idle >= head.cores:
            break
        if expected.get(run.id, run.end_s) > promise.at_s:
            cut[run.id] = run.allocation.cores_on(allowed, directory)
            idle += cut[run.id]
    if idle < head.cores:
        return None
    for run_id, cores in [*cut.items()][::-1]:
        if idle - cores >= head.cores:
            idle -= cores
            del cut[run_id]
    early = {*expected, *cut}
    return Reservation(head, max(now_s, promise.at_s), allowed, idle - head.cores, None, cluster.capacity, early)


def keep_by_fit(
    profile: ReleaseProfile,
    head: Job,
    allowed: int,
    now_s: float,
    expected: Mapping[str, float],
    promise: Promise,
    windows: Windows | None,
) -> Reservation | None:
    """As :func:`keep_by_count`, but vnode by vnode. None also if the head fits by the promised time without a cut."""
    then, ever, closed = profile.free.copy(), allowed, NOTHING_CLOSED
    if windows is not None:
        closed = windows.closed_to(head, max(now_s, promise.at_s), windows.slack_s)
        then.take_amounts(closed.shares)
        allowed &= ~closed.vnodes
    profile.give_back(then, 0, profile.count_until(promise.at_s))
    if fits(then, head.request, allowed, ever):
        return None
    cut: list[Run] = []
    for run in promise.cuttable():
        if run.id not in profile.gone and expected.get(run.id, run.end_s) > promise.at_s:
            cut.append(run)
            then.give(run.allocation.shares(then.directory), run.job.request)
            if fits(then, head.request, allowed, ever):
                break
    else:
        return None
    for run in cut[::-1]:
        then.take(run.allocation.shares(then.directory), run.job.request)
        if not fits(then, head.request, allowed, ever):
            then.give(run.allocation.shares(then.directory), run.job.request)
        else:
            cut.remove(run)
    spare = max(0, then.idle(allowed) - head.cores)
    early = {*expected, *(run.id for run in cut)}
    at_s, closed_cores = max(now_s, promise.at_s), closed.cores_on(allowed)
    return Reservation(head, at_s, allowed, spare, then, then, early, closed_cores)
