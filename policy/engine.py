"""One pass: what to start, whom to preempt, whom to reserve for, and why everyone else waits.

Jobs are taken in queue order. Each starts if it fits; the first of a region that does not may preempt (P1), else it is
reserved and heads its region; those behind it start only where they leave its reserved time alone (P3), or preempt in
their turn. A job once promised a time stays the head until it starts. See docs/policies.md, "Together, in one pass".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from policy.cluster import UNLIMITED_S, Job, Run
from policy.fitting import fit
from policy.gates import Gates
from policy.ledger import Hold, Ledger
from policy.limits import show_entity
from policy.placement import Placement
from policy.plan import Estimate, Plan, Preempt, Start, Wait
from policy.preemption import Preemption, Victim
from policy.quotas import Quotas, Standing
from policy.reasons import Reason
from policy.reservation import Pending, Reservation, reserve
from policy.settings import Settings
from policy.snapshot import Snapshot
from policy.world import Op, order_key


def decide(snapshot: Snapshot, ledger: Ledger, settings: Settings) -> Plan:
    """Decide one pass. Pure: the same values give the same plan, and nothing is changed by it.

    Every waiting job is either started (an array: some of its subjobs) or has exactly one reason.
    """
    return _Pass(snapshot, ledger, settings).decide()


class _Region:
    """What one set of queues that share vnodes has come to in this pass."""

    __slots__ = ("idle", "reservation", "too_large", "too_large_idle", "total", "vnodes")

    def __init__(self, vnodes: int, idle: int, total: int) -> None:
        self.vnodes = vnodes
        self.idle = idle
        self.total = total
        self.reservation: Reservation | None = None
        self.too_large: list[Job] = []
        self.too_large_idle = -1


class _Pass:
    """The state of one pass: works in the snapshot's world, notes how to undo it, and leaves a plan."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger, settings: Settings) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._settings = settings
        self._now_s = snapshot.time_s
        self._world = world = snapshot.world()
        self._capacity = world.capacity
        self._undo: list[Op] = []
        self._starts: list[Start] = []
        self._preempts: list[Preempt] = []
        self._pending: list[Pending] = []
        self._holds: dict[str, Hold] = {}
        self._waits: dict[Reason, list[Job]] = {}
        self._gates = Gates(world, self._now_s)
        by_mask: dict[int, _Region] = {}
        self._regions: dict[str, _Region] = {}
        for queue, mask in world.regions().items():
            region = by_mask.get(mask)
            if region is None:
                region = by_mask[mask] = _Region(
                    mask, self._capacity.idle(mask), self._capacity.total(mask & self._capacity.usable)
                )
            self._regions[queue] = region
        self._preemption: Preemption | None = None
        if settings.quota.preempt and any(queue.quotas for queue in world.queues.values()):
            quotas = Quotas(world, settings.quota.counted)
            self._quotas = quotas
            self._preemption = Preemption(world, ledger, quotas, settings.quota, self._now_s)

    def decide(self) -> Plan:
        if self._ledger.holds:
            self._honour_holds()
        behind: list[Job] = []
        shortest_first = self._settings.backfill.order == "shortest-first"
        only_by_idle = self._settings.backfill.kind == "easy" and self._preemption is None
        regions, holds, plain = self._regions, self._holds, self._world.plain_queues()
        for job in self._in_order():
            if holds and job.id in holds:
                continue
            if job.blocked or job.not_before_s is not None or job.queue not in plain:
                reason = self._gates.shut(job)
                if reason is not None:
                    self._leave(job, reason)
                    continue
            region = regions[job.queue]
            if region.reservation is None:
                self._take_in_turn(job, region)
            elif only_by_idle and region.total >= job.request.cores > region.idle:
                if region.idle != region.too_large_idle:
                    self._share_too_large(region)
                region.too_large.append(job)
            elif shortest_first:
                behind.append(job)
            else:
                self._take_behind(job, region)
        if behind:
            behind.sort(key=lambda job: (job.estimate_s, order_key(job)))
            for job in behind:
                self._take_behind(job, regions[job.queue])
        return self._plan()

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
                    self._start(job, placement, backfilled=False)
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
            self._preempts.append(Preempt(run, job.id, _why_preempted(job.id, run, standing), again=True))
            preemption.count_out(run)
        self._reserve_for(job, hold.placement, tuple(run.id for run in still), hold.since_s)

    def _reserve_for(self, job: Job, placement: Placement, victims: tuple[str, ...], since_s: float) -> None:
        """Keep a beneficiary's vnodes: what is idle of them is taken now, the rest as soon as its victims let go."""
        inside, missing = self._capacity.part_within(placement)
        self._capacity.take_amounts(inside)
        closed = self._capacity.close(placement.shares(self._capacity.directory), job.request)
        self._pending.append(Pending(job, placement, self._now_s + job.estimate_s, victims, missing, inside, closed))
        self._gates.expect(job)
        self._holds[job.id] = Hold(placement, victims, since_s)
        self._quotas.shift(job, 1)
        region = self._regions[job.queue]
        region.idle = self._capacity.idle(region.vnodes)
        self._leave(job, Reason("preempting", (("victims", ", ".join(victims)),)))

    # Jobs in their turn

    def _take_in_turn(self, job: Job, region: _Region) -> None:
        """No head yet: start, preempt, or become the head."""
        left: Job | None = job
        allowed = self._world.vnodes_of(job.queue)
        while left is not None:
            job = left
            if len(self._starts) >= self._settings.schedule.max_starts and job.id not in self._ledger.promises:
                self._leave(job, Reason("limit-of-pass", (("limit", len(self._starts)),)))
                return
            if not job.request.only_cores or job.cores <= region.idle:
                placement = fit(self._capacity, job.request, allowed)
                if placement is not None:
                    left = self._start(job, placement, backfilled=False)
                    reason = self._gates.shut(left) if left is not None else None
                    if left is not None and reason is not None:
                        self._leave(left, reason)
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
        self._leave(job, reason)

    def _become_head(self, job: Job, allowed: int, region: _Region, tried: tuple[Reason, ...]) -> Reason:
        reservation = reserve(self._world, job, allowed, self._now_s, self._pending)
        if reservation is None:
            return Reason("never-arranged", (("queue", job.queue),), tried)
        region.reservation = reservation
        return Reason("reserved", (("idle", region.idle), ("at_s", reservation.at_s)), tried)

    def _take_behind(self, job: Job, region: _Region) -> None:
        """There is a head: start beside it or within its window, or preempt, or wait."""
        left: Job | None = job
        while left is not None:
            job = left
            reason = self._backfill(job, region)
            if reason is not None:
                self._leave(job, reason)
                return
            left = self._left_of_array

    def _backfill(self, job: Job, region: _Region) -> Reason | None:
        """Start the job beside the head; else why not. What is left of an array goes to ``_left_of_array``."""
        self._left_of_array: Job | None = None
        reservation = region.reservation
        assert reservation is not None  # noqa: S101 - there is a head
        allowed = self._world.vnodes_of(job.queue)
        end_s = self._now_s + job.estimate_s
        main: Reason | None = None
        if self._settings.backfill.kind == "none":
            main = Reason("behind-head", (("head", reservation.head.id),))
            if fit(self._capacity, job.request, allowed) is not None:
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
                if len(self._starts) >= self._settings.schedule.max_starts:
                    return Reason("limit-of-pass", (("limit", len(self._starts)),))
                self._left_of_array = self._start(job, placement, backfilled=True)
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

    # Acting in the plan

    def _start(self, job: Job, placement: Placement, backfilled: bool) -> Job | None:
        """Plan a start and let the world show it; gives what is left of an array."""
        subjob = job.subjobs[0] if job.subjobs else None
        run_id = job.id if subjob is None else job.subjob_id(subjob)
        left = None
        if job.subjobs and len(job.subjobs) > 1:
            left = _without_first_subjob(job)
        world, undo = self._world, self._undo
        end_s = self._now_s + job.estimate_s
        undo.append(("jobs", job.id, world.set_job(job.id, None)))
        if left is not None:
            undo.append(("jobs", job.id, world.set_job(job.id, left)))
        undo.append(
            ("runs", run_id, world.set_run(run_id, Run(run_id, job, self._now_s, placement, end_s, False, subjob)))
        )
        self._starts.append(Start(run_id, job, placement, backfilled, subjob))
        self._gates.open_for(job)
        region = self._regions[job.queue]
        region.idle -= job.request.cores
        if job.request.exclusive or self._capacity.exclusive:
            region.idle = self._capacity.idle(region.vnodes)
        return left

    def _preempt(self, job: Job, allowed: int, region: _Region) -> tuple[Reason, ...] | None:
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
        running = tuple(victim for victim in found.victims if not self._cancel_start(victim.run, job))
        if running:
            self._note_preempts(job, running)
            self._reserve_for(job, found.placement, tuple(victim.run.id for victim in running), self._now_s)
        else:
            self._start(job, found.placement, backfilled=False)
        if reservation is not None:
            head = reservation.head
            again = reserve(self._world, head, self._world.vnodes_of(head.queue), self._now_s, self._pending)
            region.reservation = again or reservation
        return None

    def _cancel_start(self, run: Run, beneficiary: Job) -> bool:
        """Take back a start of this very pass, as its cores go to a job within quota; False for a run of before."""
        start = next((start for start in self._starts if start.id == run.id), None)
        if start is None:
            return False
        self._starts.remove(start)
        world, undo = self._world, self._undo
        undo.append(("runs", run.id, world.set_run(run.id, None)))
        undo.append(("jobs", run.id, world.set_job(run.id, run.job)))
        self._gates.take_back(run.job)
        self._quotas.shift(run.job, 1)
        region = self._regions[run.job.queue]
        region.idle = self._capacity.idle(region.vnodes)
        self._leave(run.job, Reason("passed-over", (("beneficiary", beneficiary.id),)))
        return True

    def _note_preempts(self, job: Job, victims: Sequence[Victim]) -> None:
        for victim in victims:
            self._preempts.append(Preempt(victim.run, job.id, _why_preempted(job.id, victim.run, victim.standing)))

    def _leave(self, job: Job, reason: Reason) -> None:
        if reason is _DONE:
            return
        jobs = self._waits.get(reason)
        if jobs is None:
            self._waits[reason] = [job]
        else:
            jobs.append(job)

    def _share_too_large(self, region: _Region) -> None:
        """One reason, and one list, for all jobs left for want of idle cores: the most frequent outcome by far."""
        region.too_large_idle = region.idle
        region.too_large = self._waits.setdefault(Reason("too-few-idle", (("idle", region.idle),)), [])

    # The plan

    def _plan(self) -> Plan:
        estimates, promises = self._promises()
        for pending in self._pending:
            self._capacity.take_amounts(pending.inside, -1)
            self._capacity.reopen(pending.closed)
        self._undo.reverse()
        started = self._snapshot.after(self._undo)
        ledger = self._next_ledger(promises)
        waits = tuple(Wait(reason, jobs) for reason, jobs in self._waits.items())
        return Plan(self._now_s, tuple(self._starts), tuple(self._preempts), estimates, waits, ledger, started)

    def _promises(self) -> tuple[tuple[Estimate, ...], dict[str, float]]:
        """The first reserved time of each head: it may move earlier, never later."""
        estimates: list[Estimate] = []
        promises: dict[str, float] = {}
        waiting = self._world.jobs
        begun = {start.job.id for start in self._starts}
        for job_id, at_s in self._ledger.promises.items():
            if job_id in waiting and job_id not in begun and self._gates.shut(waiting[job_id]) is None:
                promises[job_id] = at_s
        for region in self._regions.values():
            reservation = region.reservation
            if reservation is not None and reservation.at_s != UNLIMITED_S:
                head, at_s = reservation.head.id, reservation.at_s
                promised_s = promises.get(head, at_s)
                promises[head] = promised_s = min(promised_s, at_s)
                estimate = Estimate(head, at_s, promised_s)
                if estimate not in estimates:
                    estimates.append(estimate)
        return tuple(sorted(estimates)), promises

    def _next_ledger(self, promises: dict[str, float]) -> Ledger:
        ledger, world = self._ledger, self._world
        runs, jobs = world.runs, world.jobs
        preemptions: Mapping[str, int] = ledger.preemptions
        if preemptions or self._preempts:
            counts = {
                run: count for run, count in preemptions.items() if run in runs or run in jobs or _array_of(run) in jobs
            }
            for preempt in self._preempts:
                if not preempt.again:
                    counts[preempt.id] = counts.get(preempt.id, 0) + 1
            preemptions = counts
        backfilled = {run: at_s for run, at_s in ledger.backfilled.items() if run in runs}
        for start in self._starts:
            if start.backfilled:
                backfilled[start.id] = self._now_s
        return Ledger(promises, self._holds, preemptions, backfilled)


def _why_preempted(beneficiary: str, run: Run, standing: Standing) -> Reason:
    numbers = (("beneficiary", beneficiary), ("entity", show_entity(standing.entity)))
    return Reason(
        "preempted-quota", (*numbers, ("used", standing.used), ("limit", standing.limit), ("queue", run.job.queue))
    )


_DONE = Reason("preempting", (("victims", ""),))
"""Stands for a job whose outcome is noted already."""


def _array_of(run_id: str) -> str:
    """The id of the array that a subjob's id belongs to; the id itself where it is no subjob's."""
    return _INDEX.sub("[]", run_id, count=1)


_INDEX = re.compile(r"\[[0-9]+\]")


def _without_first_subjob(job: Job) -> Job:
    fields = {name: getattr(job, name) for name in job.__dataclass_fields__}
    fields["subjobs"] = (job.subjobs or ())[1:]
    return Job(**fields)
