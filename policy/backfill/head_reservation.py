"""The head's reservation: its shadow time, what may run beside it, and which runs may be replaced by which job.

A job that ends inside the window is always admitted, one that outlasts it if the head still fits beside it at the
shadow time (docs/policies.md, "First come, the head, and EASY backfilling").
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from policy.fit.best_fit import fit, fits
from policy.model.allocation import Allocation
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.reasons.reason import Reason
from policy.reasons.reason_names import Numbers
from policy.state.vnodes_by_idle_cores import Capacity

_NO_RUNS: Final[frozenset[str]] = frozenset()


class Reservation:
    """The head of a region, the time it is reserved for, and what is spare beside it at that time.

    ``early``: runs taken to be gone by then although their estimates say later. ``until_s``: the end of the window,
    which is the shadow time, or the promise if that could not be kept.
    """

    __slots__ = (
        "_allowed", "_closed_cores", "_directory", "_early", "_inside", "_inventory", "_sharing", "_then", "_usable",
        "_why", "_why_at", "at_s", "head", "spare_cores", "until_s",
    )  # fmt: skip

    def __init__(
        self,
        head: Job,
        at_s: float,
        allowed: int,
        spare_cores: int,
        then: Capacity | None,
        capacity: Capacity,
        early: Container[str] = (),
        closed_cores: int = 0,
    ) -> None:
        """``capacity``: any one of the cluster. ``closed_cores``: cores on the head's vnodes that windows close to it,
        and that are not among the spare ones."""
        self.head = head
        self.at_s = at_s
        self.until_s = at_s
        self.spare_cores = spare_cores
        self._allowed = allowed
        self._then = then
        self._directory = capacity.directory
        self._inventory = capacity.inventory
        self._sharing = capacity.sharing
        self._usable = capacity.usable
        self._early = early
        self._closed_cores = closed_cores
        self._inside: frozenset[str] = _NO_RUNS
        # The last answer of why_not_beside, and what it was made of.
        self._why: Reason | None = None
        self._why_at: tuple[object, ...] = ()

    @property
    def most_beside(self) -> int:
        """At most so many cores may a job take that outlasts the reserved time: the spare ones, and those that a window
        closes to the head, which a job that ends before the window begins may have."""
        return self.spare_cores + self._closed_cores

    def why_not_beside(self, *, only_head: bool, may_be_taken: bool = False, alone: bool = False) -> Reason:
        """Why a job that outlasts the window does not start: too little is spare beside the head.

        If cores are counted and only the head is in the way, the reason has the number of cores that would do
        (``fewer``), unless the job is ``alone`` on its vnodes. ``only_head``: neither a reservation of PBS nor a
        stripe is in the way. ``may_be_taken``: jobs preempt, so that a later job of the pass may take a start back.
        """
        made_of = (self.at_s, self.until_s, self.spare_cores, only_head, may_be_taken, alone)
        if self._why is None or made_of != self._why_at:
            self._why, self._why_at = self._why_beside(only_head, may_be_taken, alone), made_of
        return self._why

    def _why_beside(self, only_head: bool, may_be_taken: bool, alone: bool) -> Reason:
        numbers: Numbers = (("head", self.head.id), ("at_s", self.at_s))
        numbers = (*numbers, ("before_s", self.until_s), ("beside", self.spare_cores))
        if self._then is None and only_head and not alone:
            numbers = (*numbers, ("fewer", self.spare_cores))
        if only_head:
            numbers = (*numbers, ("only_head", 1))
        if only_head and may_be_taken:
            numbers = (*numbers, ("may_be_taken", 1))
        return Reason("backfill-window", numbers)

    def window_holds(self, end_s: float) -> bool:
        """Whether a job with this end ends inside the window."""
        return end_s <= self.until_s and end_s != UNLIMITED_S

    def admits(self, allocation: Allocation, end_s: float, request: Request) -> bool:
        """Whether a job with this allocation leaves the head its start; if so, it counts as started from now on."""
        if self.window_holds(end_s):
            return True
        then = self._then
        if then is None:
            cores = self._cores_from(allocation, request)
            if cores > self.spare_cores:
                return False
            self.spare_cores -= cores
            return True
        shares = allocation.shares(then.directory)
        then.take(shares, request)
        kept = False
        try:
            kept = fits(then, self.head.request, self._allowed)
        finally:
            if not kept:
                then.give(shares, request)
        if not kept:
            return False
        self.spare_cores = max(0, then.idle(self._allowed) - self.head.cores)
        return True

    def guard(self, end_s: float, request: Request) -> HeadGuard:
        """A guard that tells which runs may end now so that a job runs until ``end_s`` in their place."""
        return HeadGuard(self, end_s, request)

    def replace(self, allocation: Allocation, end_s: float, request: Request, gone: Sequence[Run]) -> None:
        """Apply what a guard admitted: the runs in ``gone`` end now and a job runs in their place."""
        then = self._then
        if then is None:
            self.spare_cores += self._freed_later(gone)
            if not self.window_holds(end_s):
                self.spare_cores -= self._cores_from(allocation, request)
        else:
            self._swap(then, allocation, end_s, request, gone)
            self.spare_cores = max(0, then.idle(self._allowed) - self.head.cores)

    def _freed_later(self, gone: Sequence[Run]) -> int:
        """The cores of those runs that would still have held them at the shadow time."""
        return sum(self.cores_of(run) for run in gone if self.outlasts(run))

    def cores_of(self, run: Run) -> int:
        """The cores that the run holds on vnodes that the head may use."""
        return run.allocation.cores_on(self._allowed, self._directory)

    def _cores_from(self, allocation: Allocation, request: Request) -> int:
        """The cores that a job with this allocation takes from the head's vnodes: all of those that it has alone."""
        cores = allocation.cores_on(self._allowed, self._directory)
        if not request.exclusive:
            return cores
        there = 0
        for share in allocation.shares(self._directory):
            there |= share.mask
        alone = self._sharing.held_alone(there, request) & self._allowed
        return cores - allocation.cores_on(alone, self._directory) + self._inventory.total(alone)

    def has_beside(self, allocation: Allocation, request: Request, freed: int) -> bool:
        """Whether the spare cores and ``freed`` more are enough for a job with this allocation."""
        return self._cores_from(allocation, request) <= self.spare_cores + freed

    def copy_of_then(self) -> Capacity | None:
        """A copy of what is free at the shadow time; None if cores are counted instead."""
        return None if self._then is None else self._then.copy()

    def fits_head(self, then: Capacity) -> bool:
        """Whether the head fits ``then``."""
        return fits(then, self.head.request, self._allowed)

    def outlasts(self, run: Run) -> bool:
        """Whether the run is taken to hold its cores still at the shadow time."""
        return run.end_s > self.at_s and run.id not in self._early and run.id not in self._inside

    def note_inside(self, run_id: str) -> None:
        """Note that a run starts in the window by its shrunk estimate: it is taken to be gone by the shadow time."""
        self._inside |= {run_id}

    def _swap(
        self, then: Capacity, allocation: Allocation, end_s: float, request: Request, gone: Sequence[Run]
    ) -> None:
        for run in gone:
            if self.outlasts(run):
                then.give(run.allocation.shares(then.directory), run.job.request)
        if not self.window_holds(end_s):
            then.take(allocation.shares(then.directory), request)

    def counts_out(self, job: Job, end_s: float, allowed: int) -> bool:
        """True if no allocation on these vnodes can be admitted; known without a search."""
        if self.window_holds(end_s) or job.request.cores <= self.most_beside:
            return False
        return not allowed & self._usable & ~self._allowed

    def head_vnodes(self, then: Capacity | None = None) -> int:
        """The vnodes the head would take at the shadow time, or of what is free in ``then``; all that it may use if any
        of them will do."""
        then = then or self._then
        if then is None:
            return self._allowed
        allocation = fit(then, self.head.request, self._allowed)
        mask = 0
        for share in allocation.shares(then.directory) if allocation else ():
            mask |= share.mask
        return mask


