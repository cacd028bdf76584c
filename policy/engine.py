"""One pass: what to start, whom to preempt, whom to reserve for, and why everyone else waits.

Jobs are taken in queue order. Each starts if it fits; the first of a region that does not may preempt (P1), else it is
reserved and heads its region; those behind it start only where they leave its reserved time alone (P3), or preempt in
their turn. A job once promised a time stays the head until it starts. See docs/policies.md, "Together, in one pass".
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.cluster import Job, Run
from policy.draft import Draft, Region, why_preempted
from policy.fitting import fit
from policy.gates import Gates
from policy.ledger import Hold, Ledger
from policy.placement import Placement
from policy.plan import Plan, Preempt
from policy.preemption import Preemption
from policy.quotas import Quotas
from policy.reasons import Reason
from policy.reservation import Reservation, reserve
from policy.settings import Settings
from policy.snapshot import Snapshot
from policy.world import order_key


def decide(snapshot: Snapshot, ledger: Ledger, settings: Settings) -> Plan:
    """Decide one pass. Pure: the same values give the same plan, and nothing is changed by it.

    Every waiting job is either started (an array: some of its subjobs) or has exactly one reason.
    """
    return _Pass(snapshot, ledger, settings).decide()


_DONE = Reason("preempting", (("victims", ""),))
"""Stands for a job whose outcome is noted already."""


class _Pass:
    """One pass over the queue: asks what fits and who may preempt, and notes each outcome in the draft of the plan."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger, settings: Settings) -> None:
        self._ledger = ledger
        self._settings = settings
        self._now_s = snapshot.time_s
        self._world = world = snapshot.world()
        self._capacity = world.capacity
        self._gates = Gates(world, self._now_s)
        self._quotas = Quotas(world, settings.quota.counted)
        self._draft = Draft(snapshot, ledger, self._gates, self._quotas)
        self._preemption: Preemption | None = None
        if settings.quota.preempt and any(queue.quotas for queue in world.queues.values()):
            self._preemption = Preemption(world, ledger, self._quotas, settings.quota, self._now_s)

    def decide(self) -> Plan:
        if self._ledger.holds:
            self._honour_holds()
        behind: list[Job] = []
        shortest_first = self._settings.backfill.order == "shortest-first"
        only_by_idle = self._settings.backfill.kind == "easy" and self._preemption is None
        regions, holds, plain = self._draft.regions, self._draft.holds, self._world.plain_queues()
        for job in self._in_order():
            if holds and job.id in holds:
                continue
            if job.blocked or job.not_before_s is not None or job.queue not in plain:
                reason = self._gates.shut(job)
                if reason is not None:
                    self._draft.leave(job, reason)
                    continue
            region = regions[job.queue]
            if region.reservation is None:
                self._take_in_turn(job, region)
            elif only_by_idle and region.total >= job.request.cores > region.idle:
                if region.idle != region.too_large_idle:
                    self._draft.share_too_large(region)
                region.too_large.append(job)
            elif shortest_first:
                behind.append(job)
            else:
                self._take_behind(job, region)
        if behind:
            behind.sort(key=lambda job: (job.estimate_s, order_key(job)))
            for job in behind:
                self._take_behind(job, regions[job.queue])
        return self._draft.plan()

    def _in_order(self) -> Sequence[Job]:
        """The waiting jobs in queue order, those with a promise first."""
        order = [job for _, job in self._world.order]
        promises = self._ledger.promises
        if promises:
            first = [job for job in order[: len(promises)] if job.id in promises]
            if len(first) < len(promises):
                first = [job for job in order if job.id in promises]
            if order[: len(first)] != first:
                order = first + [job for job in order if job.id not in promises]
        return order

    # Holds of earlier passes

    def _honour_holds(self) -> None:
        """Start the beneficiaries whose resources are free, and keep the resources of the others."""
        world, now_s = self._world, self._now_s
        for job_id, hold in sorted(self._ledger.holds.items(), key=lambda item: (item[1].since_s, item[0])):
            job = world.jobs.get(job_id)
            if job is None or self._gates.shut(job) is not None or self._preemption is None:
                continue
            allowed = world.vnodes_of(job.queue)
            still = [world.runs[victim] for victim in hold.victims if victim in world.runs]
            if not still or now_s - hold.since_s < self._settings.quota.give_up_s:
                placement = self._where_now(job, hold, allowed, gone=not still)
                if placement is not None:
                    self._draft.start(job, placement, backfilled=False)
                elif still:
                    self._keep(job, hold, still)

    def _where_now(self, job: Job, hold: Hold, allowed: int, gone: bool) -> Placement | None:
        capacity = self._capacity
        closed = False
        for share in hold.placement.shares(capacity.directory):
            closed = closed or bool(share.mask & ~(allowed & capacity.open_to(job.request)))
        if not closed and len(hold.placement.vnodes) and not capacity.part_within(hold.placement)[1]:
            return hold.placement
        return fit(capacity, job.request, allowed) if gone else None

    def _keep(self, job: Job, hold: Hold, still: list[Run]) -> None:
        preemption = self._preemption
        assert preemption is not None  # noqa: S101 - holds are honoured only where P1 is on
        for run in still:
            standing = self._quotas.surplus(run.job) or self._quotas.standing(run.job)
            self._draft.preempts.append(Preempt(run, job.id, why_preempted(job.id, run, standing), again=True))
            preemption.count_out(run)
        self._draft.hold_for(job, hold.placement, tuple(run.id for run in still), hold.since_s)

    # Jobs in their turn

    def _take_in_turn(self, job: Job, region: Region) -> None:
        """No head yet: start, preempt, or become the head."""
        left: Job | None = job
        allowed = self._world.vnodes_of(job.queue)
        while left is not None:
            job = left
            if len(self._draft.starts) >= self._settings.schedule.max_starts and job.id not in self._ledger.promises:
                self._draft.leave(job, Reason("limit-of-pass", (("limit", len(self._draft.starts)),)))
                return
            if not job.request.only_cores or job.cores <= region.idle:
                placement = fit(self._capacity, job.request, allowed)
                if placement is not None:
                    left = self._draft.start(job, placement, backfilled=False)
                    reason = self._gates.shut(left) if left is not None else None
                    if left is not None and reason is not None:
                        self._draft.leave(left, reason)
                        return
                    continue
            break
        if left is None:
            return
        reason = self._never(job, allowed)
        if reason is None:
            tried = self._preempt(job, allowed, region)
            if tried is None:
                return
            reason = self._become_head(job, allowed, region, tried)
        self._draft.leave(job, reason)

    def _become_head(self, job: Job, allowed: int, region: Region, tried: tuple[Reason, ...]) -> Reason:
        reservation = reserve(self._world, job, allowed, self._now_s, self._draft.pending)
        if reservation is None:
            return Reason("never-arranged", (("queue", job.queue),), tried)
        region.reservation = reservation
        return Reason("reserved", (("idle", region.idle), ("at_s", reservation.at_s)), tried)

    def _take_behind(self, job: Job, region: Region) -> None:
        """There is a head: start beside it or within its window, or preempt, or wait."""
        left: Job | None = job
        while left is not None:
            job = left
            reason = self._backfill(job, region)
            if reason is not None:
                if reason is not _DONE:
                    self._draft.leave(job, reason)
                return
            left = self._left_of_array

    def _backfill(self, job: Job, region: Region) -> Reason | None:
        """Start the job beside the head; else why not. What is left of an array goes to ``_left_of_array``."""
        self._left_of_array: Job | None = None
        reservation = region.reservation
        assert reservation is not None  # noqa: S101 - there is a head
        allowed = self._world.vnodes_of(job.queue)
        end_s = self._now_s + job.estimate_s
        main: Reason | None = None
        if self._settings.backfill.kind == "none":
            main = Reason("behind-head", (("head", reservation.head.id),))
            if self._preemption is None or fit(self._capacity, job.request, allowed) is not None:
                return main
        elif job.request.cores > region.idle:
            main = Reason("too-few-idle", (("idle", region.idle),))
        elif not reservation.counts_out(job, end_s):
            if end_s > reservation.at_s:
                reason = self._gates.shut_beside(job, reservation.head)
                if reason is not None:
                    return reason
            placement = fit(self._capacity, job.request, allowed)
            if placement is not None and not reservation.admits(placement, end_s, job.request):
                placement = fit(self._capacity, job.request, allowed & ~reservation.head_vnodes())
                if placement is not None and not reservation.admits(placement, end_s, job.request):
                    placement = None
            elif placement is None:
                main = Reason("fragmented", (("idle", region.idle),))
            if placement is not None:
                reason = self._gates.shut(job)
                if reason is not None:
                    return reason
                if len(self._draft.starts) >= self._settings.schedule.max_starts:
                    return Reason("limit-of-pass", (("limit", len(self._draft.starts)),))
                self._left_of_array = self._draft.start(job, placement, backfilled=True)
                return None
        if main is None:
            main = self._window_reason(reservation)
        never = self._never(job, allowed)
        if never is not None:
            return never
        if self._preemption is None:
            return main
        tried = self._preempt(job, allowed, region)
        if tried is None:
            return _DONE
        return main._replace(tried=tried)

    def _window_reason(self, reservation: Reservation) -> Reason:
        numbers = (("head", reservation.head.id), ("at_s", reservation.at_s), ("beside", reservation.spare_cores))
        return Reason("backfill-window", numbers)

    def _never(self, job: Job, allowed: int) -> Reason | None:
        """Why no vnodes open to the job could ever hold it; None where they could."""
        capacity = self._capacity
        for chunk in job.request.chunks:
            possible = capacity.ever_holds(chunk, allowed & capacity.usable)
            if possible < chunk.pieces:
                numbers = (("pieces", chunk.pieces), ("possible", possible), ("queue", job.queue))
                return Reason("never-fits", numbers)
        return None

    def _preempt(self, job: Job, allowed: int, region: Region) -> tuple[Reason, ...] | None:
        """Preempt for the job if P1 lets it and keep what it needs; else what was tried in vain."""
        preemption = self._preemption
        if preemption is None:
            return ()
        refused = preemption.refuse(job)
        if refused is not None:
            return (refused,)
        reservation = region.reservation
        end_s = self._now_s + job.estimate_s
        found = preemption.find(
            job,
            allowed,
            lambda there, gone: reservation is None or reservation.survives(there, end_s, job.request, gone),
        )
        if isinstance(found, Reason):
            return (found,)
        preemption.take(found)
        running = tuple(victim for victim in found.victims if not self._draft.cancel_start(victim.run, job))
        if running:
            self._draft.note_preempts(job, running)
            self._draft.hold_for(job, found.placement, tuple(victim.run.id for victim in running), self._now_s)
        else:
            self._draft.start(job, found.placement, backfilled=False)
        if reservation is not None:
            gone = [victim.run for victim in found.victims]
            reservation.replace(found.placement, end_s, job.request, gone)
        return None
