"""One job's turn: it starts, preempts, becomes the head, backfills, or waits for a reason.

What is decided shows at once in the draft. The order in which jobs have their turn is the engine's. See
docs/policies.md, "Together, in one pass".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Callable, NamedTuple

from policy.classes import BASE
from policy.cluster import UNLIMITED_S, Job, Run
from policy.draft import Draft
from policy.estimates import Tested
from policy.fitting import fit, fits
from policy.holds import Holds
from policy.ledger import CLASS, PROMISE, QUOTA, Backfilled
from policy.placement import Placement
from policy.plan import MovedPromise
from policy.preemption import Found, Victim
from policy.promise import NO_PROMISE, Promise, cut_for, cut_order
from policy.reasons import Number, Reason
from policy.refusals import Refusals
from policy.regions import Region
from policy.reservation import Reservation
from policy.reserved_time import reserve
from policy.scene import Scene
from policy.spanning import ever_holds
from policy.windows import NOTHING_CLOSED, Closed

_NOTHING_EXPECTED: Mapping[str, float] = MappingProxyType({})


class Placed(NamedTuple):
    """A job has started; ``left`` is what is left of an array."""

    left: Job | None


class Left(NamedTuple):
    """A job does not backfill for this reason; ``final`` where it is not to preempt either."""

    reason: Reason
    final: bool = False


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
        self._made_holds: Holds | None = None
        self._made_refusals: Refusals | None = None

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

    def honour_holds(self) -> None:
        """Start the beneficiaries of earlier passes that can, and keep what the others wait for."""
        self.holds.honour(self._tested_at_promise)

    def in_turn(self, job: Job, region: Region) -> None:
        """No head yet: start, preempt, or become the head."""
        left: Job | None = job
        allowed = self._world.vnodes_of(job.queue)
        closed = NOTHING_CLOSED if self._scene.windows is None else self._closed_to(job)
        in_the_way: Reason | None = None
        draft = self._draft
        while left is not None:
            job = left
            if len(draft.starts) >= self._settings.schedule.max_starts and job.id not in self._ledger.promises:
                draft.leave(job, Reason("limit-of-pass", (("limit", len(draft.starts)),)))
                return
            if job.request.only_cores and job.request.cores > region.idle:
                break
            placement = self._place(job, allowed, closed)
            if isinstance(placement, Reason):
                draft.leave(job, placement)
                return
            if placement is None:
                in_the_way = self._window_in_the_way(job, allowed, closed) if closed.key else None
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
            if self._cut_for(job, allowed):
                return
            tried = self._preempt(job, allowed, region)
            if tried is None:
                return
            reason = self._become_head(job, allowed, region, tried, in_the_way)
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
        if not self._cut_for(job, allowed):
            self._draft.leave(job, self._become_head(job, allowed, region, (shut,), None, opens_s))

    def _closed_to(self, job: Job, *, late: bool = False) -> Closed:
        """What windows close to the job if it starts now, or, where others have to make room first, somewhat late."""
        windows = self._scene.windows
        if windows is None:
            return NOTHING_CLOSED
        return windows.closed_to(job, self._now_s, windows.slack_s if late else 0.0)

    def _window_in_the_way(self, job: Job, allowed: int, closed: Closed) -> Reason | None:
        """The window but for which the job would fit now; None where there is none."""
        windows = self._scene.windows
        if windows is None or not closed.key:
            return None
        placement = fit(self._scene.capacity, job.request, allowed)
        return None if placement is None else windows.why(job, self._now_s, placement)

    def _place(self, job: Job, allowed: int, closed: Closed) -> Placement | Reason | None:
        """Where the job can start now; a reason where it would fit but is not to start (P4, P5)."""
        if closed is NOTHING_CLOSED:
            placement = self._place_on(job, allowed)
        else:
            with closed.applied_to(self._scene.capacity):
                placement = self._place_on(job, allowed & ~closed.vnodes)
        confined = self._scene.confined
        if confined is not None and isinstance(placement, Placement):
            # Only where it is does an exclusive job show what it keeps.
            return confined.why(job, placement) or placement
        return placement

    def _place_on(self, job: Job, vnodes: int) -> Placement | Reason | None:
        scene = self._scene
        if job.pinned or (scene.plain and job.layout is None and job.rank is None):
            return fit(scene.capacity, job.request, vnodes, self._world.vnodes_of(job.queue))
        return scene.placer.place(job, vnodes)

    def _become_head(
        self,
        job: Job,
        allowed: int,
        region: Region,
        tried: tuple[Reason, ...],
        in_the_way: Reason | None,
        from_s: float = 0.0,
    ) -> Reason:
        """Reserve for the job, for ``from_s`` at the earliest; gives why it waits."""
        promise = NO_PROMISE
        if self._shrinks:
            at_s = self._ledger.promises.get(job.id, UNLIMITED_S)
            if at_s != UNLIMITED_S:
                promise = Promise(at_s, lambda: self._cuttable(at_s, allowed))
        expected = self._expected_ends() if self._shrinks else _NOTHING_EXPECTED
        windows = self._scene.windows
        from_s, pending = max(from_s, self._now_s), self._draft.pending
        reservation = reserve(self._world, job, allowed, from_s, pending, expected, promise, windows)
        while reservation is not None:
            too_dear = self._too_dear(expected, min(reservation.at_s, promise.at_s))
            if not too_dear:
                break
            expected = {run_id: end_s for run_id, end_s in expected.items() if run_id not in too_dear}
            reservation = reserve(self._world, job, allowed, from_s, pending, expected, promise, windows)
        if reservation is None:
            if in_the_way is not None:
                return in_the_way._replace(tried=tried)
            return Reason("never-arranged", (("queue", job.queue),), tried)
        if reservation.at_s == UNLIMITED_S:
            self._count_beside(reservation)
        if pending and reservation.at_s == self._now_s:
            # It waits for the victims of others, which have time to save.
            reservation.at_s += self._settings.checkpoint.grace_s
        promised_s = self._ledger.promises.get(job.id, UNLIMITED_S)
        if reservation.at_s > promised_s:
            moved_for = region.moved_for or self._started_before(job, region)
            if moved_for is not None:
                self._move_promise(job, promised_s, reservation.at_s, moved_for)
                promised_s = reservation.at_s
        reservation.until_s = min(reservation.at_s, promised_s)
        region.reservation, region.moved_for = reservation, None
        numbers: tuple[tuple[str, Number], ...] = (("idle", region.idle), ("at_s", reservation.at_s))
        over = None if windows is None else windows.ending_at(reservation.at_s)
        if over is not None:
            numbers = (*numbers, ("over", over))
        if in_the_way is not None:
            numbers = (*numbers, ("in_the_way", in_the_way.number("window")))
            tried = (in_the_way, *tried)
        tried = (*self._moved(job), *tried)
        return Reason("reserved", numbers, (_pinned(job), *tried) if job.pinned else tried)

    # Heads that give way

    def _outranks_head(self, job: Job, region: Region) -> bool:
        """Whether the head of the region gives way to the job."""
        reservation = region.reservation
        if self._preemption is None or reservation is None:
            return False
        return self._scene.claims.outranks(job, reservation.head)

    def _started_before(self, head: Job, region: Region) -> Job | None:
        """A job of a higher class that took cores of the region in this pass before the head had its turn; None where
        there is none."""
        if self._preemption is None:
            return None
        held = {preempt.beneficiary for preempt in self._draft.preempts if not preempt.again}
        jobs = [pending.job for pending in self._draft.pending if pending.job.id in held]
        for job in (*jobs, *(start.job for start in self._draft.starts)):
            if self._draft.regions[job.queue] is region and self._scene.claims.outranks_by_class(job, head):
                return job
        return None

    def _move_promise(self, head: Job, was_s: float, at_s: float, moved_for: Job) -> None:
        """The head's promise is now a later one, or none, for a job with a better claim."""
        now_s = None if at_s == UNLIMITED_S else at_s
        self._draft.moved[head.id] = MovedPromise(head.id, was_s, now_s, moved_for.id)
        if now_s is not None:
            self._draft.promised[head.id] = now_s

    def _moved(self, head: Job) -> tuple[Reason, ...]:
        """For which job the promise of the head moved last, if it did."""
        now, before = self._draft.moved.get(head.id), self._ledger.moved.get(head.id)
        if now is not None:
            return (_moved_for(now.beneficiary, before.first_s if before is not None else now.was_s),)
        return (_moved_for(before.beneficiary, before.first_s),) if before is not None else ()

    def reserve_again(self, region: Region) -> Reservation | None:
        """The reservation of the region, made anew where its head gave way since; None without a head."""
        reservation, waits = region.reservation, region.head_waits
        if region.moved_for is None or reservation is None or waits is None:
            return reservation
        head = reservation.head
        tried = tuple(each for each in waits.tried if each.code not in ("promise-moved", "pinned"))
        reason = self._become_head(head, self._world.vnodes_of(head.queue), region, tried, None)
        region.moved_for = None
        if reason.code == "reserved":
            self._draft.leave_no_more(head, waits)
            self._draft.leave(head, reason)
            region.head_waits = reason
        return region.reservation

    def settle_heads(self) -> None:
        """Reserve anew for the heads that gave way last, and withdraw the promises of the jobs that wait behind a head
        of a higher class: they are promised anew once they are heads."""
        for region in self._draft.each_region():
            self.reserve_again(region)
        if self._preemption is None:
            return
        claims = self._scene.claims
        for job_id, promised_s in self._ledger.promises.items():
            job = self._world.jobs.get(job_id)
            reservation = self._draft.regions[job.queue].reservation if job is not None else None
            if job is None or reservation is None or not claims.outranks_by_class(reservation.head, job):
                continue
            reason = self._draft.leave_no_more(job)
            if reason is not None:
                self._move_promise(job, promised_s, UNLIMITED_S, reservation.head)
                self._draft.leave(job, reason._replace(tried=(*self._moved(job), *reason.tried)))

    def _before_head(self, job: Job, region: Region) -> None:
        """A job with a better claim than the head: it takes idle cores and victims as if nothing were reserved."""
        draft, allowed = self._draft, self._world.vnodes_of(job.queue)
        closed = self._closed_to(job)
        left: Job | None = job
        while left is not None:
            job = left
            if not self._outranks_head(job, region):
                self.behind(job, region)
                return
            if job.request.cores > region.idle:
                self._preempt_or_leave(job, region, self.refusals.too_few(region))
                return
            if len(draft.starts) >= self._settings.schedule.max_starts and job.id not in self._ledger.promises:
                draft.leave(job, Reason("limit-of-pass", (("limit", len(draft.starts)),)))
                return
            placement = self._place_beside(job, allowed, closed, region)
            if isinstance(placement, Reason):
                draft.leave(job, placement)
                return
            if placement is None:
                in_the_way = self._window_in_the_way(job, allowed, closed)
                lacks = _pinned(job) if job.pinned else self.refusals.fragmented(region)
                self._preempt_or_leave(job, region, in_the_way or lacks)
                return
            left = self._left_in_class(job, draft.start(job, placement))
            reason = self._scene.gates.shut(left) if left is not None else None
            if left is not None and reason is not None:
                draft.leave(left, reason)
                return

    def _place_beside(self, job: Job, allowed: int, closed: Closed, region: Region) -> Placement | Reason | None:
        """Where a job with a better claim than the head can start now: where the head loses nothing by it, if there is
        such a place, else anywhere, and the head gives way."""
        placement = self._place(job, allowed, closed)
        reservation = region.reservation
        if region.moved_for is not None or reservation is None or not isinstance(placement, Placement):
            return placement
        end_s = self._now_s + job.left_s
        if reservation.admits(placement, end_s, job.request):
            return placement
        elsewhere = self._place(job, allowed & ~reservation.head_vnodes(), closed)
        if isinstance(elsewhere, Placement) and reservation.admits(elsewhere, end_s, job.request):
            return elsewhere
        region.moved_for = job
        return placement

    def _count_beside(self, reservation: Reservation) -> None:
        """Take off what is spare beside a head that waits for runs without a walltime what others of these hold that
        were let in beside it: they do not end with those that it waits for."""
        runs = self._world.runs
        for run_id, entry in sorted(self._draft.backfilled().items()):
            run = runs.get(run_id)
            if entry.end_s == UNLIMITED_S and run is not None:
                reservation.admits(run.placement, entry.end_s, run.job.request)

    def _cuttable(self, at_s: float, allowed: int) -> list[Run]:
        """The runs on these vnodes that may be cut at that promised time, in the order in which they go."""
        estimates = self._scene.estimates
        order = cut_order(self._world, self._draft.backfilled(), allowed)
        return [run for run in order if estimates.may_be_cut_at(run, at_s)]

    def _too_dear(self, expected: Mapping[str, float], at_s: float) -> set[str]:
        """The runs expected to end before their estimates say that could not be cut at that time if they did not."""
        runs, estimates = self._world.runs, self._scene.estimates
        return {run_id for run_id in expected if not estimates.may_be_cut_at(runs[run_id], at_s)}

    def _expected_ends(self) -> Mapping[str, float]:
        """The ends of backfilled runs that are expected before their full estimates: those that have not outlived the
        estimates they were tested with. Who has is planned with the full estimate again."""
        runs, now_s, backfilled = self._world.runs, self._now_s, self._draft.backfilled()
        if not backfilled:
            return _NOTHING_EXPECTED
        return {
            run_id: entry.end_s
            for run_id, entry in backfilled.items()
            if entry.cuttable and entry.end_s > now_s and run_id in runs and entry.end_s < runs[run_id].end_s
        }

    def _cut_for(self, job: Job, allowed: int) -> bool:
        """Cut backfilled runs for a head whose promised time has come; False where that is not so, or no help."""
        if not self._shrinks:
            return False
        return self._cut_by(self._ledger.promises.get(job.id, UNLIMITED_S), job, allowed)

    def _cut_ahead(self, job: Job, allowed: int, region: Region) -> bool:
        """Cut for a new head whose reserved time is nearer than the grace, where that time hangs on a run that may take
        longer: whoever is to give way is asked at once, and the time is promised as to any other head."""
        reservation = region.reservation
        if not self._shrinks or reservation is None or job.id in self._ledger.promises:
            return False
        self._draft.promised[job.id] = reservation.at_s
        if not self._cut_by(reservation.at_s, job, allowed):
            del self._draft.promised[job.id]
            return False
        region.reservation = None
        return True

    def _cut_by(self, at_s: float, job: Job, allowed: int) -> bool:
        """Cut backfilled runs so that the job starts at that time; False where the time to ask them has not come, where
        none has to go, or where all of them would not be enough."""
        if self._now_s < at_s - self._settings.checkpoint.grace_s:
            return False
        cuttable = self._cuttable(at_s, allowed)
        closed = self._closed_to(job, late=True)
        room = cut_for(self._world, job, allowed, at_s, cuttable, self._draft.pending, closed)
        if room is None:
            return False
        self.holds.begin(job, room.placement, [Victim(run, None) for run in room.runs], PROMISE)
        return True

    def _tested_at_promise(self, job: Job) -> Backfilled:
        """What a rescued job is noted with: it gives way to whoever is promised a start."""
        times = self._ledger.promises.values()
        tested = self._scene.estimates.tested(job, min(times, default=UNLIMITED_S), max(times, default=UNLIMITED_S))
        return Backfilled(self._now_s + tested.estimate_s, tested.cuttable)

    # Jobs behind a head

    def behind(self, job: Job, region: Region) -> None:
        """There is a head: start beside it or within its window, or preempt, or wait. It gives way to a job with a
        better claim."""
        if self._outranks_head(job, region):
            self._before_head(job, region)
            return
        reservation = self.reserve_again(region)
        assert reservation is not None  # noqa: S101 - there is a head
        left: Job | None = job
        while left is not None:
            job = left
            main: Reason | None
            if job.request.cores > region.idle and self._settings.backfill.kind != "none":
                main = self.refusals.too_few(region)
            else:
                started = self._backfill(job, region, reservation)
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

    def _backfill(self, job: Job, region: Region, reservation: Reservation) -> Placed | Left:
        """Start the job beside the head or inside its window; else why not."""
        allowed = self._world.vnodes_of(job.queue)
        closed = self._closed_to(job)
        if self._settings.backfill.kind == "none":
            behind = Reason("behind-head", (("head", reservation.head.id),))
            lacks = self._preemption is not None and not fits(self._world.capacity, job.request, allowed)
            return Left(behind, final=not lacks)
        if self.refusals.lacks_room(job, allowed):
            return Left(_pinned(job) if job.pinned else self.refusals.fragmented(region))
        in_the_way = self.refusals.window_in_the_way(job, closed)
        if in_the_way is not None:
            return Left(in_the_way)
        reason = self._scene.gates.shut(job)
        if reason is not None:
            return Left(reason, final=True)
        left_s, cuttable = job.left_s, False
        if self._shrinks:
            left_s, cuttable = self._tested(job, region, reservation)
        end_s = self._now_s + left_s
        if reservation.counts_out(job, end_s, allowed & ~closed.vnodes):
            return Left(self._not_beside(reservation))
        passes = end_s > reservation.until_s
        if passes and self.refusals.delays_head(job, closed):
            return Left(self._not_beside(reservation))
        # Asked with the full estimate: whoever is cut then still holds its limits and licences when the head is asked
        # for its own.
        reason = self._draft.shut_beside_heads(job, self._now_s + job.left_s)
        if reason is not None:
            return Left(reason, final=True)
        if len(self._draft.starts) >= self._settings.schedule.max_starts:
            return Left(Reason("limit-of-pass", (("limit", len(self._draft.starts)),)), final=True)
        placement = self._place(job, allowed, closed)
        if placement is None:
            in_the_way = self._window_in_the_way(job, allowed, closed)
            if in_the_way is not None:
                self.refusals.note_window(job, closed, in_the_way)
                return Left(in_the_way)
            self.refusals.note_lack(job)
            return Left(_pinned(job) if job.pinned else self.refusals.fragmented(region))
        if not isinstance(placement, Reason) and not reservation.admits(placement, end_s, job.request):
            placement = self._place(job, allowed & ~reservation.head_vnodes(), closed)
            if placement is None or (
                isinstance(placement, Placement) and not reservation.admits(placement, end_s, job.request)
            ):
                self.refusals.note_delay(job, closed)
                return Left(self._not_beside(reservation))
        if isinstance(placement, Reason):
            return Left(placement, final=True)
        left = self._draft.start(job, placement, Backfilled(end_s, cuttable))
        if cuttable and not passes:
            reservation.note_inside(self._draft.starts[-1].id)
        return Placed(left)

    def _tested(self, job: Job, region: Region, reservation: Reservation) -> Tested:
        """What a job behind the head is tested with."""
        return self._scene.estimates.tested(job, reservation.until_s, region.promised_s)

    def _not_beside(self, reservation: Reservation) -> Reason:
        return reservation.why_not_beside(only_head=self._scene.windows is None and self._scene.plain)

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
                return Reason("pinned", (*_pinned(job).numbers, ("gone", chunk.pieces - possible)))
            if possible < chunk.pieces:
                numbers = (("pieces", chunk.pieces), ("possible", possible), ("queue", job.queue))
                return Reason("never-fits", numbers)
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
        yields = self._outranks_head(job, region)
        reservation = region.reservation if yields else self.reserve_again(region)
        end_s = self._now_s + job.left_s
        shut = self._draft.shut_beside_heads(job, end_s)
        if shut is not None:
            return (*refused, shut)
        guard = None if reservation is None or yields else reservation.guard(end_s, job.request)
        closed = self._closed_to(job, late=True)
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

    def small_ones(self, jobs: Sequence[Job], region: Region, behind: Callable[[Job, Region], None]) -> None:
        """Jobs behind a head of which idle cores alone do not tell that they cannot start: most pass the window, and
        that needs no more than a comparison. The others have their turns ``behind`` it."""
        reservation = region.reservation
        assert reservation is not None  # noqa: S101 - they are behind a head
        window_s = reservation.until_s - self._now_s
        shrinks, draft = self._shrinks, self._draft
        passing: list[Job] = []
        spare = -1
        for job in jobs:
            request = job.request
            cores = request.cores
            if not request.only_cores:
                behind(job, region)
            elif cores > region.idle:
                draft.waiting_for(Reason("too-few-idle", (("idle", region.idle),))).append(job)
            elif (
                cores > reservation.spare_cores
                and job.left_s > window_s
                and not (shrinks and self._tested(job, region, reservation).estimate_s <= window_s)
            ):
                if spare != reservation.spare_cores:
                    spare = reservation.spare_cores
                    passing = draft.waiting_for(self._not_beside(reservation))
                passing.append(job)
            else:
                behind(job, region)

    def _left_in_class(self, job: Job, left: Job | None) -> Job | None:
        """What is left of an array, if the next subjob is in the class of the one that has started."""
        if left is None or self._scene.classes is None:
            return left
        before = self._scene.classes.of(job)
        if before == BASE or self._scene.classes.again(left) == before:
            return left
        self.set_aside.append(left)
        return None


def _moved_for(beneficiary: str, first_s: float) -> Reason:
    """For which job with a better claim a head's promise moved, and when it was to start at first."""
    return Reason("promise-moved", (("beneficiary", beneficiary), ("at_s", first_s)))


def _pinned(job: Job) -> Reason:
    """Why a job that PBS's own checkpoint keeps to its vnodes waits."""
    return Reason("pinned", (("vnodes", ", ".join(job.pinned)),))