class HeadGuard:
    """Tests whether the head keeps its start if some runs end now and a job runs in their place until ``end_s``."""

    def __init__(self, reservation: Reservation, end_s: float, request: Request) -> None:
        self._reservation = reservation
        self._end_s = end_s
        self._request = request
        self._inside_window = reservation.window_holds(end_s)
        self._gone: dict[str, Run] = {}
        self._freed = 0
        self._trial: Capacity | None = None

    def afresh(self) -> HeadGuard:
        """The same guard with no run gone, for another search."""
        return HeadGuard(self._reservation, self._end_s, self._request)

    def remove(self, run: Run) -> None:
        """Count the run as gone: what it would still hold at the shadow time comes free."""
        if not self._inside_window and self._reservation.outlasts(run):
            self._gone[run.id] = run
            self._freed += self._reservation.cores_of(run)
            if self._trial is not None:
                self._trial.give(run.allocation.shares(self._trial.directory), run.job.request)

    def put_back(self, run: Run) -> None:
        """Undo :meth:`remove`: the run stays."""
        if self._gone.pop(run.id, None) is not None:
            self._freed -= self._reservation.cores_of(run)
            if self._trial is not None:
                self._trial.take(run.allocation.shares(self._trial.directory), run.job.request)

    def admits(self, allocation: Allocation) -> bool:
        """Whether the head keeps its start if the job runs there."""
        if self._inside_window:
            return True
        trial = self._trial
        if trial is None:
            then = self._reservation.copy_of_then()
            if then is None:
                return self._reservation.has_beside(allocation, self._request, self._freed)
            trial = self._trial = then
            for run in self._gone.values():
                trial.give(run.allocation.shares(trial.directory), run.job.request)
        shares = allocation.shares(trial.directory)
        trial.take(shares, self._request)
        kept = self._reservation.fits_head(trial)
        trial.give(shares, self._request)
        return kept

    def vnodes_of_head(self) -> int:
        """The vnodes that the head would take with those runs gone; all that it may use if any of them will do."""
        return self._reservation.head_vnodes(self._trial)
