"""Searches the runs that make room for one job, by whatever rule they are offered (docs/policies.md, P1 to P3).

On a copy of what is free, runs are removed one by one in the order offered, until the job fits and the head keeps its
start; then each run that turned out not to be needed is put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from policy.fit.best_fit import fit
from policy.fit.split_chunk_within_host import may_span
from policy.model.allocation import Allocation, Directory
from policy.model.job_request import Amounts, Chunk, Request
from policy.model.jobs_runs_vnodes_queues import Job, Run
from policy.model.vnode_bitsets import count_vnodes, each_bit
from policy.state.closure_windows import NOTHING_CLOSED, Closed
from policy.state.cluster_index import ClusterIndex
from policy.state.vnodes_by_idle_cores import Capacity


class Guard(Protocol):
    """Represents the head: tracks which runs are gone, and decides where the job may run."""

    def afresh(self) -> Guard:
        """The same guard with no run gone, for another search."""

    def remove(self, run: Run) -> None:
        """Count the run as gone."""

    def put_back(self, run: Run) -> None:
        """Undo :meth:`remove`: the run stays."""

    def admits(self, allocation: Allocation) -> bool:
        """Whether the head keeps its start if the job runs there and those runs are gone."""

    def vnodes_of_head(self) -> int:
        """The vnodes that the head would take with those runs gone; all that it may use if any of them will do."""


class Slot(NamedTuple):
    """The job's allocation once these runs are gone, in the order they were offered."""

    allocation: Allocation
    runs: tuple[Run, ...]


class Size(NamedTuple):
    """How much a run could free: its cores on some vnodes, how many of these it is on, and the most idle cores that one
    of them would have without it.

    On each of its vnodes a run makes room for at most one piece more than its own cores would hold.
    """

    cores: int
    vnodes: int
    most: int


def cores_in(amounts: Amounts) -> int:
    """The cores among these amounts."""
    for name, amount in amounts:
        if name == "ncpus":
            return amount
    return 0


def size_of(run: Run, cores: int, usable: int, directory: Directory, idle: Sequence[int]) -> Size:
    """The size of a run with ``cores`` on the usable vnodes; ``idle`` has the idle cores of each vnode."""
    most = held = 0
    for index, _, _, held_there in run.allocation.cells(directory):
        if usable >> index & 1:
            most = max(most, idle[index] + held_there)
            held |= 1 << index
    return Size(cores, count_vnodes(held), most)


def add_idle(idle: list[int], run: Run, usable: int, directory: Directory) -> None:
    """Count the run's cores as idle on its vnodes."""
    for index, _, _, cores in run.allocation.cells(directory):
        if usable >> index & 1:
            idle[index] += cores


def countable(request: Request, capacity: Capacity) -> Chunk | None:
    """The chunk of a request for equal pieces anywhere on single, shared vnodes, else None. Whether such a request fits
    is found by counting, vnode by vnode, where no vnode limits the number of its jobs."""
    plain = request.place == "free" and request.group is None and not request.exclusive and request.owner is None
    if len(request.chunks) == 1 and plain:
        chunk = request.chunks[0]
        return None if may_span(capacity, chunk) else chunk
    return None


