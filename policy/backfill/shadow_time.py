"""Shadow time: the first time at which the head, which does not fit now, will fit (EASY backfilling: Lifka, "The
ANL/IBM SP scheduling system", JSSPP 1995).

Runs are expected to end by their estimates, backfilled ones by the shrunk estimates that they were tested with, and
cuts may keep it no later than the promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from policy.backfill.cut_backfilled_for_promise import NO_PROMISE, Promise, keep_by_count, keep_by_fit
from policy.backfill.head_reservation import Reservation
from policy.backfill.release_profile import Ends, Pending, ReleaseProfile, expected_ends, release_profile
from policy.fit.best_fit import fits
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job
from policy.state.closure_windows import Closed, Windows
from policy.state.cluster_index import ClusterIndex
from policy.state.vnodes_by_idle_cores import Capacity


def reserve(
    cluster: ClusterIndex,
    head: Job,
    allowed: int,
    now_s: float,
    pending: Sequence[Pending] = (),
    expected: Mapping[str, float] = MappingProxyType({}),
    promise: Promise = NO_PROMISE,
    windows: Windows | None = None,
) -> Reservation | None:
    """The reservation of a job that does not fit now; None if it would not fit even after all runs have ended.

    ``expected``: ends of runs that are expected before their estimates. ``at_s`` of the result is infinite if it
    depends on a run without a walltime. With a promise it is the promised time at the latest, if cuts can keep that.
    From its time on the head is clear of the windows, also if it starts a pass later.
    """
    capacity = cluster.capacity
    ends = expected_ends(cluster, expected)
    alone = capacity.exclusive or capacity.sharing.has_lone_vnodes
    plain = not (pending or alone or capacity.is_overcommitted())
    if plain and head.request.only_cores and windows is None:
        return _reserve_by_count(cluster, capacity, head, allowed & capacity.usable, now_s, ends, expected, promise)
    profile = release_profile(cluster, ends, pending)
    if promise.at_s != UNLIMITED_S:
        kept = keep_by_fit(profile, head, allowed, now_s, expected, promise, windows)
        if kept is not None:
            return kept
    if windows is not None:
        return _reserve_between(profile, head, allowed, now_s, expected, windows)
    return _reserve_by_fit(profile, head, allowed, now_s, expected)


def _reserve_by_count(
    cluster: ClusterIndex,
    capacity: Capacity,
    head: Job,
    allowed: int,
    now_s: float,
    ends: Ends,
    expected: Mapping[str, float],
    promise: Promise,
) -> Reservation | None:
    idle = capacity.idle(allowed)
    directory = capacity.directory
    need = head.cores
    at_s = now_s
    runs = cluster.runs
    promised_s = promise.at_s
    everywhere = allowed == (1 << len(directory.names)) - 1
    for end_s, run_id in ends:
        if end_s > at_s:
            if idle >= need:
                break
            if end_s > promised_s:
                kept = keep_by_count(cluster, head, allowed, now_s, idle, expected, promise)
                if kept is not None:
                    return kept
                promised_s = UNLIMITED_S
            at_s = end_s
        allocation = runs[run_id].allocation
        idle += allocation.cores if everywhere else allocation.cores_on(allowed, directory)
    return Reservation(head, at_s, allowed, idle - need, None, capacity, expected) if idle >= need else None


def _reserve_by_fit(
    profile: ReleaseProfile, head: Job, allowed: int, now_s: float, expected: Mapping[str, float]
) -> Reservation | None:
    """Apply releases in growing steps until the head fits, then find the first release that was enough."""
    free, ends = profile.free, profile.ends
    start = stop = 0
    step = 1
    before, after = free, free.copy()
    while not fits(after, head.request, allowed):
        if stop == len(ends):
            return None
        before, start = after.copy(), stop
        stop = min(stop + step, len(ends))
        step *= 2
        profile.give_back(after, start, stop)
    low, high = start, stop
    while high - low > 1:
        middle = (low + high) // 2
        trial = before.copy()
        profile.give_back(trial, start, middle)
        if not fits(trial, head.request, allowed):
            low = middle
        else:
            high = middle
    at_s = max(now_s, ends[high - 1][0]) if high else now_s
    then = before.copy()
    profile.give_back(then, start, max(high, profile.count_until(at_s)))
    spare = max(0, then.idle(allowed) - head.cores)
    return Reservation(head, at_s, allowed, spare, then, free, expected)


def _reserve_between(
    profile: ReleaseProfile, head: Job, allowed: int, now_s: float, expected: Mapping[str, float], windows: Windows
) -> Reservation | None:
    """The first time from which the head fits vnodes that no window closes to it.

    Between two changes of the windows in its way, later only means more free. So the last time of such a span decides
    whether the head fits in it at all, and the first time is found by bisection.
    """
    free = profile.free
    coming = [*windows.changes_s, *(end_s for end_s, _ in profile.ends)]
    times = sorted({now_s, *(at_s for at_s in coming if at_s > now_s)})
    base, given, first = free, 0, 0
    while first < len(times):
        closed = windows.closed_to(head, times[first], windows.slack_s)
        last = first
        while last + 1 < len(times) and windows.closed_to(head, times[last + 1], windows.slack_s).key == closed.key:
            last += 1
        open_then = allowed & ~closed.vnodes
        released = profile.count_until(times[last])
        then = _later(profile, base, given, released, closed)
        if open_then and fits(then, head.request, open_then, allowed):
            low, high = first, last
            while low < high:
                middle = (low + high) // 2
                trial = _later(profile, base, given, profile.count_until(times[middle]), closed)
                if not fits(trial, head.request, open_then, allowed):
                    low = middle + 1
                else:
                    high, then = middle, trial
            spare = max(0, then.idle(open_then) - head.cores)
            at_s, closed_cores = times[high], closed.cores_on(open_then)
            return Reservation(head, at_s, open_then, spare, then, free, expected, closed_cores)
        base = base.copy()
        profile.give_back(base, given, released)
        given, first = released, last + 1
    return None


def _later(profile: ReleaseProfile, base: Capacity, first: int, last: int, closed: Closed) -> Capacity:
    """What is free after these ends, without what is closed then."""
    then = base.copy()
    profile.give_back(then, first, last)
    then.take_amounts(closed.shares)
    return then
