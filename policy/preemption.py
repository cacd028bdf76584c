"""Whom to preempt for a job within quota (rule A) or of a higher class (rule B) (docs/policies.md, P1 and P2).

Rule A offers the runs of other users who are over quota and stay at or above it; rule B the runs of strictly lower
classes. A site turns on one or both; with both, either suffices. Who has not run long enough, was preempted too often,
or may not be rerun is nobody's victim. The search itself is :mod:`policy.victims`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from typing import Callable, NamedTuple

from policy.candidates import Candidates, Pool
from policy.capacity import Capacity
from policy.classes import BASE, Classes
from policy.cluster import Job, Run
from policy.ledger import Ledger
from policy.limits import EntityKey, show_entity
from policy.offers import Rights
from policy.placement import Placement
from policy.quotas import Quotas, Standing
from policy.reasons import Number, Reason
from policy.reservation import HeadGuard
from policy.settings import Settings
from policy.standstill import Line, Standstill
from policy.victims import Room, Search, Size
from policy.windows import NOTHING_CLOSED, Closed
from policy.world import World


class Victim(NamedTuple):
    """A run to be preempted, and why it may be: the entry that is over, or (None) its lower class."""

    run: Run
    standing: Standing | None


class Found(NamedTuple):
    """Victims whose resources, with what is idle, hold the job there."""

    placement: Placement
    victims: tuple[Victim, ...]


_DELAYS_HEAD = Reason("preempt-delays-head")

_DELAYED_LOOKED_AT = 32
"""Of so many shapes of jobs whose delay is not over a pass finds out whether they could preempt: each is a search."""

# Where so many single victims would each delay the head, another single one hardly helps: take several.
_SINGLES_BESIDE_HEAD = 16

# So many single victims are tried for less repeated work than several victims would cost.
_SINGLES_FOR_HEAD = 64


class Preemption:
    """The rules A and B in one pass, and what they have taken so far."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        quotas: Quotas,
        classes: Classes | None,
        settings: Settings,
        now_s: float,
    ) -> None:
        self._world = world
        self._quotas = quotas
        self._classes = classes
        self._rule_b = classes is not None and settings.priority.preempt
        self._settings = settings.quota
        self._rule_a = settings.quota.preempt and world.has_quotas
        self._now_s = now_s
        self._candidates = Candidates(world, ledger, quotas, classes, settings, now_s, settings.quota.exempt_s)
        # The same if nobody were exempt: for the reasons only, and made only where somebody is.
        self._without_exemption: Callable[[], Candidates] = partial(
            Candidates, world, ledger, quotas, classes, settings, now_s, 0
        )
        self._if_not_exempt: Candidates | None = None
        # Shapes that would delay the head, by the shortest estimate that did and what was closed to it, and why: the
        # head's room only shrinks in a pass.
        self._delaying: dict[object, tuple[float, int, Reason]] = {}
        # Shapes for which nobody was found, by how much was closed to them: with more closed it is no better.
        self._failed: dict[object, tuple[int, Reason]] = {}
        # Shapes that what the victims leave over did not hold, by the shortest estimate that was tried.
        self._no_surplus: dict[object, tuple[Capacity, float]] = {}
        # Starts of this pass that were promised to jobs within quota.
        self._promised_within: set[str] = set()
        # Shapes that could preempt but for exempt time, by the longest estimate and the most closed with which they
        # could.
        self._exempting: dict[object, tuple[float, int, Reason]] = {}
        # Shapes that could preempt but for their delay, by the longest estimate with which they could.
        self._delayed: dict[object, float] = {}
        # What entries hold less by the runs that are let go: with a higher quota these might stay.
        self._going: dict[tuple[str, str, EntityKey], int] = {}
        self._still = Standstill(quotas)
        self._in_vain = False
        self._taken = 0

    def rights(self, job: Job) -> tuple[Rights | None, tuple[Reason, ...]]:
        """By which rules the job may preempt; None and why not, where by none."""
        rights, refused = self._rights_by_rules(job)
        if rights is None:
            return None, refused
        settings = self._settings
        if not (job.urgent or job.priority >= settings.urgent_priority):
            at_s = job.submit_s + settings.delay_s + settings.delay_per_core_s * job.cores
            if at_s > self._now_s:
                return None, (Reason("preempt-delay", (("at_s", at_s),)),)
        return rights, ()

    def _rights_by_rules(self, job: Job) -> tuple[Rights | None, tuple[Reason, ...]]:
        """The same as if no job had to wait before it may preempt."""
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
        everywhere = self._classes is None or self._classes.compare_queues
        return Rights(by_quota, above, rank, None if everywhere else job.queue), ()

    def after_delay(
        self,
        job: Job,
        delay: Reason,
        allowed: int,
        guard: HeadGuard | None,
        closed: Closed = NOTHING_CLOSED,
        after_victims: Capacity | None = None,
    ) -> Reason:
        """What is said of a job whose delay is not over: whether it could preempt now but for that, else why not."""
        rights, _ = self._rights_by_rules(job)
        if rights is None or len(self._delayed) >= _DELAYED_LOOKED_AT or self.spent() is not None:
            return delay
        shape = (allowed, rights, job.user if rights.by_quota else "", job.request, closed.key)
        could = Reason("preempt-delay", (*delay.numbers, ("cores_there", job.cores)))
        if job.left_s <= self._delayed.get(shape, -1.0):
            return could
        in_vain = self._in_vain
        found = self.find(job, rights, allowed, guard, closed, after_victims)
        self._in_vain = in_vain
        if isinstance(found, Found):
            self._delayed[shape] = job.left_s
            return could
        if found.code == "exempt-victims" and float(found.number("enough_s")) < float(delay.number("at_s")):
            return could
        return delay if found.code == _DELAYS_HEAD.code else found

    def _refused_by_quota(self, job: Job) -> Reason | None:
        if not self._quotas.bounds(job):
            return Reason("no-quota", (("user", job.user), ("queue", job.queue)))
        over = self._quotas.exceeded_by(job)
        if over is None:
            return None
        numbers = self._quotas.numbers_of(over, job)
        going = self._going.get((over.scope, over.resource, over.entity), 0)
        return Reason("over-quota", (*numbers, ("going", going)) if going else numbers)

    def _why_base(self, job: Job, classes: Classes) -> Reason:
        subject = classes.subject(job)
        if subject is None:
            return Reason("no-priority", (("user", job.user), ("queue", job.queue)))
        left = classes.remaining(job)
        numbers: tuple[tuple[str, Number], ...] = (("entity", show_entity(subject.entity)), ("counted", left.resource))
        numbers = (*numbers, *left.need)
        return Reason("base-class", (*numbers, ("left", left.amount), ("limit", left.limit)))

    def find(
        self,
        job: Job,
        rights: Rights,
        allowed: int,
        guard: HeadGuard | None,
        closed: Closed = NOTHING_CLOSED,
        after_victims: Capacity | None = None,
    ) -> Found | Reason:
        """Victims for a job that may preempt, where nothing is closed to it, or why there are none.

        ``after_victims`` is what will be free once the victims chosen so far have ended, None where there are none:
        the job takes what these leave over before any other run is preempted for it.
        """
        if after_victims is not None:
            left_over = self._left_over(job, allowed, guard, closed, after_victims)
            if left_over is not None:
                return left_over
        shape = (allowed, rights, job.user if rights.by_quota else "", job.request)
        failed = self._failed.get(shape)
        if failed is not None and closed.extent >= failed[0]:
            return failed[1]
        delaying = self._delaying.get(shape)
        if delaying is not None and job.left_s >= delaying[0] and closed.extent >= delaying[1]:
            return delaying[2]
        exempting = self._exempting.get(shape)
        if exempting is not None and job.left_s <= exempting[0] and closed.extent <= exempting[1]:
            return exempting[2]
        spent = self.spent()
        if spent is not None:
            return spent
        usable = self._candidates.usable_by(job, allowed)
        pool = self._candidates.pool(usable)
        free = self._world.capacity if after_victims is None else after_victims
        if self._candidates.never_enough(job, rights, allowed, usable, pool, free):
            reason = self._too_few(job, rights, usable, pool)
            self._failed[shape] = (0, reason)
        elif closed.key and self._candidates.never_enough_open(job, rights, usable, closed.vnodes):
            reason = self._too_few(job, rights, usable, pool)
            self._failed[shape] = (closed.extent, reason)
        else:
            self._still.renew(len(self._candidates.picked), len(self._promised_within))
            alike = (allowed, usable, rights, pool.gives_of(job.user), job.request, closed.key)
            room, blocked_by_head = None, 0
            if guard is not None or not self._still.has_failed(alike, free):
                search = Search(self._world, job, allowed, guard, closed, after_victims)
                room, blocked_by_head = self._search(job, rights, search, pool), search.blocked_by_head
                if room is None and guard is None:
                    self._still.note_failed(alike, free)
            if room is not None:
                over = self._quotas.exceeded_by(job, room.placement) if rights == Rights(True, BASE) else None
                if over is None:
                    return self._as_found(job, rights, room)
                # An exclusive job shows what it keeps only where it is.
                return Reason("over-quota", self._quotas.numbers_of(over, job, room.placement))
            if blocked_by_head:
                reason = _DELAYS_HEAD
                self._delaying[shape] = (job.left_s, closed.extent, reason)
            else:
                reason = self._too_few(job, rights, usable, pool)
                self._failed[shape] = (closed.extent, reason)
        self._in_vain = True
        exempt = self._exempt(job, rights, allowed, guard, closed, free) if pool.exempt else None
        if exempt is None:
            return reason
        for known in (self._failed, self._delaying):
            known.pop(shape, None)
        self._exempting[shape] = (job.left_s, closed.extent, exempt)
        return exempt

    def _left_over(
        self, job: Job, allowed: int, guard: HeadGuard | None, closed: Closed, after_victims: Capacity
    ) -> Found | None:
        """Room in what the victims chosen so far leave over; None where it does not hold the job."""
        shape = (allowed, job.request, closed.key)
        tried = self._no_surplus.get(shape)
        if after_victims.idle(allowed) < job.request.cores:
            return None
        if tried is not None and tried[0] is after_victims and job.left_s >= tried[1]:
            return None
        search = Search(self._world, job, allowed, guard, closed, after_victims)
        room = search.without_victims()
        if room is not None:
            return Found(room.placement, ())
        self._no_surplus[shape] = (after_victims, job.left_s if search.blocked_by_head else 0.0)
        return None

    def gains_by(self, job: Job) -> bool:
        """Whether somebody is over quota by the start of a job, so that one who preempted nobody in this pass may now
        find a victim."""
        return self._in_vain and self._rule_a and self._quotas.is_over(job)

    def keep_promised_start(self, run_id: str) -> None:
        """A job within quota starts as it was promised: rule A does not take the start back in this pass."""
        self._promised_within.add(run_id)

    def spent(self) -> Reason | None:
        """Why nobody preempts in this pass any more; None as long as somebody may."""
        if self._taken < self._settings.max_victims_per_pass:
            return None
        return Reason("victims-of-pass", (("limit", self._taken),))

    def take(self, found: Found) -> None:
        """The victims are chosen: they are nobody's victims any more, and their owners hold less."""
        self._taken += len(found.victims)
        for victim in found.victims:
            self.count_out(victim.run)

    def count_out(self, run: Run) -> None:
        """A run that is let go, by this pass or an earlier one."""
        self._candidates.count_out(run)
        needs = self._quotas.needs(run.job, run.placement)
        for scope, resource, entity, _ in self._quotas.bounds(run.job, run.placement):
            key = (scope, resource, entity)
            self._going[key] = self._going.get(key, 0) + needs[resource]
        self._if_not_exempt = None
        self._exempting.clear()
        self._delayed.clear()

    # Who is a victim

    def _rule_for(self, run: Run, rights: Rights) -> Victim | None:
        """The run as a victim of a job with these rights, whoever's; None where neither rule offers it now."""
        rank = BASE if self._classes is None else self._classes.of_victim(run)
        if rights.by_class(rank, run.job.queue):
            return Victim(run, None)
        if rights.may_take(rank, run.job.queue) and run.id not in self._promised_within:
            standing = self._quotas.surplus(run.job, run.placement)
            return None if standing is None else Victim(run, standing)
        return None

    def _offer(self, run: Run, job: Job, rights: Rights) -> Victim | None:
        """The run as a victim of this job; None where it may not be taken for it."""
        if run.id in self._candidates.picked or run.id not in self._world.runs:
            return None
        if run.job.user == job.user:
            rights = rights._replace(by_quota=False)
        return self._rule_for(run, rights)

    # The search

    def _search(self, job: Job, rights: Rights, search: Search, pool: Pool) -> Room | None:
        if search.fits_but_for_head():
            return self._least_repeated(job, rights, search, pool)
        lower = any(cores and rights.by_class(rank, queue) for (queue, rank), cores in pool.in_classes.items())
        if rights.by_quota and not lower and self._settings.victim_order == "smallest-sufficient":
            # Runs of the base class go first, so all others are left out as long as these are enough.
            only_base = rights._replace(above=BASE, rank=BASE, queue=None)
            for each in (rights,) if self._classes is None else (only_base, rights):
                room = self._smallest_sufficient(job, each, search, pool)
                room = room or self._walk(search, self._line(job, each, search, pool))
                if room is not None:
                    return room
            return None
        room = self._walk(search, self._line(job, rights, search, pool))
        if room is None and rights.by_quota:
            # The first runs in order may use up what their owner is over quota by, and not be enough.
            room = self._smallest_sufficient(job, rights, search, pool)
        return room

    def _least_repeated(self, job: Job, rights: Rights, search: Search, pool: Pool) -> Room | None:
        """Victims where the job fits but for the head: they only make room beside it, so those go that repeat the least
        work, whatever the order of victims: several or, where that repeats less, a single one."""
        unsaved = self._candidates.unsaved
        ordered = sorted(self._in_order(rights, pool), key=unsaved)
        room = self._walk(search, Line(ordered, self._asks(job, rights, search), self._quotas))
        least = None if room is None else sum(map(unsaved, room.runs))
        for run in ordered[:_SINGLES_FOR_HEAD]:
            if least is None or unsaved(run) >= least:
                break
            if search.may_use(run) and self._offer(run, job, rights) is not None:
                single = search.alone(run)
                if single is not None:
                    return single
        return room

    def _smallest_sufficient(self, job: Job, rights: Rights, search: Search, pool: Pool) -> Room | None:
        """The smallest single run that frees enough; :func:`~policy.victims.size_of` says which cannot."""
        lacking = search.lacking
        piece = min(chunk.cores for chunk in job.request.chunks)
        is_offered = self._asks(job, rights, search)
        key = (id(pool), rights, pool.gives_of(job.user), search.allowed, search.closed)
        singles, known = self._still.singles, key in self._still.singles
        sizes = singles.get(key)
        if known and sizes is None:
            sizes = singles[key] = [sized for sized in self._sizes_of_over(pool, 0) if is_offered(sized[1])]
        singles.setdefault(key, None)
        for size, run in self._sizes_of_over(pool, search.short) if sizes is None else sizes:
            cores, vnodes, most = size
            if cores < search.short or most < piece or cores + vnodes * (piece - 1) < lacking * piece:
                continue
            if search.blocked_by_head > _SINGLES_BESIDE_HEAD:
                break
            if sizes is not None or is_offered(run):
                room = search.alone(run)
                if room is not None:
                    return room
        return None

    def _sizes_of_over(self, pool: Pool, short: int) -> Iterator[tuple[Size, Run]]:
        """The runs of at least so many cores whose owners are over quota, smallest first."""
        sizes, spares = pool.sizes, pool.spares
        for index in range(bisect_left(sizes, ((short,), -1)), len(sizes)):
            size, place = sizes[index]
            run = pool.ordered[place]
            if spares.get(pool.owners[run.id], 0) > 0:
                yield size, run

    def _asks(self, job: Job, rights: Rights, search: Search) -> Callable[[Run], bool]:
        """Tells of a run whether it may be taken for this job, as use stands when it is asked."""
        return lambda run: search.may_use(run) and self._offer(run, job, rights) is not None

    def _line(self, job: Job, rights: Rights, search: Search, pool: Pool) -> Line:
        """The runs offered to the job in order."""
        key = (id(pool), rights, pool.gives_of(job.user), search.allowed, search.closed)
        line = self._still.lines.get(key)
        if line is None:
            line = Line(self._in_order(rights, pool), self._asks(job, rights, search), self._quotas)
            self._still.lines[key] = line
        return line

    def _walk(self, search: Search, line: Line) -> Room | None:
        """The first runs of the line that are enough."""
        runs = line.runs()
        try:
            return search.first_enough(runs)
        except BaseException:
            self._still.forget()
            raise
        finally:
            runs.close()

    def _in_order(self, rights: Rights, pool: Pool) -> Iterator[Run]:
        """The runs of lower classes in P2's order, then those that only rule A offers: those of the base class, then
        the others, in the configured order."""
        classes, seen = self._classes, set()
        for run in pool.by_class if rights.above != BASE and classes is not None else ():
            if classes is not None and rights.by_class(classes.of_victim(run), run.job.queue):
                seen.add(run.id)
                yield run
        if not rights.by_quota:
            return
        above_base: list[Run] = []
        for run in pool.ordered:
            if run.id not in seen and pool.spares.get(pool.owners[run.id], 0) > 0:
                if classes is not None and classes.of_victim(run) != BASE:
                    above_base.append(run)
                else:
                    yield run
        yield from above_base

    def _as_found(self, job: Job, rights: Rights, room: Room) -> Found:
        """The victims, each with how its entry stood at its turn."""
        victims: list[Victim] = []
        for run in room.runs:
            victim = self._offer(run, job, rights)
            assert victim is not None  # noqa: S101 - it was offered with at least as many gone
            victims.append(victim)
            self._quotas.shift(run.job, -1, run.placement)
        for run in room.runs:
            self._quotas.shift(run.job, 1, run.placement)
        return Found(room.placement, tuple(victims))

    # Why not

    def _too_few(self, job: Job, rights: Rights, usable: int, pool: Pool) -> Reason:
        idle = ("idle", self._world.capacity.idle(usable))
        if self._classes is None:
            return Reason("no-victims", (("preemptible", self._candidates.most_by_quota(job.user, pool)), idle))
        offered = self._candidates.offers(usable, pool).to(job.user, rights)
        if rights.above == BASE:
            return Reason("no-victims", (("preemptible", offered.cores), idle))
        if not offered.runs:
            return Reason("no-lower-class", (("class", rights.above), idle))
        return Reason("too-few-lower", (("class", rights.above), ("preemptible", offered.cores), idle))

    def _exempt(
        self, job: Job, rights: Rights, allowed: int, guard: HeadGuard | None, closed: Closed, free: Capacity
    ) -> Reason | None:
        """When the job can preempt those who are still exempt; None where it could not even if nobody were."""
        candidates = self._if_not_exempt
        if candidates is None:
            candidates = self._if_not_exempt = self._without_exemption()
            candidates.picked |= self._candidates.picked
        usable = candidates.usable_by(job, allowed)
        pool = candidates.pool(usable)
        if candidates.never_enough(job, rights, allowed, usable, pool, free):
            return None

        def search() -> Search:
            return Search(self._world, job, allowed, None if guard is None else guard.afresh(), closed, free)

        # Those that have run longest are the first to be enough.
        oldest = sorted(pool.ordered, key=lambda run: (run.start_s, run.id))
        looked = search()
        room = self._walk(looked, Line(oldest, self._asks(job, rights, looked), self._quotas))
        room = room or self._search(job, rights, search(), pool)
        if room is None:
            return None
        exempt_s = self._settings.exempt_s
        first_s = min(run.start_s for run in self._candidates.pool(usable).exempt) + exempt_s
        enough_s = max(first_s, max(run.start_s for run in room.runs) + exempt_s)
        return Reason("exempt-victims", (("at_s", first_s), ("enough_s", enough_s)))
