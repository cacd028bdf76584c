"""Where a job can start now, and what prevents it there (docs/policies.md, P4 and P5).

For a job with a better claim than the head of its region, a place at which the head keeps its start is preferred.
"""

from __future__ import annotations

from policy.backfill.queues_sharing_vnodes import Region
from policy.fit.best_fit import fit
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import Job
from policy.plan.pass_context import Context
from policy.reasons.reason import Reason
from policy.state.closure_windows import NOTHING_CLOSED, Closed


class StartPlaces:
    """Finds places for starts in one pass, on the cluster index as it is at the time of the call."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def closed_to(self, job: Job, *, late: bool = False, at_s: float | None = None) -> Closed:
        """What windows close to the job if it starts now, or at that time; with ``late``, after others have made
        room."""
        windows = self._context.windows
        if windows is None:
            return NOTHING_CLOSED
        start_s = self._context.now_s if at_s is None else at_s
        return windows.closed_to(job, start_s, windows.slack_s if late else 0.0)

    def worth_clearing(self, job: Job, allowed: int) -> int:
        """Those of the vnodes on which runs may be preempted or cut for the job (docs/policies.md, P4 12)."""
        return allowed if job.rank is None else self._context.placer.worth_clearing(job, allowed)

    def window_in_the_way(self, job: Job, allowed: int, closed: Closed) -> Reason | None:
        """The window without which the job would fit now, as a reason; None if there is none."""
        windows = self._context.windows
        if windows is None or not closed.key:
            return None
        allocation = fit(self._context.capacity, job.request, allowed)
        return None if allocation is None else windows.why(job, self._context.now_s, allocation)

    def place(self, job: Job, allowed: int, closed: Closed) -> Allocation | Reason | None:
        """Where the job can start now; a reason if it would fit but must not start (P4, P5, unpreemptible over quota);
        None if it does not fit."""
        if closed is NOTHING_CLOSED:
            allocation = self._place_on(job, allowed)
        else:
            with closed.applied_to(self._context.capacity):
                allocation = self._place_on(job, allowed & ~closed.vnodes)
        confined = self._context.confined
        if confined is not None and isinstance(allocation, Allocation):
            # An exclusive job's use of its quota is known only once it has an allocation.
            return confined.why(job, allocation) or allocation
        return allocation

    def place_beside(self, job: Job, allowed: int, closed: Closed, region: Region) -> Allocation | Reason | None:
        """Where a job with a better claim than the head can start now: a place where the head loses nothing, if there
        is one, else any, and the head gives way."""
        allocation = self.place(job, allowed, closed)
        reservation = region.reservation
        if region.moved_for is not None or reservation is None or not isinstance(allocation, Allocation):
            return allocation
        end_s = self._context.now_s + job.longest_s
        if reservation.admits(allocation, end_s, job.request):
            return allocation
        elsewhere = self.place(job, allowed & ~reservation.head_vnodes(), closed)
        if isinstance(elsewhere, Allocation) and reservation.admits(elsewhere, end_s, job.request):
            return elsewhere
        region.moved_for = job
        return allocation

    def _place_on(self, job: Job, vnodes: int) -> Allocation | Reason | None:
        context = self._context
        if job.pinned or (context.plain and job.layout is None and job.rank is None):
            return fit(context.capacity, job.request, vnodes, self._context.cluster.vnodes_of(job.queue))
        return context.placer.place(job, vnodes)
