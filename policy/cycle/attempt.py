"""One job's turn: it starts, preempts, becomes the head, backfills, or waits for a reason.

What is decided shows at once in the draft. The order in which jobs have their turn is the engine's. See
docs/policies.md, "Together, in one pass".
"""

from __future__ import annotations

from policy.backfill.regions import Region
from policy.cycle.backfill_attempt import Backfilling, Placed
from policy.cycle.earmarks import Holds
from policy.cycle.heads import Heads
from policy.cycle.preempt_backfilled import PromisedCuts
from policy.cycle.start_places import StartPlaces
from policy.eligibility.priority_classes import BASE
from policy.fit.host_chunks import ever_holds
from policy.fit.idle_cluster import fits_idle_cluster
from policy.model.cluster import UNLIMITED_S, Job
from policy.model.ledger import CLASS, PROMISE, QUOTA
from policy.plan.context import Scene
from policy.plan.plan_builder import Draft
from policy.plan.rejections import Refusals, why_pinned
from policy.preemption.victim_search import Room
from policy.preemption.victim_selection import Found, Victim
from policy.reasons.reason import Reason
from policy.state.windows import NOTHING_CLOSED


class Turns:
    """The turns of one pass. ``set_aside`` are arrays of which the quota covered only a part: the rest has its turn in
    the base class."""

    def __init__(self, scene: Scene, draft: Draft) -> None:
        self._scene = scene
        self._ledger = scene.ledger
        self._settings = scene.settings
        self._now_s = scene.now_s
        self._world = scene.world
        self._shrinks = scene.shrinks
        self._preemption = scene.preemption
        self._draft = draft
        self.set_aside: list[Job] = []
        self._places = StartPlaces(scene)
        self._cuts = PromisedCuts(scene, draft, self._places)
        self.heads = Heads(scene, draft, self._cuts)
        self._made_holds: Holds | None = None
        self._made_refusals: Refusals | None = None
        self._made_backfilling: Backfilling | None = None

    @property
    def holds(self) -> Holds:
        """The beneficiaries, made when somebody is one."""
        if self._made_holds is None:
            self._made_holds = Holds(self._scene, self._draft)
        return self._made_holds

    @property
    def refusals(self) -> Refusals:
        """What was refused, made when somebody is."""
        if self._made_refusals is None:
            self._made_refusals = Refusals(self._scene, self._draft)
        return self._made_refusals

    @property
    def backfilling(self) -> Backfilling:
        """The starts behind heads, made when a job is tested for one."""
        if self._made_backfilling is None:
            self._made_backfilling = Backfilling(self._scene, self._draft, self._places, self.refusals)
        return self._made_backfilling

    def honour_holds(self) -> None:
        """Start the beneficiaries of earlier passes that can, and keep what the others wait for."""
        self.holds.honour(self._cuts.tested_at_promise)

    def in_turn(self, job: Job, region: Region) -> None:
        """No head yet: start, preempt, or become the head."""
        left: Job | None = job
        allowed = self._world.vnodes_of(job.queue)
        closed = NOTHING_CLOSED if self._scene.windows is None else self._places.closed_to(job)
        in_the_way: Reason | None = None
        draft = self._draft
        while left is not None:
            job = left
            if len(draft.starts) >= self._settings.schedule.max_starts and job.id not in self._ledger.promises:
                draft.leave(job, self.refusals.beyond_limit())
                return
            if job.request.only_cores and job.request.cores > region.idle:
                break
            placement = self._places.place(job, allowed, closed)
            if isinstance(placement, Reason):
                draft.leave(job, placement)
                return
            if placement is None:
                in_the_way = self._places.window_in_the_way(job, allowed, closed) if closed.key else None
                break
            shut = self._draft.shut_beside_heads(job, self._now_s + job.left_s)
            if shut is not None:
                draft.leave(job, shut)
                return
            left = self._left_in_class(job, draft.start(job, placement))
            reason = self._scene.gates.shut(left) if left is not None else None
            if left is not None and reason is not None:
                draft.leave(left, reason)
                return
        if left is None:
            return
        reason = self._never(job, allowed, region)
        if reason is None and job.id not in self._ledger.promises:
            reason = self._draft.shut_beside_heads(job, UNLIMITED_S)
        if reason is None:
            if self._cut_at_promise(job, allowed):
                return
            tried = self._preempt(job, allowed, region)
            if tried is None:
                return
            reason = self.heads.reserve_for(job, allowed, region, tried, in_the_way)
            if self._cut_ahead(job, allowed, region):
                return
            region.head_waits = reason
        draft.leave(job, reason)

    def at_a_gate(self, job: Job, shut: Reason) -> None:
        """A job that may not start whatever is free. One that was promised a time heads its region all the same where
        only a limit or licences that runs will give back shut it out: nobody else is to take its cores meanwhile."""
        opens_s = self._draft.opens_s(job, shut) if job.id in self._ledger.promises else UNLIMITED_S
        region = None if opens_s == UNLIMITED_S else self._draft.regions[job.queue]
        if region is None or region.reservation is not None:
            self._draft.leave(job, shut)
            return
        allowed = self._world.vnodes_of(job.queue)
        if not self._cut_at_promise(job, allowed):
            self._draft.leave(job, self.heads.reserve_for(job, allowed, region, (shut,), None, opens_s))

    def _before_head(self, job: Job, region: Region) -> None:
        """A job with a better claim than the head: it takes idle cores and victims as if nothing were reserved."""
        draft, allowed = self._draft, self._world.vnodes_of(job.queue)
        closed = self._places.closed_to(job)
        left: Job | None = job
        while left is not None:
            job = left
            if job.request.cores > region.idle:
                self._preempt_or_leave(job, region, self.refusals.too_few(region))
                return
            if len(draft.starts) >= self._settings.schedule.max_starts and job.id not in self._ledger.promises:
                draft.leave(job, self.refusals.beyond_limit())
                return
            placement = self._places.place_beside(job, allowed, closed, region)
            if isinstance(placement, Reason):
                draft.leave(job, placement)
                return
            if placement is None:
                in_the_way = self._places.window_in_the_way(job, allowed, closed)
                lacks = why_pinned(job) if job.pinned else self.refusals.fragmented(region)
                self._preempt_or_leave(job, region, in_the_way or lacks)
                return
            left = self._left_in_class(job, draft.start(job, placement))
            reason = self._scene.gates.shut(left) if left is not None else None
            if left is not None and reason is not None:
                draft.leave(left, reason)
                return
            if left is not None and not self.heads.gives_way(left, region):
                self.behind(left, region)
                return

    def _cut_at_promise(self, job: Job, allowed: int) -> bool:
        """Cut backfilled runs for a head whose promised time has come; False where that is not so, or no help."""
        return self._shrinks and self._cut(job, self._cuts.room_at_promise(job, allowed))

    def _cut_ahead(self, job: Job, allowed: int, region: Region) -> bool:
        """Cut for a new head whose reserved time is nearer than the grace, where that time hangs on a run that may take
        longer: those that are to give way are asked at once, and the time is promised as to any other head."""
        reservation = region.reservation
        if not self._shrinks or reservation is None or job.id in self._ledger.promises:
            return False
        self._draft.promised[job.id] = reservation.at_s
        if not self._cut(job, self._cuts.room_by(reservation.at_s, job, allowed)):
            del self._draft.promised[job.id]
            return False
        region.reservation = None
        return True

    def _cut(self, job: Job, room: Room | None) -> bool:
        """Cut these runs for the job, if there are any."""
        if room is None:
            return False
        self.holds.begin(job, room.placement, [Victim(run, None) for run in room.runs], PROMISE)
        return True

    def behind(self, job: Job, region: Region) -> None:
        """There is a head: start beside it or within its window, or preempt, or wait. It gives way to a job with a
        better claim."""
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
                main = self.refusals.too_few(region)
            else:
                started = self.backfilling.start(job, region, reservation)
                if isinstance(started, Placed):
                    left = self._left_in_class(job, started.left)
                    reason = self._scene.gates.shut(left) if left is not None else None
                    if left is not None and reason is not None:
                        self._draft.leave(left, reason)
                        return
                    continue
                if started.final:
                    self._draft.leave(job, started.reason)
                    return
                main = started.reason
            self._preempt_or_leave(job, region, main)
            return

    def _preempt_or_leave(self, job: Job, region: Region, main: Reason) -> None:
        if self.refusals.leave(job, region, main):
            return
        allowed = self._world.vnodes_of(job.queue)
        never = self._never(job, allowed, region)
        if never is not None:
            self._draft.leave(job, never)
            return
        tried = self._preempt(job, allowed, region)
        if tried is not None:
            self._draft.leave(job, main._replace(tried=tried) if tried else main)

    def _never(self, job: Job, allowed: int, region: Region) -> Reason | None:
        """Why no vnodes open to the job could ever hold it; None where they could."""
        request, capacity = job.request, self._world.capacity
        if request.only_cores and request.cores <= region.total and allowed == region.vnodes:
            return None
        if self.refusals.is_holdable(job):
            return None
        for chunk in request.chunks:
            possible = ever_holds(capacity, chunk, allowed & capacity.usable, request.place)
            if possible < chunk.pieces and job.pinned:
                return Reason("pinned", (*why_pinned(job).numbers, ("gone", chunk.pieces - possible)))
            if possible < chunk.pieces:
                numbers = (("pieces", chunk.pieces), ("possible", possible), ("queue", job.queue))
                with_away = ever_holds(capacity, chunk, allowed, request.place)
                back = (("with_away", with_away),) if with_away >= chunk.pieces else ()
                return Reason("never-fits", (*numbers, *back))
        if not fits_idle_cluster(self._world, request, allowed, capacity.check_time):
            if job.pinned:
                gone = sum(chunk.pieces for chunk in request.chunks)
                return Reason("pinned", (*why_pinned(job).numbers, ("gone", gone)))
            return Reason("never-arranged", (("queue", job.queue),))
        self.refusals.note_holdable(job)
        return None

    def _preempt(self, job: Job, allowed: int, region: Region) -> tuple[Reason, ...] | None:
        """Preempt for the job if P1 or P2 lets it and keep what it needs; else what was tried in vain."""
        preemption = self._preemption
        if preemption is None:
            return ()
        rights, refused = preemption.rights(job)
        if rights is None and refused[0].code != "preempt-delay":
            return refused
        if rights is None:
            self._draft.wake_at(refused[0].number("at_s"))
        yields = self.heads.gives_way(job, region)
        reservation = region.reservation if yields else self.heads.reserve_again(region)
        end_s = self._now_s + job.left_s
        shut = self._draft.shut_beside_heads(job, end_s)
        if shut is not None:
            return (*refused, shut)
        guard = None if reservation is None or yields else reservation.guard(end_s, job.request)
        closed = self._places.closed_to(job, late=True)
        after_victims = self._draft.free_after_victims()
        found: Found | Reason
        if rights is not None:
            found = preemption.find(job, rights, allowed, guard, closed, after_victims)
        else:
            found = preemption.after_delay(job, refused[0], allowed, guard, closed, after_victims)
        if isinstance(found, Reason):
            if found.code == "preempt-delays-head" and reservation is not None:
                found = found._replace(numbers=(("before_s", reservation.until_s),))
            return (*(refused if rights is not None else ()), found)
        if yields and reservation is not None and region.moved_for is None:
            loses = reservation.guard(end_s, job.request)
            for victim in found.victims:
                loses.let_go(victim.run)
            region.moved_for = None if loses.admits(found.placement) else job
        preemption.take(found)
        running = [victim for victim in found.victims if not self._draft.cancel_start(victim.run, job)]
        if running or self._draft.victims_under(found.placement, ()):
            by_quota = running[0].standing is not None if running else rights is not None and rights.by_quota
            self.holds.begin(job, found.placement, running, QUOTA if by_quota else CLASS)
        else:
            self._draft.start(job, found.placement)
        if reservation is not None and region.moved_for is None:
            gone = [victim.run for victim in found.victims]
            reservation.replace(found.placement, end_s, job.request, gone)
        return None

    def _left_in_class(self, job: Job, left: Job | None) -> Job | None:
        """What is left of an array, if the next subjob is in the class of the one that has started."""
        if left is None or self._scene.classes is None:
            return left
        before = self._scene.classes.of(job)
        if before == BASE or self._scene.classes.again(left) == before:
            return left
        self.set_aside.append(left)
        return None