class Search:
    """One job's search: with a guard if there is another head, and without what is closed to the job's run.

    It starts from ``free``, by default what is free now. ``blocked_by_head`` counts the times that only the head was in
    the way.
    """

    def __init__(
        self,
        cluster: ClusterIndex,
        job: Job,
        allowed: int,
        guard: Guard | None = None,
        closed: Closed = NOTHING_CLOSED,
        free: Capacity | None = None,
    ) -> None:
        before = cluster.capacity if free is None else free
        # Asked for before it is copied, so that the searches of a pass share it.
        before.idle_by_index()
        self._capacity: Capacity = before.copy()
        self._capacity.take_amounts(closed.shares)
        self.closed = closed.vnodes
        self._ever = allowed
        allowed &= ~closed.vnodes
        self._job = job
        self.allowed = allowed
        # No run may be left there: the job's vnodes, and the rest of the hosts that it gets whole.
        self._reach = self._capacity.sharing.reach(allowed, job.request)
        self.gets_hosts = bool(self._reach & ~allowed)
        self._guard = guard
        self._gone: dict[str, Run] = {}
        self._allocation: Allocation | None = None
        self._by_cores = self._capacity.is_bound_by_amounts()
        self._idle = self._capacity.idle(allowed)
        self._usable = allowed & self._capacity.usable
        # The cores of the smallest piece that must be on one vnode; 0 if pieces may be divided.
        self._smallest = min(
            0 if may_span(self._capacity, chunk, job.request.place) else chunk.cores for chunk in job.request.chunks
        )
        self.blocked_by_head = 0
        self._chunk: Chunk | None = countable(job.request, self._capacity) if self._by_cores else None
        self._open = self._usable & self._capacity.inventory.matching(self._chunk) if self._chunk is not None else 0
        self.lacking = (
            self._chunk.pieces - self._capacity.pieces(self._chunk, self._open, self._chunk.pieces)
            if self._chunk is not None
            else 0
        )

        # By what a run holds of each resource: the same in the order of the chunk's amounts.
        self._held: dict[Amounts, tuple[int, ...]] = {}

        # How many cores a run must free at least to be enough by itself; 0 if cores alone do not decide.
        self.short = max(0, job.cores - self._idle) if self._by_cores else 0

    def may_use(self, run: Run) -> bool:
        """Whether the run holds anything where the job may run, or on a host that it gets whole."""
        if not self.closed:
            return True
        return any(share.mask & self._reach for share in run.allocation.shares(self._capacity.directory))

    def may_gain_enough(self, size: Size) -> bool:
        """Whether a run of this size could be enough alone, as far as its size shows."""
        if self.gets_hosts:
            return True
        cores, vnodes, most = size
        piece = self._smallest
        return cores >= self.short and most >= piece and cores + vnodes * max(0, piece - 1) >= self.lacking * piece

    def least_freed(self, runs: Sequence[Run]) -> int:
        """A lower bound on the cores that victims among these runs free if they are enough; 0 where counting does not
        show it."""
        chunk = self._chunk
        if chunk is None or not chunk.cores:
            return 0
        open_to_runs = 0
        for run in runs:
            for share in run.allocation.shares(self._capacity.directory):
                open_to_runs |= share.mask & self._open
        first_pieces = []
        for bit in each_bit(open_to_runs):
            free = [self._capacity.free_on(bit, resource) for resource, _ in chunk.amounts]
            one_more = (_pieces(free, chunk.amounts) + 1) * chunk.cores
            first_pieces.append(max(0, one_more - self._capacity.free_on(bit, "ncpus")))
        # A vnode's second piece takes all its cores from the runs.
        further = max(0, self.lacking - len(first_pieces))
        return sum(sorted(first_pieces)[: self.lacking]) + further * chunk.cores

    def fits_but_for_head(self) -> bool:
        """Whether the job fits without any victim, so that only the head is in its way."""
        if self._guard is None or (self._by_cores and self._idle < self._job.cores):
            return False
        return fit(self._capacity, self._job.request, self.allowed, self._ever) is not None

    def without_victims(self) -> Slot | None:
        """Room without any victim."""
        return Slot(self._allocation, ()) if self._works() and self._allocation is not None else None

    def is_too_little(self, run: Run) -> bool:
        """Whether a run on a single vnode leaves too few idle cores there to be enough alone; False if that is not
        certain."""
        chunk, cells = self._chunk, run.allocation.cells(self._capacity.directory)
        if chunk is None or self.lacking <= 0 or len(cells) != 1 or not chunk.cores:
            return False
        index, _, _, cores = cells[0]
        return (self._capacity.idle_by_index()[index] + cores) // chunk.cores < self.lacking

    def alone(self, run: Run) -> Slot | None:
        """Room with just this run gone."""
        if self._chunk is None:
            if not self._could_help(run):
                return None
        elif self._gain(run, self._chunk.amounts, {}, 1) < self.lacking:
            return None
        self._remove(run)
        room = Slot(self._allocation, (run,)) if self._works() and self._allocation is not None else None
        self._put_back(run)
        return room

    def first_enough(self, offered: Iterable[Run]) -> Slot | None:
        """Room with the first of the offered runs gone, and of these only those needed; the one offered last is put
        back first. None if all of them are not enough. Afterwards no run counts as gone, so that another search can
        follow."""
        try:
            return self._first_enough(iter(offered))
        finally:
            for run in [*self._gone.values()]:
                self._put_back(run)

    def _first_enough(self, coming: Iterator[Run]) -> Slot | None:
        order: list[Run] = []
        if self._chunk is not None:
            needed = self._needed_by_count(coming, order, self._chunk)
            if needed is None:
                return None
            for run in needed:
                self._remove(run)
            if self._works() and self._allocation is not None:
                return Slot(self._allocation, tuple(needed))
            # Only the head is in the way: with more runs gone there may be room beside it.
            for run in order:
                if run.id not in self._gone:
                    self._remove(run)
        return self._enough_by_trying(coming, order)

    def _needed_by_count(self, coming: Iterator[Run], order: list[Run], chunk: Chunk) -> list[Run] | None:
        """The first runs that leave room for all pieces, without those not needed, counted vnode by vnode; None if all
        of them do not leave enough. Each run looked at is appended to ``order``."""
        lacking, amounts = self.lacking, chunk.amounts
        free: dict[int, list[int]] = {}
        for run in coming:
            order.append(run)
            lacking -= self._gain(run, amounts, free, 1)
            if lacking <= 0:
                break
        if lacking > 0:
            return None
        needed: list[Run] = []
        for run in reversed(order):
            lost = self._gain(run, amounts, free, -1)
            if lacking - lost > 0:
                self._gain(run, amounts, free, 1)
                needed.append(run)
            else:
                lacking -= lost
        return needed[::-1]

    def _gain(self, run: Run, amounts: Amounts, free: dict[int, list[int]], sign: int) -> int:
        """How many more pieces have room with the run gone; with sign -1, with it back again (0 or fewer).

        ``free`` is what is free of each resource on the vnodes looked at so far, by index; it is updated.
        """
        gain, capacity = 0, self._capacity
        for index, held, chunks, _ in run.allocation.cells(capacity.directory):
            here = free.get(index)
            if here is None:
                if not self._open >> index & 1:
                    continue
                here = free[index] = [capacity.free_at(index, resource) for resource, _ in amounts]
            before = _pieces(here, amounts)
            by_place = self._held.get(held)
            if by_place is None:
                by_name = dict(held)
                by_place = self._held[held] = tuple([by_name.get(resource, 0) for resource, _ in amounts])
            for place, amount in enumerate(by_place):
                here[place] += sign * amount * chunks
            gain += _pieces(here, amounts) - before
        return gain

    def _enough_by_trying(self, coming: Iterator[Run], order: list[Run]) -> Slot | None:
        """The same by placing the job: the runs in ``order`` are gone already, more are removed after them."""
        directory = self._capacity.directory
        idle = self._idle + sum(run.allocation.cores_on(self._usable, directory) for run in order)
        look_at, works = len(order) + 1, False
        for run in coming:
            order.append(run)
            self._remove(run)
            idle += run.allocation.cores_on(self._usable, directory)
            if (idle < self._job.cores and self._by_cores) or len(order) < look_at:
                continue
            works = self._works()
            if works:
                break
            # If the cores are there but in the wrong places, a trial after each run would be most of the cost.
            look_at = len(order) + max(1, len(order) // 4)
        if not works and not (order and self._works()):
            return None
        return self._with_those_needed(order)

    def _with_those_needed(self, order: Sequence[Run]) -> Slot:
        self._put_back_the_unneeded()
        assert self._allocation is not None  # noqa: S101 - it works
        return Slot(self._allocation, tuple(run for run in order if run.id in self._gone))

    def _could_help(self, run: Run) -> bool:
        """Whether the run holds cores on a vnode that might then hold a piece of the job; False only if certainly
        not."""
        capacity = self._capacity
        for mask, amounts, chunks, _ in run.allocation.shares(capacity.directory):
            held = chunks * cores_in(amounts)
            if mask & self._reach & ~self.allowed or capacity.reaches(mask & self.allowed, self._smallest - held):
                return True
        return False

    def _remove(self, run: Run) -> None:
        self._capacity.give(run.allocation.shares(self._capacity.directory), run.job.request)
        self._gone[run.id] = run
        if self._guard is not None:
            self._guard.remove(run)

    def _put_back(self, run: Run) -> None:
        self._capacity.take(run.allocation.shares(self._capacity.directory), run.job.request)
        del self._gone[run.id]
        if self._guard is not None:
            self._guard.put_back(run)

    def _works(self) -> bool:
        if self._chunk is not None and not self._fits(self._chunk):
            return False
        allocation = fit(self._capacity, self._job.request, self.allowed, self._ever)
        if allocation is None:
            return False
        if self._guard is not None and not self._guard.admits(allocation):
            avoided = self._guard.vnodes_of_head()
            beside = fit(self._capacity, self._job.request, self.allowed & ~avoided, self._ever) if avoided else None
            if beside is None or not self._guard.admits(beside):
                self.blocked_by_head += 1
                return False
            allocation = beside
        self._allocation = allocation
        return True

    def _put_back_the_unneeded(self) -> None:
        """Put back the runs that the job does not need, those offered last first."""
        for run in [*self._gone.values()][::-1]:
            self._put_back(run)
            if not self._works():
                self._remove(run)
        self._works()

    def _fits(self, chunk: Chunk) -> bool:
        """Whether the pieces fit, regardless of the head."""
        return self._capacity.pieces(chunk, self._open, chunk.pieces) >= chunk.pieces


def _pieces(free: Sequence[int], amounts: Amounts) -> int:
    """How many pieces fit in these amounts."""
    count = 1 << 30
    for (_, amount), there in zip(amounts, free):
        if there < amount:
            return 0
        count = min(count, there // amount)
    return count
