"""When the first job that does not fit will: its reserved time, and what may run beside it.

Runs are taken to end when their estimates say. The reserved time is the first at which the head fits what is free by
then; the time until it is the backfill window. A job that passes the window may still start if the head fits beside it
at the reserved time: EASY backfilling (Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995), with vnodes instead of a
count of processors. Where the head asks for single cores anywhere, counting is exact and is all that is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policy.capacity import Capacity
from policy.cluster import UNLIMITED_S, Job, Run
from policy.fitting import fit
from policy.placement import Directory, Placement, Share
from policy.request import Request
from policy.world import World


class Pending(NamedTuple):
    """A beneficiary that will run as soon as its victims let go: where, until when, and what it still misses."""

    job: Job
    placement: Placement
    end_s: float
    victims: tuple[str, ...]
    missing: tuple[Share, ...]
    inside: tuple[Share, ...]
    closed: int


class Release(NamedTuple):
    """Resources that come free at ``end_s``."""

    end_s: float
    placement: Placement
    request: Request


class Reservation:
    """The head of a region, the time it is reserved for, and what is spare beside it at that time."""

    __slots__ = ("_allowed", "_directory", "_then", "at_s", "head", "spare_cores")

    def __init__(
        self,
        head: Job,
        at_s: float,
        allowed: int,
        spare_cores: int,
        then: Capacity | None,
        directory: Directory,
    ) -> None:
        self.head = head
        self.at_s = at_s
        self.spare_cores = spare_cores
        self._allowed = allowed
        self._then = then
        self._directory = directory

    def _window_holds(self, end_s: float) -> bool:
        return end_s <= self.at_s and end_s != UNLIMITED_S

    def admits(self, placement: Placement, end_s: float, request: Request) -> bool:
        """True where a job so placed leaves the head its start; it then counts as started."""
        if self._window_holds(end_s):
            return True
        then = self._then
        if then is None:
            if request.exclusive:
                return False
            cores = placement.cores_on(self._allowed, self._directory)
            if cores > self.spare_cores:
                return False
            self.spare_cores -= cores
            return True
        shares = placement.shares(then.directory)
        then.take(shares, request)
        if fit(then, self.head.request, self._allowed) is None:
            then.give(shares, request)
            return False
        self.spare_cores = max(0, then.idle(self._allowed) - self.head.cores)
        return True

    def survives(self, placement: Placement, end_s: float, request: Request, gone: Sequence[Run]) -> bool:
        """True where the head keeps its start if these runs end now and a job runs there until ``end_s`` instead."""
        if self._window_holds(end_s):
            return True
        then = self._then
        if then is None:
            cores = placement.cores_on(self._allowed, self._directory)
            return not request.exclusive and cores <= self.spare_cores + self._freed_later(gone)
        trial = then.copy()
        self._swap(trial, placement, end_s, request, gone)
        return fit(trial, self.head.request, self._allowed) is not None

    def replace(self, placement: Placement, end_s: float, request: Request, gone: Sequence[Run]) -> None:
        """What :meth:`survives` asked about is decided: these runs end now and a job runs there instead."""
        then = self._then
        if then is None:
            self.spare_cores += self._freed_later(gone)
            if not self._window_holds(end_s):
                self.spare_cores -= placement.cores_on(self._allowed, self._directory)
        else:
            self._swap(then, placement, end_s, request, gone)
            self.spare_cores = max(0, then.idle(self._allowed) - self.head.cores)

    def _freed_later(self, gone: Sequence[Run]) -> int:
        """The cores of runs that would still have held them at the reserved time."""
        return sum(run.placement.cores_on(self._allowed, self._directory) for run in gone if run.end_s > self.at_s)

    def _swap(self, then: Capacity, placement: Placement, end_s: float, request: Request, gone: Sequence[Run]) -> None:
        for run in gone:
            if run.end_s > self.at_s:
                then.give(run.placement.shares(then.directory), run.job.request)
        if not self._window_holds(end_s):
            then.take(placement.shares(then.directory), request)

    def counts_out(self, job: Job, end_s: float) -> bool:
        """True where no placement at all can be admitted, known without looking for one."""
        return (
            not self._window_holds(end_s)
            and self._then is None
            and job.request.only_cores
            and job.cores > self.spare_cores
        )

    def head_vnodes(self) -> int:
        """The vnodes the head would take at the reserved time; 0 where any will do."""
        if self._then is None:
            return 0
        placement = fit(self._then, self.head.request, self._allowed)
        mask = 0
        for share in placement.shares(self._then.directory) if placement else ():
            mask |= share.mask
        return mask


def reserve(world: World, head: Job, allowed: int, now_s: float, pending: Sequence[Pending] = ()) -> Reservation | None:
    """The reservation of a job that does not fit now; None where it would not fit even when all runs have ended.

    ``at_s`` is infinite where it depends on a run without a walltime.
    """
    capacity = world.capacity
    plain = not (pending or capacity.exclusive or capacity.has_lone_vnodes or min(capacity.levels, default=0) < 0)
    if plain and head.request.only_cores:
        return _reserve_by_count(world, head, allowed & capacity.usable, now_s)
    then = capacity.copy()
    victims = {victim for hold in pending for victim in hold.victims}
    releases = [Release(hold.end_s, hold.placement, hold.job.request) for hold in pending]
    for hold in pending:
        for victim in hold.victims:
            run = world.runs.get(victim)
            if run is not None:
                then.give(run.placement.shares(then.directory), run.job.request)
        then.take_amounts(hold.missing)
        then.close(hold.placement.shares(then.directory), hold.job.request)
    for end_s, run_id in world.ends:
        if run_id not in victims:
            run = world.runs[run_id]
            releases.append(Release(end_s, run.placement, run.job.request))
    if pending:
        releases.sort(key=lambda release: release.end_s)
    return _reserve_by_fit(then, head, allowed, now_s, releases)


def _reserve_by_count(world: World, head: Job, allowed: int, now_s: float) -> Reservation | None:
    idle = world.capacity.idle(allowed)
    directory = world.capacity.directory
    need = head.cores
    at_s = now_s
    runs = world.runs
    everywhere = allowed == (1 << len(directory.names)) - 1
    for end_s, run_id in world.ends:
        if idle >= need and end_s > at_s:
            break
        placement = runs[run_id].placement
        idle += placement.cores if everywhere else placement.cores_on(allowed, directory)
        at_s = max(at_s, end_s)
    return Reservation(head, at_s, allowed, idle - need, None, directory) if idle >= need else None


def _reserve_by_fit(
    free: Capacity, head: Job, allowed: int, now_s: float, releases: list[Release]
) -> Reservation | None:
    """Apply releases in growing steps until the head fits, then find the first release that was enough."""
    start = stop = 0
    step = 1
    before, after = free, free.copy()
    while fit(after, head.request, allowed) is None:
        if stop == len(releases):
            return None
        before, start = after.copy(), stop
        stop = min(stop + step, len(releases))
        step *= 2
        _give(after, releases[start:stop])
    low, high = start, stop
    while high - low > 1:
        middle = (low + high) // 2
        trial = before.copy()
        _give(trial, releases[start:middle])
        if fit(trial, head.request, allowed) is None:
            low = middle
        else:
            high = middle
    at_s = max(now_s, releases[high - 1].end_s) if high else now_s
    last = next((index for index in range(high, len(releases)) if releases[index].end_s > at_s), len(releases))
    then = before.copy()
    _give(then, releases[start:last])
    return Reservation(head, at_s, allowed, max(0, then.idle(allowed) - head.cores), then, free.directory)


def _give(capacity: Capacity, releases: Sequence[Release]) -> None:
    for release in releases:
        capacity.give(release.placement.shares(capacity.directory), release.request)
