"""The search for the runs that make room for one job, whatever rule offers them (docs/policies.md, P1 to P3).

Runs are let go one by one, in the order they are offered, until the job fits and the reserved job keeps its start;
then a run that turned out not to be needed is kept after all. All of it happens on a copy of what is free: the world
stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from policy.fit.fit import fit
from policy.fit.host_chunks import may_span
from policy.model.allocation import Directory, Placement
from policy.model.bitsets import count_vnodes, each_bit
from policy.model.cluster import Job, Run
from policy.model.request import Amounts, Chunk, Request
from policy.state.capacity import Capacity
from policy.state.cluster_index import World
from policy.state.windows import NOTHING_CLOSED, Closed


class Guard(Protocol):
    """Stands for the reserved job: told which runs go and which stay after all, it says where the job may run."""

    def afresh(self) -> Guard:
        """The same guard with no run gone yet, for another search."""

    def let_go(self, run: Run) -> None:
        """The run is gone."""

    def keep(self, run: Run) -> None:
        """The run stays after all."""

    def admits(self, placement: Placement) -> bool:
        """Whether the reserved job keeps its start if the job runs there and all those are gone."""

    def vnodes_of_head(self) -> int:
        """The vnodes that the reserved job would take if all those are gone; 0 where any will do."""


class Room(NamedTuple):
    """Where the job runs once these runs are gone, in the order they were offered."""

    placement: Placement
    runs: tuple[Run, ...]


class Size(NamedTuple):
    """How much a run could free: its cores on some vnodes, how many of these it is on, and the most idle cores that
    one of them would have without it.

    On each of its vnodes a run makes room for one piece more at most than its own cores would hold.
    """

    cores: int
    vnodes: int
    most: int


def _cores_in(amounts: Amounts) -> int:
    """The cores among these amounts."""
    for name, amount in amounts:
        if name == "ncpus":
            return amount
    return 0


def size_of(run: Run, cores: int, usable: int, directory: Directory, idle: Sequence[int]) -> Size:
    """The size of a run with so many cores on the usable vnodes, of each of which ``idle`` has the idle cores."""
    everywhere = most = 0
    for mask, amounts, chunks, _ in run.placement.shares(directory):
        held = chunks * _cores_in(amounts)
        everywhere |= mask
        here = mask & usable
        while here:
            index = here.bit_length() - 1
            most = max(most, idle[index] + held)
            here ^= 1 << index
    return Size(cores, count_vnodes(everywhere & usable), most)


def add_idle(idle: list[int], run: Run, usable: int, directory: Directory) -> None:
    """Count the cores of a run as idle on its vnodes."""
    for mask, amounts, chunks, _ in run.placement.shares(directory):
        held = chunks * _cores_in(amounts)
        here = mask & usable
        while here:
            index = here.bit_length() - 1
            idle[index] += held
            here ^= 1 << index


def countable(request: Request, capacity: Capacity) -> Chunk | None:
    """The chunk of a request for equal pieces anywhere on single, shared vnodes: whether they fit is a matter of
    counting vnode by vnode."""
    if len(request.chunks) == 1 and request.place == "free" and request.group is None and not request.exclusive:
        chunk = request.chunks[0]
        return None if may_span(capacity, chunk) else chunk
    return None


class Search:
    """One job's search, with a guard where somebody else is reserved, and without what is closed to the job's run.
    It starts from ``free``, by default what is free now. ``blocked_by_head`` counts the times that only the reserved
    job was in the way."""

    def __init__(
        self,
        world: World,
        job: Job,
        allowed: int,
        guard: Guard | None = None,
        closed: Closed = NOTHING_CLOSED,
        free: Capacity | None = None,
    ) -> None:
        self._capacity: Capacity = (world.capacity if free is None else free).copy()
        self._capacity.take_amounts(closed.shares)
        self.closed = closed.vnodes
        self._ever = allowed
        allowed &= ~closed.vnodes
        self._job = job
        self.allowed = allowed
        self._guard = guard
        self._gone: dict[str, Run] = {}
        self._placement: Placement | None = None
        self._by_cores = not self._capacity.exclusive and not self._capacity.sharing.has_lone_vnodes
        self._idle = self._capacity.idle(allowed)
        self._usable = allowed & self._capacity.usable
        # The cores of the smallest piece that has to be on one vnode; none where pieces may be parted.
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

        # How many cores a run must free at least to be enough by itself; 0 where cores alone do not tell.
        self.short = max(0, job.cores - self._idle) if self._by_cores else 0

    def may_use(self, run: Run) -> bool:
        """Whether the run holds anything where the job may run."""
        if not self.closed:
            return True
        return any(share.mask & self.allowed for share in run.placement.shares(self._capacity.directory))

    def may_gain_enough(self, size: Size) -> bool:
        """Whether a run of this size alone could be enough, as far as its size tells."""
        cores, vnodes, most = size
        piece = self._smallest
        return cores >= self.short and most >= piece and cores + vnodes * max(0, piece - 1) >= self.lacking * piece

    def fits_but_for_head(self) -> bool:
        """Whether the job fits without any victim, so that only the reserved job is in its way."""
        if self._guard is None or (self._by_cores and self._idle < self._job.cores):
            return False
        return fit(self._capacity, self._job.request, self.allowed, self._ever) is not None

    def without_victims(self) -> Room | None:
        """Room without preempting anything."""
        return Room(self._placement, ()) if self._works() and self._placement is not None else None

    def alone(self, run: Run) -> Room | None:
        """Room by letting just this run go."""
        if self._chunk is None:
            if not self._could_help(run):
                return None
        elif self._gain(run, self._chunk.amounts, {}, 1) < self.lacking:
            return None
        self._let_go(run)
        room = Room(self._placement, (run,)) if self._works() and self._placement is not None else None
        self._keep(run)
        return room

    def first_enough(self, offered: Iterable[Run]) -> Room | None:
        """Room by letting go the first runs of those offered, and of these only who is needed, whoever was offered
        last being kept first; None if all of them are not enough. Afterwards nobody counts as gone, so that another
        search can follow."""
        try:
            return self._first_enough(iter(offered))
        finally:
            for run in [*self._gone.values()]:
                self._keep(run)

    def _first_enough(self, coming: Iterator[Run]) -> Room | None:
        order: list[Run] = []
        if self._chunk is not None:
            needed = self._needed_by_count(coming, order, self._chunk)
            if needed is None:
                return None
            for run in needed:
                self._let_go(run)
            if self._works() and self._placement is not None:
                return Room(self._placement, tuple(needed))
            # Only the reserved job is in the way: with more gone there may be room beside it.
            for run in order:
                if run.id not in self._gone:
                    self._let_go(run)
        return self._enough_by_trying(coming, order)

    def _needed_by_count(self, coming: Iterator[Run], order: list[Run], chunk: Chunk) -> list[Run] | None:
        """The first runs coming that leave room for all pieces, without those not needed, counted vnode by vnode; None
        if all do not leave enough. Each run looked at is added to the order."""
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
        """How many pieces more there is room for with the run gone (or, with -1, with it there again: none or fewer).

        ``free`` is what is free of each resource on the vnodes looked at so far; it is kept in step.
        """
        gain = 0
        for mask, held, chunks, _ in run.placement.shares(self._capacity.directory):
            amounts_held = dict(held)
            for bit in each_bit(mask & self._open):
                here = free.get(bit)
                if here is None:
                    here = free[bit] = [self._capacity.free_on(bit, resource) for resource, _ in amounts]
                before = _pieces(here, amounts)
                for index, (resource, _) in enumerate(amounts):
                    here[index] += sign * amounts_held.get(resource, 0) * chunks
                gain += _pieces(here, amounts) - before
        return gain

    def _enough_by_trying(self, coming: Iterator[Run], order: list[Run]) -> Room | None:
        """The same by looking where the job would run: after those in the order, who are gone, let more go."""
        directory = self._capacity.directory
        idle = self._idle + sum(run.placement.cores_on(self._usable, directory) for run in order)
        look_at, works = len(order) + 1, False
        for run in coming:
            order.append(run)
            self._let_go(run)
            idle += run.placement.cores_on(self._usable, directory)
            if (idle < self._job.cores and self._by_cores) or len(order) < look_at:
                continue
            works = self._works()
            if works:
                break
            # Where cores are there but not in the right places, looking after each run would cost the most.
            look_at = len(order) + max(1, len(order) // 4)
        if not works and not (order and self._works()):
            return None
        return self._with_those_needed(order)

    def _with_those_needed(self, order: Sequence[Run]) -> Room:
        self._keep_the_unneeded()
        assert self._placement is not None  # noqa: S101 - it works
        return Room(self._placement, tuple(run for run in order if run.id in self._gone))

    def _could_help(self, run: Run) -> bool:
        """Whether the run holds cores on a vnode that would then hold a piece of the job; no if certainly not."""
        capacity = self._capacity
        for mask, amounts, chunks, _ in run.placement.shares(capacity.directory):
            held = chunks * _cores_in(amounts)
            if capacity.reaches(mask & self.allowed, self._smallest - held):
                return True
        return False

    def _let_go(self, run: Run) -> None:
        self._capacity.give(run.placement.shares(self._capacity.directory), run.job.request)
        self._gone[run.id] = run
        if self._guard is not None:
            self._guard.let_go(run)

    def _keep(self, run: Run) -> None:
        self._capacity.take(run.placement.shares(self._capacity.directory), run.job.request)
        del self._gone[run.id]
        if self._guard is not None:
            self._guard.keep(run)

    def _works(self) -> bool:
        if self._chunk is not None and not self._fits(self._chunk):
            return False
        placement = fit(self._capacity, self._job.request, self.allowed, self._ever)
        if placement is None:
            return False
        if self._guard is not None and not self._guard.admits(placement):
            avoided = self._guard.vnodes_of_head()
            beside = fit(self._capacity, self._job.request, self.allowed & ~avoided, self._ever) if avoided else None
            if beside is None or not self._guard.admits(beside):
                self.blocked_by_head += 1
                return False
            placement = beside
        self._placement = placement
        return True

    def _keep_the_unneeded(self) -> None:
        """Keep the runs that the job does not need, those offered last first."""
        for run in [*self._gone.values()][::-1]:
            self._keep(run)
            if not self._works():
                self._let_go(run)
        self._works()

    def _fits(self, chunk: Chunk) -> bool:
        """Whether the pieces fit, whoever is reserved."""
        return self._capacity.pieces(chunk, self._open, chunk.pieces) >= chunk.pieces


def _pieces(free: Sequence[int], amounts: Amounts) -> int:
    """How many pieces so much of each resource holds."""
    count = 1 << 30
    for (_, amount), there in zip(amounts, free):
        if there < amount:
            return 0
        count = min(count, there // amount)
    return count
