"""The plan under construction: starts, preemptions, earmarks and reasons.

Each decision updates the cluster index at once, so that later attempts see it, and is recorded with its inverse, so
that the snapshot can be restored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final

from policy.backfill.head_reservation import Reservation
from policy.backfill.queues_sharing_vnodes import Region, parts_with_one_head
from policy.backfill.release_profile import Pending, once_victims_end
from policy.eligibility.quota_headroom import QuotaHeadroom
from policy.model.allocation import NO_CORES, Allocation
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.model.ledger_between_passes import PROMISE, Backfilled, Earmark
from policy.plan.correct_idle_cores_in_reasons import with_idle_left
from policy.plan.next_ledger import NextEntries, next_ledger
from policy.plan.pass_context import Context
from policy.plan.plan_types import Estimate, MovedPromise, Plan, Preempt, Start, Waits
from policy.plan.reasons_named_when_read import OverQuota, name_all
from policy.preemption.preempt_for_job import Going
from policy.reasons.reason import Reason
from policy.reasons.reason_names import Number, Numbers, ReasonCode
from policy.state.cluster_index import Op
from policy.state.free_and_missing_amounts import free_and_missing
from policy.state.vnodes_by_idle_cores import Capacity

OPENING: Final = frozenset({"queue-closed", "hard-limit", "server-resource"})
"""The reasons at a gate that end by themselves: a job that was promised a start keeps its place in line."""


class PlanBuilder:
    """The plan under construction.

    ``moves`` counts changes of what jobs hold, ``taken_back`` cancelled starts. ``next_s``: when the next pass is due;
    ``again``: whether one is due at once. ``lapsed``: the jobs whose promises lapse, as they could start beyond their
    quotas only. ``regions``: the region of each queue, ``each_region`` each of them once. ``first_behind`` and
    ``tried_in_vain`` go to the next ledger.
    """

    next_s: float = UNLIMITED_S
    again: bool = False
    moves: int = 0
    taken_back: int = 0
    first_behind: int = 0
    tried_in_vain: int = 0
    _after_victims: tuple[int, Capacity | None] = (-1, None)

    def __init__(self, context: Context) -> None:
        self._context = context
        self._ledger = context.ledger
        # The promises that are not kept yet. The promise to an array is one to its next subjob.
        self.promises: Mapping[str, float] = context.ledger.promises
        self.now_s = context.now_s
        self._cluster = cluster = context.cluster
        self._capacity = context.capacity
        self._most_starts = context.settings.schedule.max_starts
        self._undo: list[Op] = []
        self._waits: dict[Reason, list[Job]] = {}
        self._unnamed: list[OverQuota] = []
        self._backfilled: dict[str, Backfilled] = {}
        # Runs that start in queue order now, though the ledger has an earlier, backfilled run of the same id.
        self._in_turn: set[str] = set()
        self._lists: dict[int, tuple[Reason, list[Job]]] = {}
        self.starts: list[Start] = []
        self.preempts: list[Preempt] = []
        self.pending: list[Pending] = []
        self.earmarks: dict[str, Earmark] = {}
        # Promised times of jobs that are no longer heads because cores are earmarked for them.
        self.promised: dict[str, float] = {}
        # Promises that were withdrawn or moved to a later time for jobs with a better claim.
        self.moved: dict[str, MovedPromise] = {}
        self.lapsed: set[str] = set()
        self.regions: dict[str, Region] = {}
        self.each_region: list[Region] = []
        for mask, queues, total in parts_with_one_head(cluster, self._ledger.promises):
            region = Region(mask, self._idle_in(mask), total)
            self.each_region.append(region)
            for queue in queues:
                self.regions[queue] = region
        if context.shrinks:
            # The last promised time of a region matters only where runs may be cut at promised times.
            for job_id, at_s in self.promises.items():
                job = cluster.jobs.get(job_id)
                of_job = None if job is None else self.regions.get(job.queue)
                if of_job is not None and at_s > of_job.promised_s:
                    of_job.promised_s = at_s

    def _idle_in(self, vnodes: int) -> int:
        """The idle cores that belong to no running reservation."""
        windows = self._context.windows
        idle = self._capacity.idle(vnodes)
        return idle if windows is None or not idle else windows.idle_now(self._capacity, vnodes, self.now_s)

    def start(self, job: Job, allocation: Allocation, backfilled: Backfilled | None = None) -> Job | None:
        """Plan a start and update the cluster index; returns the rest of an array."""
        self.moves += 1
        job_id, context, cluster, undo = job.id, self._context, self._cluster, self._undo
        preemption, classes = context.preemption, context.classes
        was_within = preemption is not None and job_id in self.promises and context.claims.is_within(job)
        undo.append(("jobs", job_id, cluster.set_job(job_id, None)))
        run_id, subjob, left = job_id, None, None
        if job.subjobs:
            subjob = job.subjobs[0]
            run_id = job.subjob_id(subjob)
            if len(job.subjobs) > 1:
                left = job._replace(subjobs=job.subjobs[1:])
                undo.append(("jobs", job_id, cluster.set_job(job_id, left)))
                if job_id in self.promises:
                    self.promises = {each: at_s for each, at_s in self.promises.items() if each != job_id}
        run = Run(run_id, job, self.now_s, allocation, self.now_s + job.left_s, False, subjob)
        undo.append(("runs", run_id, cluster.set_run(run_id, run)))
        why, cores, placer = None, NO_CORES, context.used_placer
        if not context.plain or job.layout is not None or job.rank is not None:
            placer = context.placer
            why = placer.why_layout(job)
            if job.rank is not None and job.rank.detail != "vnode":
                cores = context.core_book.give(run_id, allocation)
        if was_within and preemption is not None:
            preemption.keep_promised_start(run_id)
        self.starts.append(Start(run_id, job, allocation, backfilled is not None, subjob, why, cores))
        if backfilled is not None:
            self._backfilled[run_id] = backfilled
        elif run_id in self._ledger.backfilled:
            self._in_turn.add(run_id)
        if classes is not None:
            classes.start(job, run_id)
        if preemption is not None:
            preemption.note_start(run)
        if placer is not None:
            placer.started(job, allocation)
        if preemption is not None and not self.again:
            self.again = preemption.gains_by(job)
        region = self.regions[job.queue]
        region.idle -= job.request.cores
        if self._capacity.exclusive or job.request.exclusive:
            region.idle = self._idle_in(region.vnodes)
        return left

    def is_beyond_limit(self, job: Job) -> bool:
        """Whether the job is one start too many for the pass. A job that was promised a start never is."""
        return len(self.starts) >= self._most_starts and job.id not in self.promises

    def cancel_start(self, run: Run, beneficiary: Job) -> bool:
        """Cancel a start of this same pass, as the beneficiary takes its cores; False for a run of before."""
        at = next((at for at, start in enumerate(self.starts) if start.id == run.id), None)
        if at is None:
            return False
        self.moves += 1
        self.taken_back += 1
        self.again = True
        del self.starts[at]
        placer, core_book = self._context.used_placer, self._context.used_core_book
        if placer is not None:
            placer.taken_back(run.job, run.allocation)
        if core_book is not None:
            core_book.take_back(run.id)
        self._backfilled.pop(run.id, None)
        self._in_turn.discard(run.id)
        if self._context.classes is not None:
            self._context.classes.take_back(run.id)
        cluster, undo = self._cluster, self._undo
        undo.append(("runs", run.id, cluster.set_run(run.id, None)))
        undo.append(("jobs", run.id, cluster.set_job(run.id, run.job)))
        self._context.gates.take_back()
        self._context.quotas.shift(run.job, 1, run.allocation)
        region = self.regions[run.job.queue]
        region.idle = self._idle_in(region.vnodes)
        promised_s = self._ledger.promises.get(run.id)
        if promised_s is not None:
            self.moved[run.id] = MovedPromise(run.id, promised_s, None, beneficiary.id)
        self.leave(run.job, Reason("passed-over", (("beneficiary", beneficiary.id),)))
        return True

    def earmark_for(self, job: Job, earmark: Earmark) -> None:
        """Earmark a beneficiary's vnodes: what is idle of them is taken now, the rest when its victims end."""
        self.moves += 1
        allocation, victims = earmark.allocation, earmark.victims
        inside, missing = free_and_missing(self._capacity, allocation)
        self._capacity.take_amounts(inside)
        placer = self._context.used_placer if job.rank is None else self._context.placer
        if placer is not None:
            placer.earmarked(job, allocation)
        closed = self._capacity.close(allocation.shares(self._capacity.directory), job.request)
        promised_s = self.promised.get(job.id, self.promises.get(job.id, self.now_s))
        # Its victims have time to save before it can start.
        ready_s = promised_s if earmark.rule == PROMISE else earmark.since_s + self._context.settings.checkpoint.grace_s
        end_s = max(self.now_s, ready_s) + job.left_s
        self.pending.append(Pending(job, allocation, end_s, victims, missing, inside, closed))
        self._context.gates.expect(job)
        self.earmarks[job.id] = earmark
        self._context.quotas.shift(job, 1, allocation)
        region = self.regions[job.queue]
        region.idle = self._idle_in(region.vnodes)
        numbers: Numbers = (("victims", ", ".join(victims)),)
        if earmark.rule == PROMISE and promised_s > self.now_s:
            numbers = (*numbers, ("at_s", promised_s))
        self.leave(job, Reason("preempting", numbers))

    def free_after_victims(self) -> Capacity | None:
        """What will be free once the victims chosen so far have ended and their beneficiaries run; None without any.

        The next beneficiary uses what these victims leave over before any other run is preempted. Do not change the
        value.
        """
        if not self.pending:
            return None
        if self._after_victims[0] != self.moves:
            self._after_victims = (self.moves, once_victims_end(self._cluster, self.pending))
        return self._after_victims[1]

    def victims_under(self, job: Job, allocation: Allocation, own: Sequence[Run]) -> tuple[str, ...]:
        """The victims of other beneficiaries that must end as well before the job can run there: none if what is free
        and what its own victims free hold it."""
        capacity = self._capacity
        free = capacity.copy()
        for run in own:
            free.give(run.allocation.shares(free.directory), run.job.request)
        needed = 0
        for share in allocation.shares(free.directory):
            needed |= share.mask
        full = (
            0 if free.run_counts is None or job.request.owner is None else free.run_counts.closed_to(job.request.owner)
        )
        if not free_and_missing(free, allocation)[1] and not needed & (free.exclusive | full):
            return ()
        runs, known = self._cluster.runs, {run.id for run in own}
        asked = [victim for pending in self.pending for victim in pending.victims if victim in runs]
        return tuple(
            victim
            for victim in dict.fromkeys(asked)
            if victim not in known
            and any(share.mask & needed for share in runs[victim].allocation.shares(capacity.directory))
        )

    def leave(self, job: Job, reason: Reason) -> None:
        """Let the job wait, for this reason."""
        same = self._lists.get(id(reason))
        if same is None:
            # The reason is kept with its list, so that no other object gets its id.
            same = self._lists[id(reason)] = (reason, self.waiting_for(reason))
        same[1].append(job)

    def waiting_for(self, reason: Reason) -> list[Job]:
        """The list of all jobs that wait for this reason, to be appended to."""
        jobs = self._waits.get(reason)
        if jobs is None:
            jobs = self._waits[reason] = []
        return jobs

    def waiting_over_quota(self, main: Reason, queue: str, headroom: QuotaHeadroom, going: Going) -> list[Job]:
        """A list of jobs that wait for the main reason and exceed a quota, to be appended to: their reasons are made
        when they are read."""
        jobs: list[Job] = []
        self._unnamed.append(OverQuota(main, queue, headroom, going, jobs))
        return jobs

    @property
    def waits(self) -> Mapping[Reason, list[Job]]:
        """The jobs left waiting so far, by reason."""
        return name_all(self._waits, self._unnamed) if self._unnamed else self._waits

    def leave_no_more(self, job: Job, reason: Reason | None = None) -> Reason | None:
        """Remove the job from those that wait for ``reason``, searched for if not given, as it gets another outcome.
        Returns the reason, None if the job had none."""
        for each in self.waits if reason is None else (reason,):
            jobs = self.waits.get(each, [])
            if job in jobs:
                jobs.remove(job)
                return each
        return None

    def opens_s(self, job: Job, reason: Reason) -> float:
        """When the job's queue opens, and the hard limits or licences that it lacks are given back by the estimates of
        the runs; infinite if that is never, or if something else blocks it."""
        if reason.code not in OPENING:
            return UNLIMITED_S
        at_s = float(reason.number("at_s")) if reason.code == "queue-closed" else self.now_s
        return max(at_s, self._context.gates.opens_s(job, [(each.end_s, each.job) for each in self.pending]))

    def blocking_reason_beside_heads(self, job: Job, end_s: float | None = None) -> Reason | None:
        """Why a job that runs until then (None: as long as it may run from now on) may not start: the hard limit or the
        licences that it would take from the head of this or another region at its promised time. None if no head
        needs them."""
        if job.queue in self._context.queues_without_gates:
            return None
        if end_s is None:
            end_s = self.now_s + job.longest_s
        for region in self.each_region:
            reservation = region.reservation
            if reservation is None or reservation.head.id == job.id or end_s <= reservation.until_s:
                continue
            if self._context.preemption is None or not self._context.claims.outranks(job, reservation.head):
                reason = self._context.gates.blocking_reason_beside(job, reservation.head)
                if reason is not None:
                    return reason
        return None

    def wake_for(self, codes: Collection[ReasonCode]) -> None:
        """Set the next pass to the first of the times that reasons of these codes name."""
        for reason in self.waits:
            for tried in (reason, *reason.tried):
                if tried.code in codes:
                    self.wake_at(tried.number("at_s"))

    def wake_at(self, at_s: Number) -> None:
        """The next pass is due at that time at the latest, if it is in the future."""
        if isinstance(at_s, (int, float)) and self.now_s < at_s < self.next_s:
            self.next_s = at_s

    def backfilled(self) -> Mapping[str, Backfilled]:
        """The backfilled runs, starts of this pass included, victims of this pass excluded."""
        if not self._backfilled and not self.preempts and not self._in_turn:
            return self._ledger.backfilled
        known = {**self._ledger.backfilled, **self._backfilled}
        for run_id in self._in_turn:
            del known[run_id]
        for preempt in self.preempts:
            known.pop(preempt.id, None)
        return known

    def plan(self) -> Plan:
        """The plan. The cluster index then belongs to the plan's ``started`` snapshot."""
        estimates, promises = self._promises()
        for pending in self.pending:
            self._capacity.take_amounts(pending.inside, -1)
            shares = pending.allocation.shares(self._capacity.directory)
            self._capacity.reopen(pending.closed, shares, pending.job.request)
        started = self._context.snapshot
        if self._undo:
            self._undo.reverse()
            started = started.after(self._undo)
        regions = self.regions if self.starts or self.earmarks else None
        waits = Waits(self._waits, partial(_as_read, unnamed=self._unnamed, regions=regions))
        starts, preempts = tuple(self.starts), tuple(self.preempts)
        context = self._context
        preemption = context.preemption
        if preemption is not None:
            self.wake_at(preemption.next_s)
        next_s = None if self.next_s == UNLIMITED_S else self.next_s
        classes = context.classes.of_jobs if context.classes is not None else None
        new = NextEntries(
            self.now_s, promises, self.earmarks, self.preempts, self._backfilled, self._in_turn, self.moved,
            self.first_behind, self.tried_in_vain,
        )  # fmt: skip
        ledger = next_ledger(context, new)
        moved = tuple(self.moved[head] for head in sorted(self.moved)) if self.moved else ()
        again = self.again or (preemption is not None and preemption.again)
        return Plan(self.now_s, starts, preempts, estimates, waits, ledger, started, next_s, classes, again, moved)

    def _promises(self) -> tuple[tuple[Estimate, ...], Mapping[str, float]]:
        """The estimates of the heads, and all promises: the first shadow time of each head, which stays."""
        before = self._ledger.promises
        reservations: list[Reservation] = []
        for region in self.each_region:
            reservation = region.reservation
            if reservation is not None and reservation.at_s != UNLIMITED_S:
                reservations.append(reservation)
        if not reservations and not before and not self.promised:
            return (), before
        if len(reservations) == 1 and len(before) == 1 and not self._undo and not self.moved:
            head = reservations[0].head.id
            if head in before:
                return (Estimate(head, reservations[0].at_s, before[head]),), before
        promises = self.promised.copy()
        waiting = self._cluster.jobs
        # Of a job that has started the rest of an array still waits.
        begun = {start.job.id for start in self.starts if start.job.subjobs} if before else ()
        for job_id, at_s in before.items():
            job = waiting.get(job_id)
            if job is not None and job_id not in begun and job_id not in self.moved and job_id not in self.lapsed:
                # A beneficiary is counted as started: its own use of a limit does not block it.
                reason = None if job_id in self.earmarks else self._context.blocking_reason(job)
                # A window that closes the whole queue was known when the promise was made.
                if reason is None or reason.code == "queue-closed" or self.opens_s(job, reason) != UNLIMITED_S:
                    promises[job_id] = at_s
        estimates = [
            Estimate(each.head.id, each.at_s, promises.setdefault(each.head.id, each.at_s)) for each in reservations
        ]
        if len(estimates) > 1:
            estimates.sort(key=lambda estimate: estimate.id)
        return tuple(estimates), before if promises == before else promises


def _as_read(
    waits: dict[Reason, list[Job]], unnamed: Sequence[OverQuota], regions: Mapping[str, Region] | None
) -> Mapping[Reason, list[Job]]:
    """The waiting jobs by reason as a plan has them. ``regions``: None if nothing has changed since the attempts."""
    named = name_all(waits, unnamed)
    return named if regions is None else with_idle_left(named, regions)
