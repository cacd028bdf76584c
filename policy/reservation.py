"""When the first job that does not fit will: its reserved time, and what may run beside it.

Runs are taken to end when their estimates say, backfilled ones when the shrunk estimates they were tested with say. The
reserved time is the first at which the head fits what is free by then, and never later than its promise where runs can
be cut for it; the time until it is the backfill window. A job that passes the window may still start if the head fits
beside it at the reserved time: EASY backfilling (Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995), with vnodes
instead of a count of processors. Where the head asks for single cores anywhere, counting is exact and all that is done.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType
from typing import Callable, NamedTuple

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


class Promise(NamedTuple):
    """The latest start of a head, and how to ask for the runs that may be cut so that it is kept, in the order in which
    they go; nobody asks where the head fits by then anyway."""

    at_s: float
    cuttable: Callable[[], Sequence[Run]]


NO_PROMISE = Promise(UNLIMITED_S, tuple)


_NOBODY: frozenset[str] = frozenset()


class Reservation:
    """The head of a region, the time it is reserved for, and what is spare beside it at that time.

    ``early`` are runs taken to be gone by then although their estimates say later. ``until_s`` is when the window ends:
    at the reserved time, or at the promise where that could not be kept.
    """

    __slots__ = ("_allowed", "_directory", "_early", "_inside", "_then", "at_s", "head", "spare_cores", "until_s")

    def __init__(
        self,
        head: Job,
        at_s: float,
        allowed: int,
        spare_cores: int,
        then: Capacity | None,
        directory: Directory,
        early: Container[str] = (),
    ) -> None:
        self.head = head
        self.at_s = at_s
        self.until_s = at_s
        self.spare_cores = spare_cores
        self._allowed = allowed
        self._then = then
        self._directory = directory
        self._early = early
        self._inside: frozenset[str] = _NOBODY

    def window_holds(self, end_s: float) -> bool:
        """Whether a job that ends then ends inside the window."""
        return end_s <= self.until_s and end_s != UNLIMITED_S

    def admits(self, placement: Placement, end_s: float, request: Request) -> bool:
        """True where a job so placed leaves the head its start; it then counts as started."""
        if self.window_holds(end_s):
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

    def guard(self, end_s: float, request: Request) -> HeadGuard:
        """The head's guard while runs are looked for that could end now so that a job runs until ``end_s`` instead."""
        return HeadGuard(self, end_s, request)

    def replace(self, placement: Placement, end_s: float, request: Request, gone: Sequence[Run]) -> None:
        """What a guard was asked about is decided: these runs end now and a job runs there instead."""
        then = self._then
        if then is None:
            self.spare_cores += self._freed_later(gone)
            if not self.window_holds(end_s):
                self.spare_cores -= placement.cores_on(self._allowed, self._directory)
        else:
            self._swap(then, placement, end_s, request, gone)
            self.spare_cores = max(0, then.idle(self._allowed) - self.head.cores)

    def _freed_later(self, gone: Sequence[Run]) -> int:
        """The cores of runs that would still have held them at the reserved time."""
        return sum(self.cores_of(run) for run in gone if self.outlasts(run))

    def cores_of(self, run: Run) -> int:
        """The cores that a run holds on vnodes that the head may use."""
        return run.placement.cores_on(self._allowed, self._directory)

    def has_beside(self, placement: Placement, freed: int) -> bool:
        """Whether the spare cores, with so many that come free, are enough for a job there."""
        return placement.cores_on(self._allowed, self._directory) <= self.spare_cores + freed

    def copy_of_then(self) -> Capacity | None:
        """What is free at the reserved time, to try things on; None where counting decides."""
        return None if self._then is None else self._then.copy()

    def fits_head(self, then: Capacity) -> bool:
        """Whether the head fits what would be free then."""
        return fit(then, self.head.request, self._allowed) is not None

    def outlasts(self, run: Run) -> bool:
        """Whether the run is taken to hold its cores still at the reserved time."""
        return run.end_s > self.at_s and run.id not in self._early and run.id not in self._inside

    def note_inside(self, run_id: str) -> None:
        """A run was let into the window by its shrunk estimate: it is taken to be gone by the reserved time."""
        self._inside |= {run_id}

    def _swap(self, then: Capacity, placement: Placement, end_s: float, request: Request, gone: Sequence[Run]) -> None:
        for run in gone:
            if self.outlasts(run):
                then.give(run.placement.shares(then.directory), run.job.request)
        if not self.window_holds(end_s):
            then.take(placement.shares(then.directory), request)

    def counts_out(self, job: Job, end_s: float, allowed: int) -> bool:
        """True where no placement at all on these vnodes can be admitted, known without looking for one."""
        if self.window_holds(end_s) or job.request.cores <= self.spare_cores:
            return False
        return allowed == self._allowed or not allowed & ~self._allowed

    def head_vnodes(self) -> int:
        """The vnodes the head would take at the reserved time; 0 where any will do."""
        if self._then is None:
            return 0
        placement = fit(self._then, self.head.request, self._allowed)
        mask = 0
        for share in placement.shares(self._then.directory) if placement else ():
            mask |= share.mask
        return mask


