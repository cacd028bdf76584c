"""What a pass has come to so far: starts, preemptions, holds and reasons, with the world kept in step.

Whatever is drafted shows at once in what is free, in use and waiting, so that the next job meets it. Every change is
noted with the one that undoes it, so that the snapshot stays what it was. The walk over the queue is the engine's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from policy.cluster import UNLIMITED_S, Job, Run
from policy.gates import Gates
from policy.ledger import Hold, Ledger
from policy.limits import show_entity
from policy.placement import Placement
from policy.plan import Estimate, Plan, Preempt, Start, Wait
from policy.preemption import Victim
from policy.quotas import Quotas, Standing
from policy.reasons import Reason
from policy.reservation import Pending, Reservation
from policy.snapshot import Snapshot
from policy.world import Op


class Region:
    """What one set of queues that share vnodes has come to in this pass."""

    __slots__ = ("idle", "reservation", "too_large", "too_large_idle", "total", "vnodes")

    def __init__(self, vnodes: int, idle: int, total: int) -> None:
        self.vnodes = vnodes
        self.idle = idle
        self.total = total
        self.reservation: Reservation | None = None
        self.too_large: list[Job] = []
        self.too_large_idle = -1


class Draft:
    """The plan in the making."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger, gates: Gates, quotas: Quotas) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._gates = gates
        self._quotas = quotas
        self._now_s = snapshot.time_s
        self._world = world = snapshot.world()
        self._capacity = capacity = world.capacity
        self._undo: list[Op] = []
        self._waits: dict[Reason, list[Job]] = {}
        self.starts: list[Start] = []
        self.preempts: list[Preempt] = []
        self.pending: list[Pending] = []
        self.holds: dict[str, Hold] = {}
        self.regions: dict[str, Region] = {}
        by_mask: dict[int, Region] = {}
        for queue, mask in world.regions().items():
            region = by_mask.get(mask)
            if region is None:
                total = capacity.total(mask & capacity.usable)
                region = by_mask[mask] = Region(mask, capacity.idle(mask), total)
            self.regions[queue] = region

    def start(self, job: Job, placement: Placement, backfilled: bool) -> Job | None:
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
        self.starts.append(Start(run_id, job, placement, backfilled, subjob))
        self._gates.open_for(job)
        region = self.regions[job.queue]
        region.idle -= job.request.cores
        if job.request.exclusive or self._capacity.exclusive:
            region.idle = self._capacity.idle(region.vnodes)
        return left

    def cancel_start(self, run: Run, beneficiary: Job) -> bool:
        """Take back a start of this very pass, as its cores go to a job within quota; False for a run of before."""
        start = next((start for start in self.starts if start.id == run.id), None)
        if start is None:
            return False
        self.starts.remove(start)
        world, undo = self._world, self._undo
        undo.append(("runs", run.id, world.set_run(run.id, None)))
        undo.append(("jobs", run.id, world.set_job(run.id, run.job)))
        self._gates.take_back(run.job)
        self._quotas.shift(run.job, 1)
        region = self.regions[run.job.queue]
        region.idle = self._capacity.idle(region.vnodes)
        self.leave(run.job, Reason("passed-over", (("beneficiary", beneficiary.id),)))
        return True

    def hold_for(self, job: Job, placement: Placement, victims: tuple[str, ...], since_s: float) -> None:
        """Keep a beneficiary's vnodes: what is idle of them is taken now, the rest as soon as its victims let go."""
        inside, missing = self._capacity.part_within(placement)
        self._capacity.take_amounts(inside)
        closed = self._capacity.close(placement.shares(self._capacity.directory), job.request)
        self.pending.append(Pending(job, placement, self._now_s + job.estimate_s, victims, missing, inside, closed))
        self._gates.expect(job)
        self.holds[job.id] = Hold(placement, victims, since_s)
        self._quotas.shift(job, 1)
        region = self.regions[job.queue]
        region.idle = self._capacity.idle(region.vnodes)
        self.leave(job, Reason("preempting", (("victims", ", ".join(victims)),)))

    def note_preempts(self, job: Job, victims: Sequence[Victim]) -> None:
        """The victims of a beneficiary, each with the entry that is over."""
        for victim in victims:
            self.preempts.append(Preempt(victim.run, job.id, why_preempted(job.id, victim.run, victim.standing)))

    def leave(self, job: Job, reason: Reason) -> None:
        """The job is left alone, for this reason."""
        jobs = self._waits.get(reason)
        if jobs is None:
            self._waits[reason] = [job]
        else:
            jobs.append(job)

    def share_too_large(self, region: Region) -> None:
        """One reason, and one list, for all jobs left for want of idle cores: the most frequent outcome by far."""
        region.too_large_idle = region.idle
        region.too_large = self._waits.setdefault(Reason("too-few-idle", (("idle", region.idle),)), [])

    def plan(self) -> Plan:
        """The plan; the world then belongs to the plan's ``started`` snapshot."""
        estimates, promises = self._promises()
        for pending in self.pending:
            self._capacity.take_amounts(pending.inside, -1)
            self._capacity.reopen(pending.closed)
        self._undo.reverse()
        started = self._snapshot.after(self._undo)
        ledger = self._next_ledger(promises)
        waits = tuple(Wait(reason, jobs) for reason, jobs in self._waits.items())
        return Plan(self._now_s, tuple(self.starts), tuple(self.preempts), estimates, waits, ledger, started)

    def _promises(self) -> tuple[tuple[Estimate, ...], dict[str, float]]:
        """The first reserved time of each head: it may move earlier, never later."""
        estimates: list[Estimate] = []
        promises: dict[str, float] = {}
        waiting = self._world.jobs
        begun = {start.job.id for start in self.starts}
        for job_id, at_s in self._ledger.promises.items():
            if job_id in waiting and job_id not in begun and self._gates.shut(waiting[job_id]) is None:
                promises[job_id] = at_s
        for region in self.regions.values():
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
        if preemptions or self.preempts:
            counts = {
                run: count for run, count in preemptions.items() if run in runs or run in jobs or _array_of(run) in jobs
            }
            for preempt in self.preempts:
                if not preempt.again:
                    counts[preempt.id] = counts.get(preempt.id, 0) + 1
            preemptions = counts
        backfilled = {run: at_s for run, at_s in ledger.backfilled.items() if run in runs}
        for start in self.starts:
            if start.backfilled:
                backfilled[start.id] = self._now_s
        return Ledger(promises, self.holds, preemptions, backfilled)


def why_preempted(beneficiary: str, run: Run, standing: Standing) -> Reason:
    """The reason of a preemption by quota (docs/policies.md, P1)."""
    numbers = (("beneficiary", beneficiary), ("entity", show_entity(standing.entity)))
    return Reason(
        "preempted-quota", (*numbers, ("used", standing.used), ("limit", standing.limit), ("queue", run.job.queue))
    )


def _array_of(run_id: str) -> str:
    """The id of the array that a subjob's id belongs to; the id itself where it is no subjob's."""
    return _INDEX.sub("[]", run_id, count=1)


_INDEX = re.compile(r"\[[0-9]+\]")


def _without_first_subjob(job: Job) -> Job:
    fields = {name: getattr(job, name) for name in job.__dataclass_fields__}
    fields["subjobs"] = (job.subjobs or ())[1:]
    return Job(**fields)
