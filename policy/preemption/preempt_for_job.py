"""Preemption for a job within quota (rule A) or of a higher class (rule B) (docs/policies.md, P1 and P2).

Starts of the same pass are taken back before any run is preempted; a run in its exempt time, one that was preempted too
often, or one that may not be rerun is no victim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Callable

from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.soft_quotas import Standing
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.model.limit_attributes import EntityKey, show_entity
from policy.model.priority_class import BASE, is_express
from policy.preemption.preemptible_runs_cache import PreemptibleRunsCache
from policy.preemption.preemptible_sums_by_owner_and_class import PreemptionRights
from policy.preemption.take_back_planned_starts import PlannedStarts
from policy.preemption.victim_candidates_and_gain_bounds import Basis, Candidates
from policy.preemption.victim_pool import Pool
from policy.preemption.victim_search import Guard, Search
from policy.preemption.victim_selection import Found, VictimSelection
from policy.reasons.reason import Reason, unit_of
from policy.reasons.reason_names import Numbers
from policy.state.closure_windows import NOTHING_CLOSED, Closed
from policy.state.vnodes_by_idle_cores import Capacity

_DELAYS_HEAD = Reason("preempt-delays-head")

_DELAYED_LOOKED_AT = 32
"""For at most this many shapes of jobs in their delay a pass finds out whether they could preempt: each costs a
search."""


_ALL = -1
"""All vnodes, as a set."""


Going = Mapping[tuple[str, str, EntityKey], int]
"""How much of the use of each quota entry (scope, resource, entity) the victims hold."""


def over_quota(numbers: Numbers, going: int) -> Reason:
    """Why rule A does not let a job preempt: it would exceed an entry, of whose use victims hold ``going``."""
    return Reason("over-quota", (*numbers, ("going", going)) if going else numbers)


class Preemption:
    """Rules A and B in one pass, and the victims taken so far.

    ``in_vain``: some job has found no victims. ``again``: it may find some in a next pass at this moment, for which
    starts of this one are runs; ``next_s``: or in one at that time.
    """

    def __init__(self, basis: Basis) -> None:
        cluster, _, quotas, classes, settings, now_s = basis
        self._cluster = cluster
        self._quotas = quotas
        self._classes = classes
        self._rule_b = classes is not None and settings.priority.preempt
        self._settings = settings.quota
        self._rule_a = settings.quota.preempt and cluster.has_quotas
        self._now_s = now_s
        self._starts = PlannedStarts(basis.ledger.earmarks)
        self._basis = basis
        # What finds victims is made on first use: most passes look for none.
        self._made_candidates: Candidates | None = None
        self._made_cache: PreemptibleRunsCache | None = None
        self._made_selection: VictimSelection | None = None
        # The candidates without exempt time: for reasons only, and made only if a run is exempt.
        self._without_exemption: Callable[[], Candidates] = partial(Candidates, basis, 0, self._starts)
        self._if_not_exempt: Candidates | None = None
        # Shapes that would delay the head: the shortest estimate that did, the extent closed to it, and the reason. The
        # head's room only shrinks in a pass.
        self._delaying: dict[object, tuple[float, int, Reason]] = {}
        # Shapes for which no victims were found, with the extent closed to them: closing more does not help.
        self._failed: dict[object, tuple[int, Reason]] = {}
        # Shapes that what the victims leave over did not hold, by the shortest estimate that was tried.
        self._no_surplus: dict[object, tuple[Capacity, float]] = {}
        # Shapes that could preempt but for exempt time, by the longest estimate and the greatest closed extent with
        # which they could.
        self._exempting: dict[object, tuple[float, int, Reason]] = {}
        # Shapes that could preempt but for their delay: the longest such estimate; whether no start would have to go.
        self._delayed: dict[object, tuple[float, bool]] = {}
        # How much of each entry's use the victims hold: with a higher quota these might stay.
        self.going: Going = {}
        # Whether a job that exceeds a quota may not preempt, whatever else it is.
        self.needs_quota = self._rule_a and classes is None
        self.in_vain = False
        self.again = False
        self.next_s = UNLIMITED_S
        self._interval_s = settings.schedule.interval_s
        self._taken = 0

    @property
    def _candidates(self) -> Candidates:
        """The possible victims."""
        if self._made_candidates is None:
            self._made_candidates = Candidates(self._basis, self._settings.exempt_s, self._starts)
        return self._made_candidates

    @property
    def _cache(self) -> PreemptibleRunsCache:
        if self._made_cache is None:
            self._made_cache = PreemptibleRunsCache(self._quotas)
        return self._made_cache

    @property
    def _selection(self) -> VictimSelection:
        """The choice among the possible victims."""
        if self._made_selection is None:
            order = self._settings.victim_order
            self._made_selection = VictimSelection(
                self._cluster, self._quotas, self._classes, self._candidates, self._cache, order, self._starts
            )
        return self._made_selection

    def rights(self, job: Job) -> tuple[PreemptionRights | None, tuple[Reason, ...]]:
        """The rules by which the job may preempt now; None and the reasons if it may not."""
        rights, refused = self._rights_by_rules(job)
        if rights is None:
            return None, refused
        settings = self._settings
        if not (job.urgent or job.priority >= settings.urgent_priority):
            at_s = job.submit_s + settings.delay_s + settings.delay_per_core_s * job.cores
            if at_s > self._now_s:
                return None, (Reason("preempt-delay", (("at_s", at_s),)),)
        return rights, ()

    def _rights_by_rules(self, job: Job) -> tuple[PreemptionRights | None, tuple[Reason, ...]]:
        """As :meth:`rights`, but without the delay before a job may preempt."""
        refused: list[Reason] = []
        by_quota, above, rank = False, BASE, BASE
        if self._rule_a:
            reason = self._refused_by_quota(job)
            by_quota = reason is None
            refused += [reason] if reason is not None else []
        if self._classes is not None:
            rank = self._classes.of(job)
        if self._classes is not None and self._rule_b:
            above = rank
            refused += [self._why_base(job, self._classes)] if above == BASE else []
        if not by_quota and above == BASE:
            return None, tuple(refused)
        everywhere = self._classes is None or self._classes.compare_queues or is_express(rank)
        return PreemptionRights(by_quota, above, rank, None if everywhere else job.queue), ()

    def after_delay(
        self,
        job: Job,
        delay: Reason,
        allowed: int,
        guard: Guard | None,
        closed: Closed = NOTHING_CLOSED,
        after_victims: Capacity | None = None,
        good: int = _ALL,
    ) -> Reason:
        """The reason of a job in its delay: that it could preempt runs but for that, else why it could not."""
        rights, _ = self._rights_by_rules(job)
        if rights is None or len(self._delayed) >= _DELAYED_LOOKED_AT or self.spent() is not None:
            return delay
        shape = (allowed, rights, job.user if rights.by_quota else "", job.request, closed.key, good)
        could = Reason("preempt-delay", (*delay.numbers, ("cores_there", job.cores)))
        longest_s, of_runs = self._delayed.get(shape, (-1.0, False))
        if job.longest_s <= longest_s:
            return could if of_runs else delay
        before = self.in_vain, self.again, self.next_s
        found = self.find(job, rights, allowed, guard, closed, after_victims, good)
        self.in_vain, self.again, self.next_s = before
        if isinstance(found, Found):
            of_runs = all(victim.run.id not in self._starts for victim in found.victims)
            self._delayed[shape] = (job.longest_s, of_runs)
            return could if of_runs else delay
        if found.code == "exempt-victims" and float(found.number("enough_s")) < float(delay.number("at_s")):
            return could
        return delay if found.code == _DELAYS_HEAD.code else found

    def _refused_by_quota(self, job: Job) -> Reason | None:
        over = self._quotas.exceeded_by(job)
        if over is None:
            bound = self._quotas.bounds(job)
            return None if bound else Reason("no-quota", (("user", job.user), ("queue", job.queue)))
        numbers = self._quotas.numbers_of(over, job)
        return over_quota(numbers, self.going.get((over.scope, over.resource, over.entity), 0))

    def _why_base(self, job: Job, classes: Classes) -> Reason:
        subject = classes.subject(job)
        if subject is None:
            return Reason("no-priority", (("user", job.user), ("queue", job.queue)))
        left = classes.remaining(job)
        numbers: Numbers = (("entity", show_entity(subject.entity)), ("counted", left.resource))
        numbers = (*numbers, *left.need, *unit_of(left.resource, self._cluster.server.sizes))
        return Reason("base-class", (*numbers, ("left", left.amount), ("limit", left.limit), ("queue", left.scope)))

    def find(
        self,
        job: Job,
        rights: PreemptionRights,
        allowed: int,
        guard: Guard | None,
        closed: Closed = NOTHING_CLOSED,
        after_victims: Capacity | None = None,
        good: int = _ALL,
    ) -> Found | Reason:
        """Victims for a job that may preempt, on what is not closed to it, or the reason why there are none.

        ``good`` are the vnodes that are good enough for it (P4): others are as if closed. ``after_victims`` is what
        will be free once the victims chosen so far have ended, None if there are none: the job takes what these leave
        over before any other run is preempted for it.
        """
        if good != _ALL:
            closed = closed._replace(vnodes=closed.vnodes | allowed & ~good)
        if after_victims is not None:
            left_over = self._left_over(job, allowed, guard, closed, after_victims, good)
            if left_over is not None:
                return left_over
        shape = (allowed, rights, job.user if rights.by_quota else "", job.request, good)
        failed = self._failed.get(shape)
        if failed is not None and closed.extent >= failed[0]:
            return failed[1]
        delaying = self._delaying.get(shape)
        if delaying is not None and job.longest_s >= delaying[0] and closed.extent >= delaying[1]:
            return delaying[2]
        exempting = self._exempting.get(shape)
        if exempting is not None and job.longest_s <= exempting[0] and closed.extent <= exempting[1]:
            return exempting[2]
        spent = self.spent()
        if spent is not None:
            return spent
        usable = self._candidates.usable_by(job, allowed)
        pool = self._candidates.pool_for(job, usable)
        free = self._cluster.capacity if after_victims is None else after_victims
        starts = self._selection.takeable(job, rights)
        if self._candidates.never_enough(job, rights, allowed, usable, pool, free, starts):
            reason = self._too_few(job, rights, usable, pool, starts)
            self._failed[shape] = (0, reason)
        elif closed.vnodes and self._candidates.never_enough_open(job, rights, usable, closed.vnodes, starts):
            reason = self._too_few(job, rights, usable, pool, starts)
            self._failed[shape] = (closed.extent, reason)
        else:
            picked, promised = len(self._candidates.picked), len(self._selection.promised_within)
            self._cache.renew(picked, promised, self._starts.changes)
            owner = job.user if self._starts.has_of(job.user) else pool.gives_of(job.user)
            alike = (allowed, usable, rights, owner, job.request, closed.key, good)
            room, blocked_by_head = None, 0
            if guard is not None or not self._cache.has_failed(alike, free):
                search = Search(self._cluster, job, allowed, guard, closed, after_victims)
                room, blocked_by_head = (
                    self._selection.select(job, rights, search, pool, starts),
                    search.blocked_by_head,
                )
                if room is None and guard is None:
                    self._cache.note_failed(alike, free)
            if room is not None:
                over = self._exceeds_there(job, rights, room.allocation)
                if over is None:
                    return self._selection.as_found(job, rights, room)
                # An exclusive job's use of its quota is known only once it has an allocation.
                return Reason("over-quota", self._quotas.numbers_of(over, job, room.allocation))
            if blocked_by_head and (starts or any(self._selection.offers(run, job, rights) for run in pool.ordered)):
                reason = _DELAYS_HEAD
                self._delaying[shape] = (job.longest_s, closed.extent, reason)
            else:
                reason = self._too_few(job, rights, usable, pool, starts)
                self._failed[shape] = (closed.extent, reason)
        self.in_vain = True
        self._note_victims_to_come(job, rights)
        exempt = self._exempt(job, rights, allowed, guard, closed, free, starts) if pool.exempt else None
        if exempt is None:
            return reason
        for known in (self._failed, self._delaying):
            known.pop(shape, None)
        self._exempting[shape] = (job.longest_s, closed.extent, exempt)
        return exempt

    def _exceeds_there(self, job: Job, rights: PreemptionRights, allocation: Allocation) -> Standing | None:
        """The entry that a job which preempts by its quota alone would exceed there."""
        return self._quotas.exceeded_by(job, allocation) if rights == PreemptionRights(True, BASE) else None

    def _left_over(
        self, job: Job, allowed: int, guard: Guard | None, closed: Closed, after_victims: Capacity, good: int
    ) -> Found | None:
        """Room in what the victims chosen so far leave over; None if that does not hold the job."""
        shape = (allowed, job.request, closed.key, good)
        tried = self._no_surplus.get(shape)
        if after_victims.idle(allowed) < job.request.cores:
            return None
        if tried is not None and tried[0] is after_victims and job.longest_s >= tried[1]:
            return None
        search = Search(self._cluster, job, allowed, guard, closed, after_victims)
        room = search.without_victims()
        if room is not None:
            return Found(room.allocation, ())
        self._no_surplus[shape] = (after_victims, job.longest_s if search.blocked_by_head else 0.0)
        return None

    def gains_by(self, job: Job) -> bool:
        """Whether the start of a job puts its owner over quota, so that a job that found no victims in this pass may
        find some now."""
        return self.in_vain and self._rule_a and self._quotas.is_over(job)

    def _note_victims_to_come(self, job: Job, rights: PreemptionRights) -> None:
        """Note when a job that found no victims may find some: a start that stays is a run in the next pass, and a
        subjob in the next second."""
        if self.again or self._settings.exempt_s:
            return
        begun = [*self._starts.kept.values(), *self._candidates.begun_now().values()]
        offered = [run for run in begun if self._selection.offers(run, job, rights)]
        self.again = any(run.subjob is None for run in offered)
        if offered:
            self.next_s = self._now_s + self._interval_s

    def keep_promised_start(self, run_id: str) -> None:
        """Note that a job within quota starts as promised: rule A does not cancel the start in this pass."""
        self._selection.promised_within.add(run_id)

    def note_start(self, run: Run) -> None:
        """Note a start of this pass. Later jobs of the pass may take it back."""
        self._starts.note(run)

    def spent(self) -> Reason | None:
        """Why no further job preempts in this pass; None as long as one may."""
        if self._taken < self._settings.max_victims_per_pass:
            return None
        return Reason("victims-of-pass", (("limit", self._taken),))

    def take(self, found: Found) -> None:
        """Take the victims: no other job can take them, and their owners hold less."""
        for victim in found.victims:
            if victim.run.id in self._starts:
                self._starts.take_back(victim.run.id)
            else:
                self._taken += 1
            self.count_out(victim.run)

    def count_out(self, run: Run) -> None:
        """Note a victim of this pass or of an earlier one."""
        self._candidates.count_out(run)
        needs = self._quotas.needs(run.job, run.allocation)
        for scope, resource, entity, _ in self._quotas.bounds(run.job, run.allocation):
            key = (scope, resource, entity)
            # Replaced, not changed: reasons that are made later have it as it was.
            self.going = {**self.going, key: self.going.get(key, 0) + needs[resource]}
        self._if_not_exempt = None
        self._exempting.clear()
        self._delayed.clear()

    def _too_few(self, job: Job, rights: PreemptionRights, usable: int, pool: Pool, starts: Sequence[Run]) -> Reason:
        directory = self._cluster.capacity.directory
        planned = sum(run.allocation.cores_on(usable, directory) for run in starts)
        numbers: Numbers = (("idle", self._cluster.capacity.idle(usable)),)
        capped, cap = self._candidates.capped_cores(job, rights, usable), self._settings.max_preemptions
        if capped and cap is not None:
            numbers = (*numbers, ("capped", capped), ("cap", cap))
        if self._classes is None:
            preemptible = planned + self._candidates.most_by_quota(job.user, pool)
            return Reason("no-victims", (("preemptible", preemptible), *numbers))
        offered = self._candidates.sums(usable, pool).to(job.user, rights)
        if rights.above == BASE:
            return Reason("no-victims", (("preemptible", planned + offered.cores), *numbers))
        if not offered.runs and not starts:
            return Reason("no-lower-class", (("class", rights.above), *numbers))
        return Reason("too-few-lower", (("class", rights.above), ("preemptible", planned + offered.cores), *numbers))

    def _exempt(
        self,
        job: Job,
        rights: PreemptionRights,
        allowed: int,
        guard: Guard | None,
        closed: Closed,
        free: Capacity,
        starts: Sequence[Run],
    ) -> Reason | None:
        """When the job can preempt runs that are still exempt; None if it could not even if none were."""
        candidates = self._if_not_exempt
        if candidates is None:
            candidates = self._if_not_exempt = self._without_exemption()
            candidates.picked |= self._candidates.picked
        usable = candidates.usable_by(job, allowed)
        pool = candidates.pool_for(job, usable)
        if candidates.never_enough(job, rights, allowed, usable, pool, free, starts):
            return None

        def search() -> Search:
            return Search(self._cluster, job, allowed, None if guard is None else guard.afresh(), closed, free)

        # Those that have run longest are enough first.
        room = self._selection.oldest_first(job, rights, search(), pool, starts)
        if room is None or self._exceeds_there(job, rights, room.allocation):
            room = self._selection.select(job, rights, search(), pool, starts)
            if room is None or self._exceeds_there(job, rights, room.allocation):
                return None
        exempt_s = self._settings.exempt_s
        first_s = min(run.start_s for run in self._candidates.pool_for(job, usable).exempt) + exempt_s
        enough_s = max(first_s, max(run.start_s for run in room.runs) + exempt_s)
        return Reason("exempt-victims", (("at_s", first_s), ("enough_s", enough_s)))
