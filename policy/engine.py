"""One pass: what to start, whom to preempt, whom to reserve for, and why everyone else waits.

Jobs are taken in queue order. Each starts if it fits; the first of a region that does not may preempt (P1), else it is
reserved and heads its region; those behind it start only where they leave its reserved time alone (P3), or preempt in
their turn. A job once promised a time stays the head until it starts. See docs/policies.md, "Together, in one pass".
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from policy.cluster import UNLIMITED_S, Job, Run
from policy.fitting import fit
from policy.gates import Gates
from policy.ledger import Hold, Ledger
from policy.limits import show_entity
from policy.placement import Placement
from policy.plan import Estimate, Plan, Preempt, Start, Wait
from policy.preemption import Found, Preemption
from policy.quotas import Quotas
from policy.reasons import Reason
from policy.request import Request
from policy.reservation import Pending, Reservation, reserve
from policy.settings import Settings
from policy.snapshot import Snapshot
from policy.world import Op, order_key

_SHARED = Request((), sharing="shared")


def decide(snapshot: Snapshot, ledger: Ledger, settings: Settings) -> Plan:
    """Decide one pass. Pure: the same values give the same plan, and nothing is changed by it.

    Every waiting job is either started (an array: some of its subjobs) or has exactly one reason.
    """
    return _Pass(snapshot, ledger, settings).decide()


class _Region:
    """What one set of queues that share vnodes has come to in this pass."""

    __slots__ = ("idle", "reservation", "vnodes")

    def __init__(self, vnodes: int, idle: int) -> None:
        self.vnodes = vnodes
        self.idle = idle
        self.reservation: Optional[Reservation] = None


class _Pass:
    """The state of one pass: works in the snapshot's world, notes how to undo it, and leaves a plan."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger, settings: Settings) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._settings = settings
        self._now_s = snapshot.time_s
        self._world = world = snapshot.world()
        self._capacity = world.capacity
        self._undo: List[Op] = []
        self._starts: List[Start] = []
        self._preempts: List[Preempt] = []
        self._pending: List[Pending] = []
        self._holds: Dict[str, Hold] = {}
        self._waits: Dict[Reason, List[Job]] = {}
        self._gates = Gates(world, self._now_s)
        by_mask: Dict[int, _Region] = {}
        self._regions: Dict[str, _Region] = {}
        for queue, mask in world.regions().items():
            region = by_mask.get(mask)
            if region is None:
                region = by_mask[mask] = _Region(mask, self._capacity.idle(mask))
            self._regions[queue] = region
        self._preemption: Optional[Preemption] = None
        if settings.quota.preempt and any(queue.quotas for queue in world.queues.values()):
            quotas = Quotas(world, settings.quota.counted)
            self._quotas = quotas
            self._preemption = Preemption(world, ledger, quotas, settings.quota, self._now_s)

    def decide(self) -> Plan:
        if self._ledger.holds:
            self._honour_holds()
        behind: List[Job] = []
        shortest_first = self._settings.backfill.order == "shortest-first"
        for job in self._in_order():
            if job.id in self._holds:
                continue
            reason = self._gates.shut(job)
            if reason is not None:
                self._leave(job, reason)
            elif self._regions[job.queue].reservation is None:
                self._take_in_turn(job)
            elif shortest_first:
                behind.append(job)
            else:
                self._take_behind(job)
        if behind:
            behind.sort(key=lambda job: (job.estimate_s, order_key(job)))
            for job in behind:
                self._take_behind(job)
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

    def _where_now(self, job: Job, hold: Hold, allowed: int, gone: bool) -> Optional[Placement]:
        capacity = self._capacity
        closed = False
        for share in hold.placement.shares(capacity.directory):
            closed = closed or bool(share.mask & ~(allowed & capacity.open_to(job.request)))
        if not closed and len(hold.placement.vnodes) and not capacity.part_within(hold.placement)[1]:
            return hold.placement
        return fit(capacity, job.request, allowed) if gone else None

    def _keep(self, job: Job, hold: Hold, still: List[Run]) -> None:
        preemption = self._preemption
        assert preemption is not None  # noqa: S101 - holds are honoured only where P1 is on
        for run in still:
            surplus = self._quotas.surplus(run.job)
            reason = self._why_preempted(job.id, run, surplus and surplus.entity, surplus and surplus.used, 0)
            self._preempts.append(Preempt(run, job.id, reason, again=True))
            preemption.count_out(run)
        self._reserve_for(job, hold.placement, tuple(run.id for run in still), hold.since_s)

    def _reserve_for(self, job: Job, placement: Placement, victims: Tuple[str, ...], since_s: float) -> None:
        """Keep a beneficiary's vnodes: what is idle of them is taken now, the rest as soon as its victims let go."""
        inside, missing = self._capacity.part_within(placement)
        self._capacity.take(inside, _SHARED)
        self._pending.append(Pending(job, placement, self._now_s + job.estimate_s, victims, missing, inside))
        self._holds[job.id] = Hold(placement, victims, since_s)
        self._quotas.shift(job, 1)
        region = self._regions[job.queue]
        region.idle = self._capacity.idle(region.vnodes)
        self._leave(job, Reason("preempting", (("victims", ", ".join(victims)),)))

    # Jobs in their turn

    def _take_in_turn(self, job: Job) -> None:
        """No head yet: start, preempt, or become the head."""
        region = self._regions[job.queue]
        left: Optional[Job] = job
        allowed = self._world.vnodes_of(job.queue)
        while left is not None:
            job = left
            if not job.request.only_cores or job.cores <= region.idle:
                placement = fit(self._capacity, job.request, allowed)
                if placement is not None:
                    if len(self._starts) >= self._settings.schedule.max_starts:
                        self._leave(job, Reason("limit-of-pass", (("limit", len(self._starts)),)))
                        return
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

    def _become_head(self, job: Job, allowed: int, region: _Region, tried: Tuple[Reason, ...]) -> Reason:
        reservation = reserve(self._world, job, allowed, self._now_s, self._pending)
        if reservation is None:
            return Reason("fragmented", (("idle", region.idle),), tried)
        region.reservation = reservation
        return Reason("reserved", (("idle", region.idle), ("at_s", reservation.at_s)), tried)

    def _take_behind(self, job: Job) -> None:
        """There is a head: start beside it or within its window, or preempt, or wait."""
        region = self._regions[job.queue]
        left: Optional[Job] = job
        while left is not None:
            job = left
            reason = self._backfill(job, region)
            if reason is not None:
                self._leave(job, reason)
                return
            left = self._left_of_array

    def _backfill(self, job: Job, region: _Region) -> Optional[Reason]:
        """Start the job beside the head; else why not. What is left of an array goes to ``_left_of_array``."""
        self._left_of_array: Optional[Job] = None
        reservation = region.reservation
        assert reservation is not None  # noqa: S101 - there is a head
        allowed = self._world.vnodes_of(job.queue)
        end_s = self._now_s + job.estimate_s
        main: Optional[Reason] = None
        if self._settings.backfill.kind == "none":
            main = Reason("behind-head", (("head", reservation.head.id),))
        elif job.request.cores > region.idle:
            main = self._shared_reason("too-few-idle", region.idle)
        elif not reservation.counts_out(job, end_s):
            placement = fit(self._capacity, job.request, allowed)
            if placement is not None and not reservation.admits(placement, end_s):
                placement = fit(self._capacity, job.request, allowed & ~reservation.head_vnodes())
                if placement is not None and not reservation.admits(placement, end_s):
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
        if self._preemption is None:
            return main
        never = self._never(job, allowed)
        if never is not None:
            return never
        tried = self._preempt(job, allowed, region)
        if tried is None:
            return _DONE
        return main._replace(tried=tried)

    def _window_reason(self, reservation: Reservation) -> Reason:
        numbers = (("head", reservation.head.id), ("at_s", reservation.at_s), ("beside", reservation.spare_cores))
        return Reason("backfill-window", numbers)

    def _shared_reason(self, code: str, idle: int) -> Reason:
        return Reason(code, (("idle", idle),))

    def _never(self, job: Job, allowed: int) -> Optional[Reason]:
        """Why no vnodes open to the job could ever hold it; None where they could."""
        capacity = self._capacity
        for chunk in job.request.chunks:
            possible = capacity.ever_holds(chunk, allowed & capacity.usable)
            if possible < chunk.pieces:
                numbers = (("pieces", chunk.pieces), ("possible", possible), ("queue", job.queue))
                return Reason("never-fits", numbers)
        return None

    # Acting in the plan

    def _start(self, job: Job, placement: Placement, backfilled: bool) -> Optional[Job]:
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
        undo.append(("runs", run_id, world.set_run(run_id, Run(run_id, job, self._now_s, placement, end_s, False, subjob))))
        self._starts.append(Start(run_id, job, placement, backfilled, subjob))
        self._gates.open_for(job)
        region = self._regions[job.queue]
        region.idle -= job.request.cores
        if job.request.exclusive or self._capacity.exclusive:
            region.idle = self._capacity.idle(region.vnodes)
        return left

    def _preempt(self, job: Job, allowed: int, region: _Region) -> Optional[Tuple[Reason, ...]]:
        """Preempt for the job if P1 lets it and keep what it needs; else what was tried in vain."""
        preemption = self._preemption
        if preemption is None:
            return ()
        refused = preemption.refuse(job)
        if refused is not None:
            return (refused,)
        found = preemption.find(job, allowed, lambda placement, gone: self._head_keeps(job, placement, gone, region))
        if isinstance(found, Reason):
            return (found,)
        preemption.take(found)
        self._note_preempts(job, found)
        victims = tuple(victim.run.id for victim in found.victims)
        self._reserve_for(job, found.placement, victims, self._now_s)
        if region.reservation is not None:
            again = reserve(
                self._world, region.reservation.head, self._world.vnodes_of(region.reservation.head.queue),
                self._now_s, self._pending,
            )  # fmt: skip
            region.reservation = again or region.reservation
        return None

    def _head_keeps(self, job: Job, placement: Placement, gone: Sequence[Run], region: _Region) -> bool:
        """Whether the head starts as early as reserved if the job runs there, with these runs out of the world."""
        reservation = region.reservation
        if reservation is None:
            return True
        inside, missing = self._capacity.part_within(placement)
        end_s = self._now_s + job.estimate_s
        self._capacity.take(inside, _SHARED)
        trial = Pending(job, placement, end_s, (), missing, inside)
        again = reserve(
            self._world, reservation.head, self._world.vnodes_of(reservation.head.queue), self._now_s,
            [*self._pending, trial],
        )  # fmt: skip
        self._capacity.give(inside, _SHARED)
        return again is not None and again.at_s <= reservation.at_s

    def _note_preempts(self, job: Job, found: Found) -> None:
        for victim in found.victims:
            standing = victim.standing
            reason = self._why_preempted(job.id, victim.run, standing.entity, standing.used, standing.limit)
            self._preempts.append(Preempt(victim.run, job.id, reason))

    def _why_preempted(
        self, beneficiary: str, run: Run, entity: Optional[Tuple[str, str]], used: Optional[int], limit: int
    ) -> Reason:
        owner = show_entity(entity) if entity else show_entity(("u", run.job.user))
        numbers = (("beneficiary", beneficiary), ("entity", owner), ("used", used or 0), ("limit", limit))
        return Reason("preempted-quota", (*numbers, ("queue", run.job.queue)))

    def _leave(self, job: Job, reason: Reason) -> None:
        if reason is _DONE:
            return
        jobs = self._waits.get(reason)
        if jobs is None:
            self._waits[reason] = [job]
        else:
            jobs.append(job)

    # The plan

    def _plan(self) -> Plan:
        estimates, promises = self._promises()
        for pending in self._pending:
            self._capacity.give(pending.inside, _SHARED)
        self._undo.reverse()
        started = self._snapshot.after(self._undo)
        ledger = self._next_ledger(promises)
        waits = tuple(Wait(reason, jobs) for reason, jobs in self._waits.items())
        return Plan(self._now_s, tuple(self._starts), tuple(self._preempts), estimates, waits, ledger, started)

    def _promises(self) -> Tuple[Tuple[Estimate, ...], Dict[str, float]]:
        """The first reserved time of each head: it may move earlier, never later."""
        estimates: List[Estimate] = []
        promises: Dict[str, float] = {}
        waiting, earlier = self._world.jobs, self._ledger.promises
        for job_id, at_s in earlier.items():
            if job_id in waiting and self._gates.shut(waiting[job_id]) is None:
                promises[job_id] = at_s
        for region in set(self._regions.values()):
            reservation = region.reservation
            if reservation is not None and reservation.at_s != UNLIMITED_S:
                head = reservation.head.id
                promises[head] = min(promises.get(head, reservation.at_s), reservation.at_s)
                estimates.append(Estimate(head, reservation.at_s, promises[head]))
        return tuple(sorted(estimates)), promises

    def _next_ledger(self, promises: Dict[str, float]) -> Ledger:
        ledger, world = self._ledger, self._world
        preemptions = {job: n for job, n in ledger.preemptions.items() if job in world.jobs or job in world.runs}
        for preempt in self._preempts:
            if not preempt.again:
                preemptions[preempt.id] = preemptions.get(preempt.id, 0) + 1
        backfilled = {run: at_s for run, at_s in ledger.backfilled.items() if run in world.runs}
        for start in self._starts:
            if start.backfilled:
                backfilled[start.id] = self._now_s
        return Ledger(promises, self._holds, preemptions, backfilled)


_DONE = Reason("preempting", (("victims", ""),))
"""Stands for a job whose outcome is noted already."""


def _without_first_subjob(job: Job) -> Job:
    fields = {name: getattr(job, name) for name in job.__dataclass_fields__}
    fields["subjobs"] = (job.subjobs or ())[1:]
    return Job(**fields)
