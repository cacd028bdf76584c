"""Backfilling: a job behind a head starts beside it, or inside its window, if the head keeps its start
(docs/policies.md, P3).

What is found for one job holds for others of the same shape until cores come free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

from policy.backfill.head_reservation import Reservation
from policy.backfill.queues_sharing_vnodes import Region
from policy.backfill.shrunk_estimate_and_may_be_cut import Tested
from policy.cycle.where_job_can_start_now import StartPlaces
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.ledger_between_passes import Backfilled
from policy.plan.pass_context import Context
from policy.plan.plan_builder import PlanBuilder
from policy.plan.rejection_cache import Rejections
from policy.reasons.reason import Reason
from policy.state.closure_windows import NOTHING_CLOSED, Closed


class Placed:
    """The job has started; ``left`` is the rest of an array."""

    __slots__ = ("left",)

    def __init__(self, left: Job | None) -> None:
        self.left = left


class NotBackfilled:
    """The job does not backfill, for this reason. ``final``: it must not preempt either."""

    __slots__ = ("final", "reason")

    def __init__(self, reason: Reason, *, final: bool = False) -> None:
        self.reason = reason
        self.final = final


class Backfilling:
    """Tries the jobs behind heads in one pass."""

    __slots__ = ("_builder", "_cluster", "_context", "_made_rejections", "_now_s", "_places", "_settings")

    def __init__(self, context: Context, builder: PlanBuilder, places: StartPlaces) -> None:
        self._context = context
        self._builder = builder
        self._places = places
        self._made_rejections: Rejections | None = None
        self._settings = context.settings
        self._now_s = context.now_s
        self._cluster = context.cluster

    @property
    def rejections(self) -> Rejections:
        """The rejections cache of the pass, made on first use: one that starts on cores alone needs none."""
        if self._made_rejections is None:
            self._made_rejections = Rejections(self._context, self._builder)
        return self._made_rejections

    def start(self, job: Job, region: Region, reservation: Reservation) -> Placed | NotBackfilled:
        """Start the job beside the head or inside its window; else return why not."""
        allowed = self._cluster.vnodes_of(job.queue)
        if self._settings.backfill.kind == "none":
            if not self.rejections.fits_now(job, allowed, NOTHING_CLOSED, region):
                return NotBackfilled(self.rejections.no_room(job, allowed, region))
            return NotBackfilled(Reason("behind-head", (("head", reservation.head.id),)), final=True)
        closed = self._places.closed_to(job)
        if not job.request.only_cores and self.rejections.lacks_room(job, allowed):
            return NotBackfilled(self.rejections.no_room(job, allowed, region))
        in_the_way = self.rejections.window_in_the_way(job, closed) if closed.key else None
        if in_the_way is not None:
            return NotBackfilled(in_the_way)
        reason = self._context.blocking_reason(job)
        if reason is not None:
            return NotBackfilled(reason, final=True)
        left_s, cuttable = job.longest_s, False
        if self._context.shrinks:
            left_s, cuttable = _tested(self._context, job, region, reservation)
        end_s = self._now_s + left_s
        passes = end_s > reservation.until_s
        if reservation.counts_out(job, end_s, allowed & ~closed.vnodes) or (
            passes and self._made_rejections is not None and self._made_rejections.delays_head(job, closed, reservation)
        ):
            if not self.rejections.fits_now(job, allowed, closed, region):
                return NotBackfilled(self._lacks(job, allowed, closed, region))
            return NotBackfilled(_not_beside(self._context, reservation, self._builder, job.request.exclusive))
        # Tested with the full estimate: a job that is cut at the head's time still holds its limits and licences when
        # the gates are checked for the head.
        reason = self._builder.blocking_reason_beside_heads(job)
        if reason is not None:
            return NotBackfilled(reason, final=True)
        if self._builder.is_beyond_limit(job):
            return NotBackfilled(self.rejections.beyond_limit(), final=True)
        allocation = self._places.place(job, allowed, closed)
        if allocation is None:
            return NotBackfilled(self._lacks(job, allowed, closed, region))
        if not isinstance(allocation, Reason) and not reservation.admits(allocation, end_s, job.request):
            allocation = self._places.place(job, allowed & ~reservation.head_vnodes(), closed)
            if allocation is None or (
                isinstance(allocation, Allocation) and not reservation.admits(allocation, end_s, job.request)
            ):
                self.rejections.note_delay(job, closed, reservation)
                return NotBackfilled(_not_beside(self._context, reservation, self._builder, job.request.exclusive))
        if isinstance(allocation, Reason):
            return NotBackfilled(allocation, final=True)
        left = self._builder.start(job, allocation, Backfilled(end_s, cuttable))
        if cuttable and not passes:
            reservation.note_inside(self._builder.starts[-1].id)
        return Placed(left)

    def _lacks(self, job: Job, allowed: int, closed: Closed, region: Region) -> Reason:
        """Why the job finds no place now: a window is in the way, or there is no room. Noted for others of its
        shape."""
        in_the_way = self._places.window_in_the_way(job, allowed, closed)
        if in_the_way is not None:
            self.rejections.note_window(job, closed, in_the_way)
            return in_the_way
        self.rejections.note_lack(job)
        return self.rejections.no_room(job, allowed, region)


def wait_behind(
    context: Context,
    builder: PlanBuilder,
    jobs: Sequence[Job],
    region: Region,
    attempt_behind_head: Callable[[Job, Region], None],
) -> None:
    """Give each of these jobs behind a head a reason to wait, or attempt it.

    They are no larger than what was idle before the walk. Most of them outlast the window, which is found by comparing
    numbers; the others are passed to ``attempt_behind_head``.
    """
    reservation = region.reservation
    assert reservation is not None  # noqa: S101 - they are behind a head
    window_s = reservation.until_s - context.now_s
    shrinks = context.shrinks
    exact = idle_cores_decide(context)
    idle, spare = region.idle, reservation.most_beside
    lacking: list[Job] | None = None
    passing: list[Job] | None = None
    for job in jobs:
        request = job.request
        cores = request.cores
        if request.only_cores:
            if cores > idle:
                if lacking is None:
                    lacking = builder.waiting_for(Reason("too-few-idle", (("idle", idle),)))
                lacking.append(job)
                continue
            if (
                exact
                and cores > spare
                and (job.left_s if job.saved_s else job.estimate_s) > window_s
                and not (shrinks and _tested(context, job, region, reservation).estimate_s <= window_s)
            ):
                if passing is None:
                    passing = builder.waiting_for(_not_beside(context, reservation, builder))
                passing.append(job)
                continue
        attempt_behind_head(job, region)
        if region.idle != idle:
            idle, lacking = region.idle, None
        if reservation.most_beside != spare:
            spare, passing = reservation.most_beside, None


def idle_cores_decide(context: Context) -> bool:
    """Whether every job that asks for cores alone fits now if that many are idle: all queues have the same vnodes, and
    no vnode gives itself to one job alone."""
    if context.capacity.sharing.has_lone_vnodes:
        return False
    return context.cluster.has_one_set_of_vnodes()


def _tested(context: Context, job: Job, region: Region, reservation: Reservation) -> Tested:
    """The estimate that a job behind the head is tested with."""
    return context.estimates.tested(job, reservation.until_s, region.promised_s)


def _not_beside(context: Context, reservation: Reservation, builder: PlanBuilder, alone: bool = False) -> Reason:
    """Why a job that would fit now, but outlasts the window, does not start; ``alone``: it shares its vnodes with
    none."""
    may_start = len(builder.starts) < context.settings.schedule.max_starts
    only_head = context.windows is None and context.plain and may_start
    may_be_taken = context.preemption is not None
    return reservation.why_not_beside(only_head=only_head, may_be_taken=may_be_taken, alone=alone)
