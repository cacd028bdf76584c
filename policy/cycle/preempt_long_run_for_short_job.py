"""P3's rescue: a short job that has waited long for its length gets the cores of one long run (docs/policies.md, "The
rescue of short jobs").

At most one run is cut in a pass, and no promise is broken: what the end of the cut run was to give the head must still
be there in time.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Callable

from policy.backfill.head_reservation import Reservation
from policy.backfill.release_profile import once_victims_end
from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates
from policy.cycle.earmarked_for_preemptor import Earmarks
from policy.cycle.where_job_can_start_now import StartPlaces
from policy.fit.best_fit import fit, fits_where_open
from policy.model.allocation import Allocation
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.model.ledger_between_passes import RESCUE, Cut, Ledger
from policy.plan.pass_context import Context
from policy.plan.plan_builder import PlanBuilder
from policy.preemption.victim_search import Guard, Search, Size, size_of
from policy.preemption.victim_selection import Victim
from policy.settings.site_settings import RescueSettings
from policy.state.closure_windows import NOTHING_CLOSED, Closed
from policy.state.cluster_index import ClusterIndex
from policy.state.vnodes_by_idle_cores import Capacity

_APART_S = 1.0
"""Seconds from a preemption to the next pass that may rescue."""

_PUT_OFF = frozenset({"limit-of-pass", "not-looked-at"})
"""The reasons of jobs that may fit now."""


def waits_until_s(job: Job, short_s: float, settings: RescueSettings, cuts: Mapping[str, Cut]) -> float:
    """When a short job has waited long enough to be rescued. Waiting counts from the latest of its submission, its
    start time (``qsub -a``) and its last preemption."""
    next_id = job.subjob_id(job.subjobs[0]) if job.subjobs else job.id
    cut = cuts.get(next_id)
    since_s = max(job.submit_s, job.not_before_s or job.submit_s, job.submit_s if cut is None else cut.at_s)
    return since_s + max(settings.wait_least_s, settings.wait_factor * short_s)


def _next_id(job: Job) -> str:
    """The identifier that the job, or the next subjob of an array, will have when it runs."""
    return job.subjob_id(job.subjobs[0]) if job.subjobs else job.id


class Rescue:
    """The rescue of one pass. ``next_s``: when waiting alone makes another job or run eligible."""

    def __init__(
        self,
        cluster: ClusterIndex,
        settings: RescueSettings,
        estimates: Estimates,
        ledger: Ledger,
        context: Context,
        now_s: float,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._estimates = estimates
        self._ledger = ledger
        self._context = context
        self._now_s = now_s
        self.next_s = UNLIMITED_S
        self._idle: list[int] = []
        self._idle_on: dict[int, int] = {}
        self._sizes: dict[str, Size] = {}

    def short(self, waiting: Iterable[Job]) -> list[Job]:
        """The short ones among the waiting jobs, whether or not they have waited long enough."""
        longest, short_s = self._estimates.longest_that_is, self._settings.short_s
        most_s: dict[str, float] = {}
        candidates: list[Job] = []
        for job in waiting:
            most = most_s.get(job.user)
            if most is None:
                most = most_s[job.user] = longest(short_s, job.user)
            if job.estimate_s - job.saved_s <= most:
                candidates.append(job)
        return [job for job in candidates if self._estimates.short_s(job) <= short_s]

    def shortest_first(self, short: Iterable[Job]) -> list[Job]:
        """The short jobs in the order in which they are rescued; those of one length in queue order."""
        found = [(self._estimates.short_s(job), self._cluster.order_key(job), job) for job in short]
        return [job for _, _, job in sorted(found)]

    def has_waited(self, job: Job) -> bool:
        """Whether the job has waited long enough; if not, ``next_s`` is set to when it will have."""
        until_s = waits_until_s(job, self._estimates.short_s(job), self._settings, self._ledger.cuts)
        if until_s <= self._now_s:
            return True
        self.next_s = min(self.next_s, until_s)
        return False

    def victims(self, spared: Container[str]) -> list[Run]:
        """The runs that may be cut, except those spared; fewest cores first, ties by the latest end."""
        settings = self._settings
        managed = {queue.name for queue in self._cluster.queues.values() if queue.managed}
        able = [
            run
            for run in self._cluster.runs.values()
            if run.id not in spared and run.job.queue in managed and self._may_cut(run, settings)
        ]
        found: list[Run] = []
        for run in able:
            # The same sum for the test and for next_s: rounding must not make the next pass due at the moment of this
            # one.
            until_s = run.start_s + settings.exempt_s
            if until_s <= self._now_s:
                found.append(run)
            else:
                self.next_s = min(self.next_s, until_s)
        found.sort(key=lambda run: (run.job.cores, -run.end_s, run.id))
        return found

    def _may_cut(self, run: Run, settings: RescueSettings) -> bool:
        return (
            run.end_s - self._now_s > settings.left_least_s
            and run.job.rerunable
            and not run.exiting
            and self._estimates.may_save(run.job)
            and self._ledger.preemptions.get(run.id, 0) < settings.max_cuts
            and self._estimates.below_cap(run.id)
        )

    def may_be_enough(self, cores: int, job: Job, allowed: int, free: Capacity) -> bool:
        """Whether a run of that many cores could make room for the job, by the numbers of cores alone. A search costs
        much more, and most end there."""
        if not free.is_bound_by_amounts():
            return True
        idle = self._idle_on.get(allowed)
        if idle is None:
            idle = self._idle_on[allowed] = free.idle(allowed)
        return cores + idle >= job.cores

    def room_for(
        self,
        job: Job,
        allowed: int,
        victims: Iterable[Run],
        guard: Guard | None,
        closed: Closed,
        free: Capacity,
    ) -> tuple[tuple[Run, Allocation] | None, bool]:
        """The first run whose cores, with those that will be free, hold the job, and where, or None; and whether the
        head alone was in the way of some run."""
        search = Search(self._cluster, job, allowed, guard, closed, free)
        for run in victims:
            enough = run.allocation.cores >= search.short and search.may_gain_enough(self._size_of(run, free))
            if enough and not search.is_too_little(run) and not self._is_spared_by(job, run):
                room = search.alone(run)
                if room is not None:
                    return (run, room.allocation), False
        return None, search.blocked_by_head > 0

    def _size_of(self, run: Run, free: Capacity) -> Size:
        """How much the run could free of the usable vnodes, computed once in a pass."""
        size = self._sizes.get(run.id)
        if size is None:
            usable, directory = free.usable, free.directory
            self._idle = self._idle or free.idle_of_each(usable)
            cores = run.allocation.cores_on(usable, directory)
            size = self._sizes[run.id] = size_of(run, cores, usable, directory, self._idle)
        return size

    def _is_spared_by(self, job: Job, run: Run) -> bool:
        """Whether the run may not be cut for this job, though perhaps for others: it is a subjob of the same array, it
        has the better claim, or the last preemption of one of the two was for the other (they would alternate)."""
        if run.job.id == job.id or self._context.claims.protects(run, job):
            return True
        cuts = self._ledger.cuts
        return _beneficiary(cuts.get(_next_id(job))) == run.job.id or _beneficiary(cuts.get(run.id)) == job.id


def _beneficiary(cut: Cut | None) -> str | None:
    """The job for which the cut was made."""
    return None if cut is None else next((str(value) for name, value in cut.numbers if name == "beneficiary"), None)


def rescue(context: Context, builder: PlanBuilder, begin: Callable[[], Earmarks]) -> None:
    """Cut one run for the shortest job that may have it, and give the rest of its cores to further short jobs.

    ``begin`` gives the earmarks of the pass; most passes need none.
    """
    cluster, estimates, now_s = context.cluster, context.estimates, context.now_s
    chance = Rescue(cluster, context.settings.rescue, estimates, context.ledger, context, now_s)
    # What this pass had no start or no time left for may need no cut: the next pass looks at it.
    put_off = {job.id for reason, jobs in builder.waits.items() if reason.code in _PUT_OFF for job in jobs}
    waiting = [job for job in cluster.jobs.values() if job.id not in put_off] if put_off else cluster.jobs.values()
    open_to = [job for job in chance.short(waiting) if job.id not in builder.earmarks]
    short = [job for job in open_to if context.blocking_reason(job) is None]
    eligible = [job for job in short if chance.has_waited(job)]
    preempts = any(not preempt.again for preempt in builder.preempts)
    if eligible and (preempts or any(cut.at_s == now_s for cut in context.ledger.cuts.values())):
        # Passes follow one another within a second while victims end. Beside a second cut the first would be for
        # nothing: its victim would start again on what is left over.
        builder.next_s = min(builder.next_s, chance.next_s, now_s + _APART_S)
        return
    # Cores that victims of other jobs free are earmarked already. A run that starts in this pass is not cut in it.
    free = once_victims_end(cluster, builder.pending) if builder.pending else cluster.capacity
    spared = {*(preempt.id for preempt in builder.preempts), *(start.id for start in builder.starts)}
    victims = chance.victims(spared) if eligible else []
    builder.next_s = min(builder.next_s, chance.next_s)
    most_cores = max([run.allocation.cores for run in victims], default=0)
    hopeless: set[tuple[Request, int, tuple[int, ...]]] = set()
    for job in chance.shortest_first(eligible) if victims else ():
        allowed = _worth_clearing(context, job)
        if not chance.may_be_enough(most_cores, job, allowed, free):
            continue
        closed = _closed_to(job, context)
        if (job.request, allowed, closed.key) in hopeless:
            continue
        region = builder.regions[job.queue]
        head = region.reservation
        end_s = _tested_end_s(job, head, estimates, now_s)
        guards = head is not None and head.head.id != job.id
        if builder.blocking_reason_beside_heads(job) is not None:
            continue
        guard = head.guard(end_s, job.request) if head is not None and guards else None
        if builder.pending and fits_where_open(free, job.request, allowed, closed):
            continue
        found, blocked_by_head = chance.room_for(job, allowed, victims, guard, closed, free)
        if found is None and not blocked_by_head and job.subjobs is None:
            hopeless.add((job.request, allowed, closed.key))
        if found is not None:
            victim, allocation = found
            if head is not None and guards:
                head.replace(allocation, end_s, job.request, [victim])
            else:
                region.reservation = None
            builder.leave_no_more(job)
            earmarks = begin()
            earmarks.begin(job, allocation, [Victim(victim, None)], RESCUE)
            _fill_the_hole(context, builder, earmarks, chance.shortest_first(short), victim)
            return


def _fill_the_hole(
    context: Context, builder: PlanBuilder, earmarks: Earmarks, short: Sequence[Job], victim: Run
) -> None:
    """Give what the victim frees beyond what the rescued job takes to further short jobs, shortest first."""
    cluster, estimates = context.cluster, context.estimates
    free = cluster.capacity.copy()
    free.give(victim.allocation.shares(free.directory), victim.job.request)
    for pending in builder.pending:
        free.take_amounts(pending.missing)
        # A vnode that the victim had alone is open now, unless the rescued job now has it alone.
        free.hold_alone(pending.allocation.shares(free.directory), pending.job.request)
    for job in short:
        region = builder.regions[job.queue]
        head = region.reservation
        if job.id in builder.earmarks or job.id not in cluster.jobs or (head is not None and head.head.id == job.id):
            continue
        if (context.blocking_reason(job) or builder.blocking_reason_beside_heads(job)) is not None:
            continue
        closed, ever = _closed_to(job, context), _worth_clearing(context, job)
        with closed.applied_to(free):
            allocation = fit(free, job.request, ever & ~closed.vnodes, ever)
        if allocation is None:
            continue
        if head is not None and not head.admits(
            allocation, _tested_end_s(job, head, estimates, builder.now_s), job.request
        ):
            continue
        free.take(allocation.shares(free.directory), job.request)
        builder.leave_no_more(job)
        earmarks.also(job, allocation, victim, RESCUE)


def _worth_clearing(context: Context, job: Job) -> int:
    """The vnodes of the job's queue on which a run may be cut for the job."""
    return StartPlaces(context).worth_clearing(job, context.cluster.vnodes_of(job.queue))


def _closed_to(job: Job, context: Context) -> Closed:
    """What windows close to a job that starts once victims have made room."""
    windows = context.windows
    return NOTHING_CLOSED if windows is None else windows.closed_to(job, context.now_s, windows.slack_s)


def _tested_end_s(job: Job, head: Reservation | None, estimates: Estimates, now_s: float) -> float:
    return now_s + estimates.tested(job, UNLIMITED_S if head is None else head.until_s).estimate_s
