"""The heads of the regions: for when each is reserved, and when it gives way (docs/policies.md, "First come, the
head, and EASY backfilling" and "A head has no veto").

The first job of a region that does not fit is its head. A job with a better claim takes cores as if nothing were
reserved; the head is then reserved for anew, and its promise moves only for such a job.
"""

from __future__ import annotations

from policy.backfill.promise import NO_PROMISE
from policy.backfill.regions import Region
from policy.backfill.reservation import Reservation
from policy.backfill.shadow_time import reserve
from policy.cycle.preempt_backfilled import NOTHING_EXPECTED, PromisedCuts
from policy.model.cluster import UNLIMITED_S, Job
from policy.plan.context import Scene
from policy.plan.plan import MovedPromise
from policy.plan.plan_builder import Draft
from policy.plan.rejections import why_pinned
from policy.reasons.reason import Number, Reason


class Heads:
    """The heads of one pass."""

    __slots__ = ("_cuts", "_draft", "_scene")

    def __init__(self, scene: Scene, draft: Draft, cuts: PromisedCuts) -> None:
        self._scene = scene
        self._draft = draft
        self._cuts = cuts

    def reserve_for(
        self,
        job: Job,
        allowed: int,
        region: Region,
        tried: tuple[Reason, ...],
        in_the_way: Reason | None,
        from_s: float = 0.0,
    ) -> Reason:
        """Reserve for the job, for ``from_s`` at the earliest; gives why it waits."""
        scene, world, now_s = self._scene, self._scene.world, self._scene.now_s
        promise, expected = NO_PROMISE, NOTHING_EXPECTED
        if scene.shrinks:
            promise, expected = self._cuts.promise_to(job, allowed), self._cuts.expected_ends()
        windows = scene.windows
        from_s, pending = max(from_s, now_s), self._draft.pending
        reservation = reserve(world, job, allowed, from_s, pending, expected, promise, windows)
        while reservation is not None and expected:
            too_dear = self._cuts.too_dear(expected, min(reservation.at_s, promise.at_s))
            if not too_dear:
                break
            expected = {run_id: end_s for run_id, end_s in expected.items() if run_id not in too_dear}
            reservation = reserve(world, job, allowed, from_s, pending, expected, promise, windows)
        if reservation is None:
            if in_the_way is not None:
                return in_the_way._replace(tried=tried)
            return Reason("never-arranged", (("queue", job.queue),), tried)
        if reservation.at_s == UNLIMITED_S:
            self._count_beside(reservation)
        if pending and reservation.at_s == now_s:
            # It waits for the victims of others, which have time to save.
            reservation.at_s += scene.settings.checkpoint.grace_s
        promised_s = scene.ledger.promises.get(job.id, UNLIMITED_S)
        if reservation.at_s > promised_s:
            moved_for = region.moved_for or self._started_before(job, region)
            if moved_for is not None:
                self._move_promise(job, promised_s, reservation.at_s, moved_for)
                promised_s = reservation.at_s
        reservation.until_s = min(reservation.at_s, promised_s)
        region.reservation, region.moved_for = reservation, None
        numbers: tuple[tuple[str, Number], ...] = (("idle", region.idle), ("at_s", reservation.at_s))
        over = None if windows is None else windows.ending_at(reservation.at_s, job, allowed)
        if over is not None:
            numbers = (*numbers, ("over", over))
        if in_the_way is not None:
            numbers = (*numbers, ("in_the_way", in_the_way.number("window")))
            tried = (in_the_way, *tried)
        tried = (*self._moved(job), *tried)
        return Reason("reserved", numbers, (why_pinned(job), *tried) if job.pinned else tried)

    def gives_way(self, job: Job, region: Region) -> bool:
        """Whether the head of the region gives way to the job."""
        reservation = region.reservation
        if self._scene.preemption is None or reservation is None:
            return False
        return self._scene.claims.outranks(job, reservation.head)

    def reserve_again(self, region: Region) -> Reservation | None:
        """The reservation of the region, made anew where its head gave way since; None without a head."""
        reservation, waits = region.reservation, region.head_waits
        if region.moved_for is None or reservation is None or waits is None:
            return reservation
        head = reservation.head
        tried = tuple(each for each in waits.tried if each.code not in ("promise-moved", "pinned"))
        reason = self.reserve_for(head, self._scene.world.vnodes_of(head.queue), region, tried, None)
        region.moved_for = None
        if reason.code == "reserved":
            self._draft.leave_no_more(head, waits)
            self._draft.leave(head, reason)
            region.head_waits = reason
        return region.reservation

    def settle(self) -> None:
        """Where jobs preempt: reserve anew for the heads that gave way last, and withdraw the promises of the jobs that
        wait behind a head of a higher class: they are promised anew once they are heads."""
        for region in self._draft.each_region():
            self.reserve_again(region)
        claims = self._scene.claims
        for job_id, promised_s in self._scene.ledger.promises.items():
            job = self._scene.world.jobs.get(job_id)
            reservation = self._draft.regions[job.queue].reservation if job is not None else None
            if job is None or reservation is None or not claims.outranks_by_class(reservation.head, job):
                continue
            reason = self._draft.leave_no_more(job)
            if reason is not None:
                self._move_promise(job, promised_s, UNLIMITED_S, reservation.head)
                self._draft.leave(job, reason._replace(tried=(*self._moved(job), *reason.tried)))

    def _started_before(self, head: Job, region: Region) -> Job | None:
        """A job of a higher class that took cores of the region in this pass before the head had its turn; None where
        there is none."""
        if self._scene.preemption is None:
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
        if not self._draft.moved and not self._scene.ledger.moved:
            return ()
        now, before = self._draft.moved.get(head.id), self._scene.ledger.moved.get(head.id)
        if now is not None:
            return (_moved_for(now.beneficiary, before.first_s if before is not None else now.was_s),)
        return (_moved_for(before.beneficiary, before.first_s),) if before is not None else ()

    def _count_beside(self, reservation: Reservation) -> None:
        """Take off what is spare beside a head that waits for runs without a walltime what others of these hold that
        were let in beside it: they do not end with those that it waits for."""
        runs = self._scene.world.runs
        for run_id, entry in sorted(self._draft.backfilled().items()):
            run = runs.get(run_id)
            if entry.end_s == UNLIMITED_S and run is not None:
                reservation.admits(run.placement, entry.end_s, run.job.request)


def _moved_for(beneficiary: str, first_s: float) -> Reason:
    """For which job with a better claim a head's promise moved, and when it was to start at first."""
    return Reason("promise-moved", (("beneficiary", beneficiary), ("at_s", first_s)))