class HeadGuard:
    """Whether the head keeps its start if some runs end now and a job runs in their place until ``end_s``."""

    def __init__(self, reservation: Reservation, end_s: float, request: Request) -> None:
        self._reservation = reservation
        self._request = request
        self._inside_window = reservation.window_holds(end_s)
        self._gone: dict[str, Run] = {}
        self._freed = 0
        self._trial: Capacity | None = None

    def let_go(self, run: Run) -> None:
        """The run is gone: what it would still hold at the reserved time comes free."""
        if not self._inside_window and self._reservation.outlasts(run):
            self._gone[run.id] = run
            self._freed += self._reservation.cores_of(run)
            if self._trial is not None:
                self._trial.give(run.placement.shares(self._trial.directory), run.job.request)

    def keep(self, run: Run) -> None:
        """The run stays after all."""
        if self._gone.pop(run.id, None) is not None:
            self._freed -= self._reservation.cores_of(run)
            if self._trial is not None:
                self._trial.take(run.placement.shares(self._trial.directory), run.job.request)

    def admits(self, placement: Placement) -> bool:
        """Whether the head keeps its start with the job there."""
        if self._inside_window:
            return True
        trial = self._trial
        if trial is None:
            then = self._reservation.copy_of_then()
            if then is None:
                return not self._request.exclusive and self._reservation.has_beside(placement, self._freed)
            trial = self._trial = then
            for run in self._gone.values():
                trial.give(run.placement.shares(trial.directory), run.job.request)
        shares = placement.shares(trial.directory)
        trial.take(shares, self._request)
        kept = self._reservation.fits_head(trial)
        trial.give(shares, self._request)
        return kept


def reserve(
    world: World,
    head: Job,
    allowed: int,
    now_s: float,
    pending: Sequence[Pending] = (),
    expected: Mapping[str, float] = MappingProxyType({}),
    promise: Promise = NO_PROMISE,
) -> Reservation | None:
    """The reservation of a job that does not fit now; None where it would not fit even when all runs have ended.

    ``expected`` are the ends of runs that are expected before their estimates say. ``at_s`` is infinite where it
    depends on a run without a walltime. With a promise it is the promised time at the latest, if cutting can keep it.
    """
    capacity = world.capacity
    ends = world.ends
    if expected:
        ends = sorted([*(end for end in ends if end[1] not in expected), *((e, r) for r, e in expected.items())])
    plain = not (pending or capacity.exclusive or capacity.has_lone_vnodes or min(capacity.levels, default=0) < 0)
    if plain and head.request.only_cores:
        return _reserve_by_count(world, head, allowed & capacity.usable, now_s, ends, expected, promise)
    then = capacity.copy()
    victims = {victim for hold in pending for victim in hold.victims}
    releases = [Release(hold.end_s, hold.placement, hold.job.request) for hold in pending]
    for victim in victims & world.runs.keys():
        run = world.runs[victim]
        then.give(run.placement.shares(then.directory), run.job.request)
    for hold in pending:
        then.take_amounts(hold.missing)
        then.close(hold.placement.shares(then.directory), hold.job.request)
    for end_s, run_id in ends:
        if run_id not in victims:
            run = world.runs[run_id]
            releases.append(Release(end_s, run.placement, run.job.request))
    if pending:
        releases.sort(key=lambda release: release.end_s)
    if promise.at_s != UNLIMITED_S:
        kept = _keep_by_fit(then, head, allowed, now_s, releases, expected, promise, victims)
        if kept is not None:
            return kept
    return _reserve_by_fit(then, head, allowed, now_s, releases, expected)


