"""Closures: the times in which vnodes, parts of them, or whole queues are closed to ordinary jobs (docs/policies.md,
"Closures").

A job may be on a vnode only if its whole run, by its full estimate, meets none of the vnode's windows; what a window
takes of a vnode counts as taken for the whole run.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from policy.model.allocation import Allocation, Share
from policy.model.job_request import Amounts, Request
from policy.model.jobs_runs_vnodes_queues import CROSSING, UNLIMITED_S, Job, Window
from policy.model.vnode_bitsets import count_vnodes
from policy.reasons.reason import Reason
from policy.reasons.reason_names import Numbers
from policy.state.cluster_index import ClusterIndex
from policy.state.vnodes_by_idle_cores import Capacity

_EVERYWHERE = -1
_ALL_WINDOWS = 1 << 30
_MOMENT_S = 1e-3


class Closed(NamedTuple):
    """What is closed to one run: whole ``vnodes``, and ``shares`` of other vnodes. Equal ``key``: the same is
    closed."""

    vnodes: int
    shares: tuple[Share, ...]
    key: tuple[int, ...]

    @property
    def extent(self) -> int:
        """A measure of what is closed: of two runs that start together on the same vnodes, all that is closed to one is
        also closed to the one with the larger extent."""
        return 0 if not self.key else _ALL_WINDOWS if self.vnodes == _EVERYWHERE else self.key[0]

    def cores_on(self, vnodes: int) -> int:
        """The cores of the shares on these vnodes."""
        return sum(
            dict(share.amounts).get("ncpus", 0) * share.chunks * count_vnodes(share.mask & vnodes)
            for share in self.shares
        )

    @contextmanager
    def applied_to(self, capacity: Capacity) -> Iterator[None]:
        """Context manager: take the shares off the capacity for its duration."""
        if self.shares:
            capacity.take_amounts(self.shares)
        try:
            yield
        finally:
            if self.shares:
                capacity.take_amounts(self.shares, -1)


NOTHING_CLOSED: Final = Closed(0, (), ())


class _Meeting(NamedTuple):
    """What a run of some span meets: vnodes closed whole, vnodes closed in part, and the shares of the latter that are
    closed."""

    whole: int
    partly: int
    shares: tuple[Share, ...]


class Windows:
    """The windows of one pass. Make it with :func:`windows_of`.

    ``changes_s`` are the finite times after now at which a window ends, in order: only then does time alone open
    anything. ``last_s`` is the last end of all, possibly infinite. ``slack_s`` is how late a planned start may come:
    the pass interval and the checkpoint grace of the victims.
    """

    def __init__(self, cluster: ClusterIndex, now_s: float, slack_s: float) -> None:
        self._capacity = cluster.capacity
        self._kinds = [
            (sorted(windows, key=lambda window: window.start_s), mask) for windows, mask in cluster.closed_kinds()
        ]
        self._kinds_starts = [[window.start_s for window in windows] for windows, _ in self._kinds]
        self._of_queues: Mapping[str, tuple[Window, ...]] = {
            queue.name: queue.closed for queue in cluster.queues.values() if queue.closed
        }
        # The latest end of a run in a queue that starts at that time.
        self._latest_end_s: dict[tuple[str, float], float] = {}
        self.slack_s = slack_s
        of_vnodes = {window[:2] for windows, _ in self._kinds for window in windows}
        of_queues = {window[:2] for windows in self._of_queues.values() for window in windows}
        self._starts = sorted(start_s for start_s, _ in of_vnodes)
        self._ends = sorted(end_s for _, end_s in of_vnodes)
        self.changes_s = sorted({end_s for _, end_s in of_vnodes | of_queues if now_s < end_s < UNLIMITED_S})
        self._met: dict[tuple[int, int], _Meeting] = {}
        self._now: tuple[float, _Meeting] | None = None
        self.last_s = max((end_s for _, end_s in of_vnodes | of_queues), default=now_s)

    def closed_to(self, job: Job, start_s: float, slack_s: float = 0.0) -> Closed:
        """What is closed to the job if it starts at ``start_s``, or up to ``slack_s`` later."""
        return self.closed_for(job.request, job.queue, start_s, start_s + job.left_s + slack_s)

    def closed_for(self, request: Request, queue: str, start_s: float, end_s: float) -> Closed:
        """What is closed to a run of that request in that queue from ``start_s`` until before ``end_s``."""
        if queue in self._of_queues and end_s > self._latest_end_in(queue, start_s):
            return Closed(_EVERYWHERE, (), (_EVERYWHERE,))
        # The windows that begin before the run ends, less those that end by its start, are exactly those that it meets.
        key = (bisect_left(self._starts, end_s), bisect_right(self._ends, start_s))
        if key[0] <= key[1]:
            return NOTHING_CLOSED
        met = self._met.get(key)
        if met is None:
            met = self._met[key] = self._meeting(start_s, end_s)
        capacity = self._capacity
        if not (request.exclusive or capacity.sharing.has_lone_vnodes):
            return Closed(met.whole, met.shares, key)
        # A job that is alone on a vnode, or on a host, does not share it with a window either.
        alone = capacity.sharing.closed_beside(met.whole | met.partly, request)
        shares = [share._replace(mask=share.mask & ~alone) for share in met.shares if share.mask & ~alone]
        return Closed(met.whole | alone, tuple(shares), key)

    def _latest_end_in(self, queue: str, start_s: float) -> float:
        """The latest end of a run of the queue from ``start_s`` on that none of the queue's windows is closed to."""
        known = self._latest_end_s.get((queue, start_s))
        if known is None:
            known = min(window.latest_end_s(start_s) for window in self._of_queues[queue])
            self._latest_end_s[queue, start_s] = known
        return known

    def idle_now(self, capacity: Capacity, vnodes: int, now_s: float) -> int:
        """Idle cores on these vnodes without those that a window keeps at this moment. No run of the snapshot holds
        these, but they are in use by the reservation or reserved by it."""
        met = self._met_at(now_s)
        left = vnodes & ~met.whole
        idle = capacity.idle(left)
        for share in met.shares:
            kept = dict(share.amounts).get("ncpus", 0)
            there = left & share.mask & capacity.usable & ~capacity.exclusive
            for level, mask in capacity.levels.items():
                idle -= max(0, min(kept, level)) * count_vnodes(mask & there)
        return idle

    def begun_on(self, vnodes: int, now_s: float) -> list[Window]:
        """The windows that keep something of these vnodes at this moment, in the order of their ends."""
        end_s = now_s + _MOMENT_S
        near = {window for windows, mask in self._kinds if mask & vnodes for window in windows}
        begun = [window for window in near if window.meets(now_s, end_s)]
        return sorted(begun, key=lambda window: (window.end_s, window.name))

    def _met_at(self, now_s: float) -> _Meeting:
        if self._now is None or self._now[0] != now_s:
            self._now = (now_s, self._meeting(now_s, now_s + _MOMENT_S))
        return self._now[1]

    def why(self, job: Job, start_s: float, allocation: Allocation) -> Reason | None:
        """The reason why the job may not start in this allocation although it would fit: the first window that it would
        run into; None where it runs into none."""
        end_s = start_s + job.left_s
        taken = 0
        for share in allocation.shares(self._capacity.directory):
            taken |= share.mask
        taken |= self._capacity.sharing.held_alone(taken, job.request)
        near = [windows for windows, mask in self._kinds if mask & taken] + [self._of_queues.get(job.queue, ())]
        met = [window for windows in near for window in windows if window.meets(start_s, end_s)]
        if not met:
            return None
        first = min(met, key=lambda window: window[:3])
        others = len({window.name for window in met}) - 1
        times: Numbers = (("at_s", first.start_s), ("until_s", first.end_s), ("before_s", first.start_s))
        if first.closed_to == CROSSING:
            latest_s = first.end_s + first.past_end_s
            times = (("at_s", first.end_s), ("until_s", UNLIMITED_S), ("before_s", latest_s), ("past", 1))
        return Reason("into-window", (("window", first.name), ("others", others), *times))

    def ending_at(self, at_s: float, job: Job, allowed: int) -> str | None:
        """The names of the windows that end at ``at_s`` on the job's queue, or on those of the allowed vnodes that
        match a chunk of the job, with what it would hold alone beside them; None where none does."""
        vnodes = 0
        for chunk in job.request.chunks:
            vnodes |= allowed & self._capacity.inventory.matching(chunk)
        vnodes |= self._capacity.sharing.held_alone(vnodes, job.request)
        near = [windows for windows, mask in self._kinds if mask & vnodes] + [self._of_queues.get(job.queue, ())]
        names = sorted({window.name for windows in near for window in windows if window.end_s == at_s})
        return " and ".join(names[:2] if len(names) < 3 else [names[0], f"{len(names) - 1} more"]) or None

    def _meeting(self, start_s: float, end_s: float) -> _Meeting:
        whole = partly = 0
        masks: dict[Amounts, int] = {}
        for (windows, mask), starts in zip(self._kinds, self._kinds_starts):
            # Those of a reservation that recurs may be hundreds, of which a run ends before most.
            begun = windows[: bisect_left(starts, end_s)]
            met = [window for window in begun if window.meets(start_s, end_s)]
            if any(window.amounts is None for window in met):
                whole |= mask
            elif met:
                kept = _most_kept(met)
                masks[kept] = masks.get(kept, 0) | mask
                partly |= mask
        return _Meeting(whole, partly, tuple(Share(mask, amounts, 1) for amounts, mask in sorted(masks.items())))


def _most_kept(windows: Sequence[Window]) -> Amounts:
    """The most that the windows keep of each resource at one moment. That moment is the start of one of them."""
    most: dict[str, int] = {}
    held: dict[str, int] = {}
    begin = sorted(windows, key=lambda window: window.start_s)
    end = sorted(windows, key=lambda window: window.end_s)
    ended = 0
    for window in begin:
        while end[ended].end_s <= window.start_s:
            for resource, amount in end[ended].amounts or ():
                held[resource] -= amount
            ended += 1
        for resource, amount in window.amounts or ():
            held[resource] = held.get(resource, 0) + amount
            most[resource] = max(most.get(resource, 0), held[resource])
    return tuple(sorted(most.items()))


def windows_of(cluster: ClusterIndex, now_s: float, slack_s: float) -> Windows | None:
    """The windows of a cluster index; None where all have ended."""
    windows = Windows(cluster, now_s, slack_s)
    return windows if windows.last_s > now_s else None
