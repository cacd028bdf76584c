"""One attempt to start a job: it starts, preempts, becomes the head, backfills, or waits for a reason
(docs/policies.md, "Together, in one pass").

Each decision is recorded in the plan builder at once, so that later attempts see it.
"""

from __future__ import annotations

from policy.backfill.queues_sharing_vnodes import Region
from policy.cycle.backfill_attempt import Backfilling, Placed
from policy.cycle.earmarked_for_preemptor import Earmarks
from policy.cycle.held_by_jobs_outside_snapshot import HeldOutside
from policy.cycle.preempt_backfilled import PromisedCuts
from policy.cycle.reserve_for_heads_or_yield import Heads
from policy.cycle.where_job_can_start_now import StartPlaces
from policy.fit.fits_idle_cluster import fits_idle_cluster
from policy.fit.split_chunk_within_host import ever_holds
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job
from policy.model.ledger_between_passes import CLASS, PROMISE, QUOTA
from policy.model.priority_class import BASE
from policy.plan.pass_context import Context
from policy.plan.plan_builder import OPENING, PlanBuilder
from policy.plan.rejection_cache import Rejections, why_pinned
from policy.preemption.victim_search import Slot
from policy.preemption.victim_selection import Found, Victim
from policy.reasons.reason import Reason
from policy.reasons.reason_names import Numbers
from policy.state.closure_windows import NOTHING_CLOSED, Closed