def _reserve_by_count(
    world: World,
    head: Job,
    allowed: int,
    now_s: float,
    ends: Sequence[tuple[float, str]],
    expected: Mapping[str, float],
    promise: Promise,
) -> Reservation | None:
    idle = world.capacity.idle(allowed)
    directory = world.capacity.directory
    need = head.cores
    at_s = now_s
    runs = world.runs
    promised_s = promise.at_s
    everywhere = allowed == (1 << len(directory.names)) - 1
    for end_s, run_id in ends:
        if end_s > at_s:
            if idle >= need:
                break
            if end_s > promised_s:
                kept = _keep_by_count(world, head, allowed, now_s, idle, expected, promise)
                if kept is not None:
                    return kept
                promised_s = UNLIMITED_S
            at_s = end_s
        placement = runs[run_id].placement
        idle += placement.cores if everywhere else placement.cores_on(allowed, directory)
    return Reservation(head, at_s, allowed, idle - need, None, directory, expected) if idle >= need else None


def _keep_by_count(
    world: World, head: Job, allowed: int, now_s: float, idle: int, expected: Mapping[str, float], promise: Promise
) -> Reservation | None:
    """The reservation at the promised time with the runs that are cut then; None where even all are not enough."""
    directory = world.capacity.directory
    cut: dict[str, int] = {}
    for run in promise.cuttable():
        if idle >= head.cores:
            break
        if expected.get(run.id, run.end_s) > promise.at_s:
            cut[run.id] = run.placement.cores_on(allowed, directory)
            idle += cut[run.id]
    if idle < head.cores:
        return None
    for run_id, cores in [*cut.items()][::-1]:
        if idle - cores >= head.cores:
            idle -= cores
            del cut[run_id]
    early = {*expected, *cut}
    return Reservation(head, max(now_s, promise.at_s), allowed, idle - head.cores, None, directory, early)


def _keep_by_fit(
    free: Capacity,
    head: Job,
    allowed: int,
    now_s: float,
    releases: Sequence[Release],
    expected: Mapping[str, float],
    promise: Promise,
    gone: Container[str],
) -> Reservation | None:
    """The same on vnodes, without those ``gone`` already; None also where the head fits by the promised time without
    cutting anybody."""
    then = free.copy()
    ended = [release for release in releases if release.end_s <= promise.at_s]
    _give(then, ended)
    if fit(then, head.request, allowed) is not None:
        return None
    cut: list[Run] = []
    for run in promise.cuttable():
        if run.id not in gone and expected.get(run.id, run.end_s) > promise.at_s:
            cut.append(run)
            then.give(run.placement.shares(then.directory), run.job.request)
            if fit(then, head.request, allowed) is not None:
                break
    else:
        return None
    for run in cut[::-1]:
        then.take(run.placement.shares(then.directory), run.job.request)
        if fit(then, head.request, allowed) is None:
            then.give(run.placement.shares(then.directory), run.job.request)
        else:
            cut.remove(run)
    spare = max(0, then.idle(allowed) - head.cores)
    early = {*expected, *(run.id for run in cut)}
    return Reservation(head, max(now_s, promise.at_s), allowed, spare, then, free.directory, early)


def _reserve_by_fit(
    free: Capacity, head: Job, allowed: int, now_s: float, releases: list[Release], expected: Mapping[str, float]
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
    spare = max(0, then.idle(allowed) - head.cores)
    return Reservation(head, at_s, allowed, spare, then, free.directory, expected)


def _give(capacity: Capacity, releases: Sequence[Release]) -> None:
    for release in releases:
        capacity.give(release.placement.shares(capacity.directory), release.request)
