"""The heads of the regions: their reservations, and when they give way (docs/policies.md, "First come, the head, and
EASY backfilling" and "A head has no veto").

Only a job with a better claim takes cores as if nothing were reserved, and moves the promise of the head, which then
gets a new reservation.
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.backfill.cut_backfilled_for_promise import NO_PROMISE
from policy.backfill.head_reservation import Reservation
from policy.backfill.queues_sharing_vnodes import Region
from policy.backfill.shadow_time import reserve
from policy.cycle.held_by_jobs_outside_snapshot import HeldOutside
from policy.cycle.preempt_backfilled import NOTHING_EXPECTED, PromisedCuts
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job
from policy.plan.pass_context import Context
from policy.plan.plan_builder import OPENING, PlanBuilder
from policy.plan.plan_types import MovedPromise
from policy.plan.rejection_cache import why_pinned
from policy.reasons.reason import Reason
from policy.reasons.reason_names import Numbers


class Heads:
    """The heads of one pass."""

    __slots__ = ("_builder", "_context", "_cuts", "_held_outside", "_preemption")

    def __init__(self, context: Context, builder: PlanBuilder, cuts: PromisedCuts, held_outside: HeldOutside) -> None:
        self._context = context
        self._builder = builder
        self._cuts = cuts
        self._held_outside = held_outside
        self._preemption = context.preemption

    def reserve_for(
        self,
        job: Job,
        allowed: int,
        region: Region,
        tried: tuple[Reason, ...],
        in_the_way: Reason | None,
        from_s: float = 0.0,
    ) -> Reason:
        """Reserve for the job, from ``from_s`` on; return the reason why it waits."""
        context, now_s, windows = self._context, self._context.now_s, self._context.windows
        if context.confined is not None and job.request.exclusive:
            # On a vnode that is more than its quota it would not be let start.
            inventory = context.cluster.capacity.inventory
            allowed = allowed & ~context.confined.vnodes_beyond_quota(job, inventory) or allowed
        reservation, expected = self._find_reservation(job, allowed, max(from_s, now_s))
        if reservation is None:
            why = in_the_way or self._why_not_reserved(job, allowed, max(from_s, now_s), expected)
            return why._replace(tried=tried)
        promised_s = self._builder.promises.get(job.id, UNLIMITED_S)
        if windows is not None and promised_s == UNLIMITED_S:
            too_long = context.gates.why_not_planned(job, reservation.at_s, windows.slack_s)
            if too_long is not None:
                return too_long._replace(tried=tried)
        if reservation.at_s == UNLIMITED_S:
            self._count_beside(reservation)
        if self._builder.pending and reservation.at_s == now_s:
            # It waits for the victims of other jobs, which have time to save.
            reservation.at_s += context.settings.checkpoint.grace_s
        if reservation.at_s > promised_s:
            moved_for = region.moved_for or self._started_before(job, region)
            if moved_for is not None:
                self._move_promise(job, promised_s, reservation.at_s, moved_for)
                promised_s = reservation.at_s
        # A queue that is closed opens at the time that is known, not earlier.
        closed_until_s = max((float(each.number("at_s")) for each in tried if each.code == "queue-closed"), default=0.0)
        reservation.until_s = min(reservation.at_s, max(promised_s, closed_until_s))
        region.reservation, region.moved_for = reservation, None
        region.head_within = context.preemption is not None and context.claims.is_within(job)
        numbers: Numbers = (("idle", region.idle), ("at_s", reservation.at_s))
        over = None if windows is None else windows.ending_at(reservation.at_s, job, allowed)
        if over is not None:
            numbers = (*numbers, ("over", over))
        if in_the_way is not None:
            numbers = (*numbers, ("in_the_way", in_the_way.number("window")))
            tried = (in_the_way, *tried)
        tried = (*self._moved(job), *tried)
        return Reason("reserved", numbers, (why_pinned(job), *tried) if job.pinned else tried)

    def _find_reservation(
        self, job: Job, allowed: int, from_s: float
    ) -> tuple[Reservation | None, Mapping[str, float]]:
        """The job's reservation, if there is a time for it, and the backfilled runs that it counts on to end before
        their estimates, by when. It counts on none that would be too dear to cut if they did not."""
        context, pending = self._context, self._builder.pending
        promise, expected = NO_PROMISE, NOTHING_EXPECTED
        if context.shrinks:
            promise, expected = self._cuts.promise_to(job, allowed), self._cuts.expected_ends()
        while True:
            reservation = reserve(context.cluster, job, allowed, from_s, pending, expected, promise, context.windows)
            if reservation is None or not expected:
                return reservation, expected
            too_dear = self._cuts.too_dear(expected, min(reservation.at_s, promise.at_s))
            if not too_dear:
                return reservation, expected
            expected = {run_id: end_s for run_id, end_s in expected.items() if run_id not in too_dear}

    def _why_not_reserved(self, job: Job, allowed: int, from_s: float, expected: Mapping[str, float]) -> Reason:
        """Why there is no time for the job, which would fit an idle cluster."""
        context, pending = self._context, self._builder.pending
        endless = None if context.windows is None else context.windows.ending_at(UNLIMITED_S, job, allowed)
        # Without windows it would be reserved: those without a known end are in the way, whatever ends.
        if endless is not None and reserve(context.cluster, job, allowed, from_s, pending, expected) is not None:
            return Reason("into-window", (("window", endless),))
        # On an idle cluster it fits, or whether it does would take too long to find out.
        unsure = Reason("never-arranged", (("queue", job.queue), ("unsure", 1)))
        return self._held_outside.why(job, allowed) or unsure

    def gives_way(self, job: Job, region: Region) -> bool:
        """Whether the head of the region gives way to the job."""
        reservation = region.reservation
        if self._preemption is None or reservation is None:
            return False
        return self._context.claims.outranks(job, reservation.head)

    def lose_limits_to(self, job: Job) -> None:
        """Note which heads give way to a job that starts, or preempts, and has a hard limit or licences that they need
        at their reserved times."""
        context = self._context
        if job.queue in context.cluster.queues_without_gates():
            return
        end_s = context.now_s + job.longest_s
        for region in self._builder.each_region:
            reservation = region.reservation
            if reservation is None or region.moved_for is not None or end_s <= reservation.until_s:
                continue
            if self.gives_way(job, region) and context.gates.blocking_reason_beside(job, reservation.head) is not None:
                region.moved_for = job

    def reserve_again(self, region: Region) -> Reservation | None:
        """The reservation of the region, made anew if its head gave way since; None without a head."""
        reservation, waits = region.reservation, region.head_waits
        if region.moved_for is None or reservation is None or waits is None:
            return reservation
        head = reservation.head
        tried = tuple(each for each in waits.tried if each.code not in ("promise-moved", "pinned"))
        allowed = self._context.cluster.vnodes_of(head.queue)
        reason = self.reserve_for(head, allowed, region, tried, None, self._opens_s(head))
        region.moved_for = None
        if reason.code == "reserved":
            self._builder.leave_no_more(head, waits)
            self._builder.leave(head, reason)
            region.head_waits = reason
        return region.reservation

    def _opens_s(self, head: Job) -> float:
        """When its queue, hard limits and licences let the head start, as the starts of this pass leave them; 0 if they
        do now."""
        reason = self._context.blocking_reason(head)
        if reason is None or reason.code not in OPENING:
            return 0.0
        return self._builder.opens_s(head, reason)

    def reserve_again_and_withdraw_promises(self) -> None:
        """Reserve anew for the heads that gave way last, and withdraw the promises of jobs that wait behind a head of a
        higher class; such a job is promised a start again when it is the head. Only for passes in which jobs
        preempt."""
        claims, preemption = self._context.claims, self._context.preemption
        for region in self._builder.each_region:
            reservation = self.reserve_again(region)
            if reservation is None or not region.head_within or preemption is None or not preemption.in_vain:
                continue
            if self._builder.starts and not claims.is_within(reservation.head):
                # A start of this pass has used up its quota, so that it gives way in the next one.
                self._builder.again = True
        for job_id, promised_s in self._builder.promises.items():
            job = self._context.cluster.jobs.get(job_id)
            reservation = self._builder.regions[job.queue].reservation if job is not None else None
            if job is None or reservation is None or not claims.outranks_by_class(reservation.head, job):
                continue
            reason = self._builder.leave_no_more(job)
            if reason is not None:
                self._move_promise(job, promised_s, UNLIMITED_S, reservation.head)
                self._builder.leave(job, reason._replace(tried=(*self._moved(job), *reason.tried)))

    def _started_before(self, head: Job, region: Region) -> Job | None:
        """A job of a higher class that took cores of the region in this pass before the head was attempted, or None."""
        if self._context.preemption is None:
            return None
        held = {preempt.beneficiary for preempt in self._builder.preempts if not preempt.again}
        jobs = [(pending.job, "") for pending in self._builder.pending if pending.job.id in held]
        for job, run_id in (*jobs, *((start.job, start.id) for start in self._builder.starts)):
            if self._builder.regions[job.queue] is region and self._context.claims.outranks_by_class(job, head, run_id):
                return job
        return None

    def _move_promise(self, head: Job, was_s: float, at_s: float, moved_for: Job) -> None:
        """Move the head's promise to a later time, or withdraw it, for a job with a better claim."""
        now_s = None if at_s == UNLIMITED_S else at_s
        self._builder.moved[head.id] = MovedPromise(head.id, was_s, now_s, moved_for.id)
        if now_s is not None:
            self._builder.promised[head.id] = now_s

    def _moved(self, head: Job) -> tuple[Reason, ...]:
        """The job for which the head's promise moved last, as a reason; empty if it never moved."""
        if not self._builder.moved and not self._context.ledger.moved:
            return ()
        now, before = self._builder.moved.get(head.id), self._context.ledger.moved.get(head.id)
        if now is not None:
            return (_moved_for(now.beneficiary, before.first_s if before is not None else now.was_s),)
        return (_moved_for(before.beneficiary, before.first_s),) if before is not None else ()

    def _count_beside(self, reservation: Reservation) -> None:
        """For a head that waits for runs without a walltime: subtract from what is spare beside it the cores of other
        such runs that were backfilled beside it. They do not end with those that the head waits for."""
        runs = self._context.cluster.runs
        for run_id, entry in sorted(self._builder.backfilled().items()):
            run = runs.get(run_id)
            if entry.end_s == UNLIMITED_S and run is not None:
                reservation.admits(run.allocation, entry.end_s, run.job.request)


def _moved_for(beneficiary: str, first_s: float) -> Reason:
    """The reason that names the job for which a promise moved, and the start promised at first."""
    return Reason("promise-moved", (("beneficiary", beneficiary), ("at_s", first_s)))