class JobAttempts:
    """The attempts of one pass. ``set_aside``: the rest of arrays of which the quota covered only some subjobs, or one
    started on cores that were taken back; it is attempted last, in a class of its own."""

    _made_earmarks: Earmarks | None = None
    _made_backfilling: Backfilling | None = None

    def __init__(self, context: Context, builder: PlanBuilder) -> None:
        self._context = context
        self._cluster = context.cluster
        self._builder = builder
        self._preemption = context.preemption
        self.set_aside: list[Job] = []
        self._places = StartPlaces(context)
        self._cuts = PromisedCuts(context, builder, self._places)
        self._held_outside = HeldOutside(context)
        self.heads = Heads(context, builder, self._cuts, self._held_outside)

    @property
    def earmarks(self) -> Earmarks:
        """The earmarks of the pass, made on first use."""
        if self._made_earmarks is None:
            self._made_earmarks = Earmarks(self._context, self._builder)
        return self._made_earmarks

    @property
    def rejections(self) -> Rejections:
        """The rejections cache, made on first use."""
        return self.backfilling.rejections

    @property
    def backfilling(self) -> Backfilling:
        """The starts behind heads, made on first use."""
        if self._made_backfilling is None:
            self._made_backfilling = Backfilling(self._context, self._builder, self._places)
        return self._made_backfilling

    def honour_earmarks(self) -> None:
        """Start the beneficiaries of earlier passes that can start, and renew the earmarks of the others."""
        self.earmarks.honour(self._cuts.tested_at_promise)

    def attempt_later(self, job: Job, region: Region) -> None:
        """Attempt a job that this pass has put off. Its gates are checked again: starts since then may have used up a
        limit."""
        reason = self._context.blocking_reason(job)
        if reason is not None:
            self.at_a_gate(job, reason)
        elif region.reservation is None:
            self.attempt(job, region)
        else:
            self.attempt_behind_head(job, region)

    def attempt(self, job: Job, region: Region) -> None:
        """Attempt a job of a region without a head: start it, preempt for it, or make it the head."""
        left: Job | None = job
        allowed = self._cluster.vnodes_of(job.queue)
        closed = NOTHING_CLOSED if self._context.windows is None else self._places.closed_to(job)
        in_the_way: Reason | None = None
        builder = self._builder
        while left is not None:
            job = left
            if builder.is_beyond_limit(job):
                builder.leave(job, self.rejections.beyond_limit())
                return
            if job.request.only_cores and job.request.cores > region.idle:
                in_the_way = self._places.window_in_the_way(job, allowed, closed) if closed.key else None
                break
            allocation = self._places.place(job, allowed, closed)
            if isinstance(allocation, Reason):
                if allocation.code == "unpreemptible":
                    builder.lapsed.add(job.id)
                builder.leave(job, allocation)
                return
            if allocation is None:
                in_the_way = self._places.window_in_the_way(job, allowed, closed) if closed.key else None
                break
            blocking = builder.blocking_reason_beside_heads(job)
            if blocking is not None:
                builder.leave(job, blocking)
                return
            left = self._next_of_array(job, builder.start(job, allocation))
        if left is None:
            return
        reason = self._never(job, allowed, region)
        if reason is None and job.id not in builder.promises:
            reason = self._builder.blocking_reason_beside_heads(job, UNLIMITED_S)
        if reason is None:
            shrinks = self._context.shrinks
            if shrinks and self._cut_at_promise(job, allowed):
                return
            tried = () if self._preemption is None else self._preempt(job, allowed, region)
            if tried is None:
                return
            limited = None if job.request.owner is None else self.rejections.limited_vnodes(job, allowed)
            tried = tried if limited is None else (limited, *tried)
            if job.topjob_ineligible:
                builder.leave(job, self._unreserved(job, region, tried, in_the_way))
                return
            reason = self.heads.reserve_for(job, allowed, region, tried, in_the_way)
            if shrinks and self._cut_ahead(job, allowed, region):
                return
            region.head_waits = reason
        builder.leave(job, reason)

    def _unreserved(self, job: Job, region: Region, tried: tuple[Reason, ...], in_the_way: Reason | None) -> Reason:
        """Why a job that fits at some time, but must not become the head, waits."""
        numbers: Numbers = (("idle", region.idle),)
        if in_the_way is not None:
            numbers = (*numbers, ("in_the_way", in_the_way.number("window")))
            tried = (in_the_way, *tried)
        return Reason("topjob-ineligible", numbers, (why_pinned(job), *tried) if job.pinned else tried)

    def at_a_gate(self, job: Job, reason: Reason) -> None:
        """Leave a job that a gate blocks, whatever is free.

        A job with a promise becomes the head of its region all the same if only a hard limit or licences block it and
        running jobs will give these back, or if its queue will open: no other job may take its cores then.
        """
        opens_s = self._builder.opens_s(job, reason) if job.id in self._builder.promises else UNLIMITED_S
        region = None if opens_s == UNLIMITED_S else self._builder.regions[job.queue]
        if region is None or region.reservation is not None:
            self._builder.leave(job, reason)
            return
        allowed = self._cluster.vnodes_of(job.queue)
        if not (self._context.shrinks and self._cut_at_promise(job, allowed)):
            region.head_waits = self.heads.reserve_for(job, allowed, region, (reason,), None, opens_s)
            self._builder.leave(job, region.head_waits)

    def _before_head(self, job: Job, region: Region) -> None:
        """Attempt a job with a better claim than the head: it takes idle cores and victims as if nothing were
        reserved."""
        builder, allowed = self._builder, self._cluster.vnodes_of(job.queue)
        blocking = self._context.blocking_reason(job)
        if blocking is not None:
            builder.leave(job, blocking)
            return
        closed = self._places.closed_to(job)
        left: Job | None = job
        while left is not None:
            job = left
            if job.request.cores > region.idle:
                self._preempt_or_leave(job, region, self.rejections.too_few(region))
                return
            if builder.is_beyond_limit(job):
                builder.leave(job, self.rejections.beyond_limit())
                return
            allocation = self._places.place_beside(job, allowed, closed, region)
            if isinstance(allocation, Reason):
                builder.leave(job, allocation)
                return
            if allocation is None:
                in_the_way = self._places.window_in_the_way(job, allowed, closed)
                lacks = in_the_way or self.rejections.no_room(job, allowed, region)
                self._preempt_or_leave(job, region, lacks)
                return
            self.heads.lose_limits_to(job)
            left = self._next_of_array(job, builder.start(job, allocation))
            if left is not None and not self.heads.gives_way(left, region):
                self.attempt_behind_head(left, region)
                return

    def _cut_at_promise(self, job: Job, allowed: int) -> bool:
        """Cut backfilled runs for a head whose promised time has come; False if it has not, or if cuts do not help."""
        return self._cut(job, self._cuts.room_at_promise(job, allowed))

    def _cut_ahead(self, job: Job, allowed: int, region: Region) -> bool:
        """Cut for a new head whose reserved time is nearer than the grace, if that time depends on a run that may take
        longer. The victims are asked to save at once, and the time is promised as to any other head."""
        reservation = region.reservation
        if reservation is None or job.id in self._builder.promises:
            return False
        self._builder.promised[job.id] = reservation.at_s
        if not self._cut(job, self._cuts.room_by(reservation.at_s, job, allowed)):
            del self._builder.promised[job.id]
            return False
        region.reservation = None
        return True

    def _cut(self, job: Job, room: Slot | None) -> bool:
        """Cut the runs of ``room`` for the job; False if there is none."""
        if room is None:
            return False
        self.earmarks.begin(job, room.allocation, [Victim(run, None) for run in room.runs], PROMISE)
        return True

    def attempt_behind_head(self, job: Job, region: Region) -> None:
        """Attempt a job of a region that has a head: start it beside the head or within the window, preempt, or wait.
        The head gives way to a job with a better claim."""
        if self._preemption is not None and self.heads.gives_way(job, region):
            self._before_head(job, region)
            return
        reservation = self.heads.reserve_again(region)
        assert reservation is not None  # noqa: S101 - there is a head
        left: Job | None = job
        while left is not None:
            job = left
            main: Reason | None
            if job.request.cores > region.idle:
                main = self.rejections.too_few(region)
            else:
                started = self.backfilling.start(job, region, reservation)
                if isinstance(started, Placed):
                    left = self._next_of_array(job, started.left)
                    continue
                if started.final:
                    # What never fits says so, whether or not a head needs its limits.
                    limited = started.reason.code in OPENING
                    never = self._never(job, self._cluster.vnodes_of(job.queue), region) if limited else None
                    self._builder.leave(job, never or started.reason)
                    return
                main = started.reason
            self._preempt_or_leave(job, region, main)
            return

    def _preempt_or_leave(self, job: Job, region: Region, main: Reason) -> None:
        if self.rejections.leave(job, region, main):
            return
        allowed = self._cluster.vnodes_of(job.queue)
        never = self._never(job, allowed, region)
        if never is not None:
            self._builder.leave(job, never)
            return
        # Where jobs are tried shortest first, earlier ones may have used up a limit since its gates were checked.
        blocking = self._context.blocking_reason(job)
        if blocking is not None:
            self._builder.leave(job, blocking)
            return
        tried = self._preempt(job, allowed, region)
        if tried is not None:
            self._builder.leave(job, Reason(main.code, main.numbers, tried) if tried else main)

    def _never(self, job: Job, allowed: int, region: Region) -> Reason | None:
        """Why the vnodes open to the job could never hold it; None if they could."""
        request, capacity = job.request, self._cluster.capacity
        if request.only_cores and request.cores <= region.total and allowed == region.vnodes:
            return None
        if self.rejections.is_holdable(job):
            return None
        for chunk in request.chunks:
            possible = ever_holds(capacity, chunk, allowed & capacity.usable, request.place)
            if possible < chunk.pieces and job.pinned:
                return Reason("pinned", (*why_pinned(job).numbers, ("gone", chunk.pieces - possible)))
            if possible < chunk.pieces:
                numbers: Numbers = (("chunks", chunk.pieces), ("possible", possible), ("queue", job.queue))
                with_away = ever_holds(capacity, chunk, allowed, request.place)
                back: Numbers = (("with_away", with_away),) if with_away >= chunk.pieces else ()
                return Reason("never-fits", (*numbers, *back))
        if not fits_idle_cluster(self._cluster, request, allowed, capacity.check_time):
            held = self._held_outside.why(job, allowed)
            if held is not None:
                return held
            if job.pinned:
                gone = sum(chunk.pieces for chunk in request.chunks)
                return Reason("pinned", (*why_pinned(job).numbers, ("gone", gone)))
            return Reason("never-arranged", (("queue", job.queue),))
        self.rejections.note_holdable(job)
        return None

    def _preempt(self, job: Job, allowed: int, region: Region) -> tuple[Reason, ...] | None:
        """Preempt for the job by P1 or P2 and earmark what it needs, then return None; else return why that failed."""
        preemption = self._preemption
        if preemption is None:
            return ()
        rights, refused = preemption.rights(job)
        if rights is None and refused[0].code != "preempt-delay":
            return refused
        if rights is None:
            self._builder.wake_at(refused[0].number("at_s"))
        good = self._places.worth_clearing(job, -1)
        if job.rank is not None and not good & allowed:
            return (*refused, self._context.placer.why_not_good_enough(job.rank, allowed))
        yields = self.heads.gives_way(job, region)
        reservation = region.reservation if yields else self.heads.reserve_again(region)
        # A beneficiary is not cut for the head, whatever it is said to have saved.
        end_s = self._context.now_s + job.longest_s
        blocking = self._builder.blocking_reason_beside_heads(job, end_s)
        if blocking is not None:
            return (*refused, blocking)
        guard = None if reservation is None or yields else reservation.guard(end_s, job.request)
        closed = self._places.closed_to(job, late=True)
        after_victims = self._builder.free_after_victims()
        found: Found | Reason
        if rights is not None:
            found = preemption.find(job, rights, allowed, guard, closed, after_victims, good)
        else:
            found = preemption.after_delay(job, refused[0], allowed, guard, closed, after_victims, good)
        if isinstance(found, Reason):
            if found.code == "preempt-delays-head" and reservation is not None:
                found = found._replace(numbers=(("before_s", reservation.until_s),))
            return (*(refused if rights is not None else ()), self._with_closures(job, found, closed))
        if yields and reservation is not None and region.moved_for is None:
            loses = reservation.guard(end_s, job.request)
            for victim in found.victims:
                loses.remove(victim.run)
            region.moved_for = None if loses.admits(found.allocation) else job
        self.heads.lose_limits_to(job)
        preemption.take(found)
        running = [victim for victim in found.victims if not self._builder.cancel_start(victim.run, job)]
        if running or self._builder.victims_under(job, found.allocation, ()):
            by_quota = running[0].standing is not None if running else rights is not None and rights.by_quota
            self.earmarks.begin(job, found.allocation, running, QUOTA if by_quota else CLASS)
        else:
            left = self._next_of_array(job, self._builder.start(job, found.allocation))
            self.set_aside += [] if left is None else [left]
        if reservation is not None and region.moved_for is None:
            gone = [victim.run for victim in found.victims]
            reservation.replace(found.allocation, end_s, job.request, gone)
        return None

    def _with_closures(self, job: Job, reason: Reason, closed: Closed) -> Reason:
        """The reason; one that names a time at which the job could preempt says whether what is closed to it by then
        differs from what is closed now."""
        numbers = dict(reason.numbers)
        at_s = numbers.get("enough_s", numbers.get("at_s") if "cores_there" in numbers else None)
        if at_s is None or self._places.closed_to(job, late=True, at_s=float(at_s)).key == closed.key:
            return reason
        return reason._replace(numbers=(*reason.numbers, ("closed_then", 1)))

    def _next_of_array(self, job: Job, left: Job | None) -> Job | None:
        """The rest of an array, if its next subjob may be attempted at once. It waits if a gate blocks it by now, and
        is set aside if its class is another one."""
        if left is None:
            return None
        classes = self._context.classes
        if classes is not None:
            before = classes.of(job)
            if before != BASE and classes.again(left) != before:
                self.set_aside.append(left)
                return None
        reason = self._context.blocking_reason(left)
        if reason is not None:
            self._builder.leave(left, reason)
            return None
        return left
