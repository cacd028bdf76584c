"""Selects the victims of a job among the runs that rules A and B offer (docs/policies.md, P1 and P2).

Starts of this pass come first, then runs of lower classes in P2's order, then runs that only rule A offers in the
configured order, each tested with those before it gone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Callable, NamedTuple

from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.soft_quotas import Quotas, Standing
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import Job, Run
from policy.model.priority_class import BASE
from policy.preemption.preemptible_runs_cache import PreemptibleRuns, PreemptibleRunsCache
from policy.preemption.preemptible_sums_by_owner_and_class import PreemptionRights
from policy.preemption.take_back_planned_starts import PlannedStarts
from policy.preemption.victim_candidates_and_gain_bounds import Candidates
from policy.preemption.victim_pool import Pool
from policy.preemption.victim_search import Search, Slot
from policy.state.cluster_index import ClusterIndex


class Victim(NamedTuple):
    """A run to be preempted, and the quota entry that is over; None if it goes because of its lower class."""

    run: Run
    standing: Standing | None


class Found(NamedTuple):
    """Victims whose resources, with what is idle, hold the job at this allocation."""

    allocation: Allocation
    victims: tuple[Victim, ...]


# After this many single victims that would each delay the head, another hardly helps: take several.
_SINGLES_BESIDE_HEAD = 16

# How many single victims are tried for less repeated work than several victims would cost.
_SINGLES_FOR_HEAD = 64

# How many sets of victims are tried for one that leaves each owner its quota: for a job, and in a pass.
_SETS_FOR_JOB = 16
_SETS_IN_PASS = 512


class VictimSelection:
    """The selection of victims in one pass. ``promised_within``: starts of this pass that were promised to jobs within
    quota; rule A does not cancel them."""

    def __init__(
        self,
        cluster: ClusterIndex,
        quotas: Quotas,
        classes: Classes | None,
        candidates: Candidates,
        cache: PreemptibleRunsCache,
        victim_order: str,
        starts: PlannedStarts,
    ) -> None:
        self._cluster = cluster
        self._quotas = quotas
        self._classes = classes
        self._candidates = candidates
        self._cache = cache
        self._victim_order = victim_order
        self.promised_within: set[str] = set()
        self._starts = starts
        # The starts that may be taken back, by rights and, for a user with starts, by user; since the last change.
        self._takeable: dict[tuple[PreemptionRights, str], list[Run]] = {}
        self._takeable_at: tuple[int, int, int] | None = None
        self._sets_left = _SETS_IN_PASS

    def takeable(self, job: Job, rights: PreemptionRights) -> list[Run]:
        """The starts of this pass that could be taken back for the job, each by itself; the latest first."""
        if not self._starts.any:
            return []
        at = (self._quotas.changes, self._starts.changes, len(self.promised_within))
        if at != self._takeable_at:
            self._takeable_at = at
            self._takeable.clear()
        key = (rights, job.user if self._starts.has_of(job.user) else "")
        found = self._takeable.get(key)
        if found is None:
            starts = self._starts.latest_first()
            found = self._takeable[key] = [run for run in starts if self._offer(run, job, rights) is not None]
        return found

    def select(
        self, job: Job, rights: PreemptionRights, search: Search, pool: Pool, starts: Sequence[Run]
    ) -> Slot | None:
        """The victims for the job, and its allocation; None if they are not enough. No run is a victim where it is
        enough to take back ``starts`` of this pass; else starts come before runs."""
        room = self._select_in_order(job, rights, search, pool, starts)
        if room is None and rights.by_quota:
            room = self._within_surplus(job, rights, search, pool, starts)
        return room

    def _select_in_order(
        self, job: Job, rights: PreemptionRights, search: Search, pool: Pool, starts: Sequence[Run]
    ) -> Slot | None:
        """The victims as the configured order gives them; None if they are not enough by the time that each owner is
        down to its quota."""
        if starts:
            room = self._walk(search, PreemptibleRuns(starts, self._asks(job, rights, search), self._quotas))
            if room is not None:
                return room
        if search.fits_but_for_head():
            return self._least_repeated(job, rights, search, pool, starts)
        lower = any(cores and rights.by_class(rank, queue) for (queue, rank), cores in pool.in_classes.items())
        if rights.by_quota and not lower and self._victim_order == "smallest-sufficient":
            # Runs of the base class go first: all others are left out as long as these are enough.
            only_base = rights._replace(above=BASE, rank=BASE, queue=None)
            for each in (rights,) if self._classes is None else (only_base, rights):
                room = self._smallest_sufficient(job, each, search, pool)
                room = room or self._walk(search, self._sequence(job, each, search, pool, starts))
                if room is not None:
                    return room
            return None
        room = self._walk(search, self._sequence(job, rights, search, pool, starts))
        if room is None and rights.by_quota:
            # The first runs in order may use up their owner's surplus without being enough.
            room = self._smallest_sufficient(job, rights, search, pool)
        return room

    def as_found(self, job: Job, rights: PreemptionRights, room: Slot) -> Found:
        """The victims, each with the state of its quota entry when its predecessors are gone."""
        victims: list[Victim] = []
        for run in room.runs:
            victim = self._offer(run, job, rights)
            assert victim is not None  # noqa: S101 - it was offered with at least as many gone
            victims.append(victim)
            self._quotas.shift(run.job, -1, run.allocation)
        for run in room.runs:
            self._quotas.shift(run.job, 1, run.allocation)
        return Found(room.allocation, tuple(victims))

    def oldest_first(
        self, job: Job, rights: PreemptionRights, search: Search, pool: Pool, starts: Sequence[Run]
    ) -> Slot | None:
        """The runs that have run longest, as many as are enough."""
        oldest = sorted([*pool.ordered, *starts], key=lambda run: (run.start_s, run.id))
        return self._walk(search, PreemptibleRuns(oldest, self._asks(job, rights, search), self._quotas))

    def _least_repeated(
        self, job: Job, rights: PreemptionRights, search: Search, pool: Pool, starts: Sequence[Run]
    ) -> Slot | None:
        """Victims if only the head is in the way, so that they make room beside it. Regardless of the configured order,
        the runs with the least work to repeat are taken: several or, if that repeats less, a single one."""
        unsaved = self._candidates.unsaved
        ordered = sorted(self._in_order(rights, pool), key=unsaved)
        room = self._walk(search, PreemptibleRuns([*starts, *ordered], self._asks(job, rights, search), self._quotas))
        least = None if room is None else sum(map(unsaved, room.runs))
        for run in ordered[:_SINGLES_FOR_HEAD]:
            if least is None or unsaved(run) >= least:
                break
            if search.may_use(run) and self._offer(run, job, rights) is not None:
                single = search.alone(run)
                if single is not None:
                    return single
        return room

    def _within_surplus(
        self, job: Job, rights: PreemptionRights, search: Search, pool: Pool, starts: Sequence[Run]
    ) -> Slot | None:
        """Victims where the first runs in order use up their owner's surplus without helping the job.

        Each run is offered as if no other were gone. A set that would take an owner below quota is tried again without
        one of its runs, each in turn, so that with enough tries every allowed set is found.
        """
        offered = self._each_alone(job, rights, search, pool, starts)
        if len(offered) == self._sequence(job, rights, search, pool, starts).offered():
            return None
        if rights.above == BASE and not starts:
            most = self._candidates.most_by_quota(job.user, pool)
            if search.least_freed(offered) > most:
                return None
        blocked_before = search.blocked_by_head
        left, seen = [frozenset[str]()], {frozenset[str]()}
        for _ in range(min(_SETS_FOR_JOB, self._sets_left)):
            if not left:
                break
            self._sets_left -= 1
            kept = left.pop()
            room = search.first_enough(run for run in offered if run.id not in kept)
            if room is None:
                continue
            # A run that few entries count goes first: what the others free must not count against it.
            for runs in (room.runs, tuple(sorted(room.runs, key=self._entries))):
                together = self._offered_together(job, rights, runs)
                if together == len(runs):
                    return Slot(room.allocation, runs)
            for run in room.runs:
                keeping = kept | {run.id}
                if keeping not in seen:
                    seen.add(keeping)
                    left.append(keeping)
        search.blocked_by_head = blocked_before
        return None

    def _each_alone(
        self, job: Job, rights: PreemptionRights, search: Search, pool: Pool, starts: Sequence[Run]
    ) -> list[Run]:
        """The starts and runs that are offered to the job if no other run is gone, in order."""
        key = self._key_of_offer(job, rights, search, pool, starts)
        offered = self._cache.alone.get(key)
        if offered is None:
            is_offered = self._asks(job, rights, search)
            offered = [run for run in chain(starts, self._in_order(rights, pool)) if is_offered(run)]
            self._cache.alone[key] = offered
        return offered

    def _entries(self, run: Run) -> int:
        """How many quota entries count the run."""
        return len(self._quotas.bounds(run.job, run.allocation))

    def _offered_together(self, job: Job, rights: PreemptionRights, runs: Sequence[Run]) -> int:
        """How many of these runs, from the first on, may be taken together."""
        taken: list[Run] = []
        for run in runs:
            if self._offer(run, job, rights) is None:
                break
            self._quotas.shift(run.job, -1, run.allocation)
            taken.append(run)
        for run in taken:
            self._quotas.shift(run.job, 1, run.allocation)
        return len(taken)

    def _smallest_sufficient(self, job: Job, rights: PreemptionRights, search: Search, pool: Pool) -> Slot | None:
        """The smallest single run that frees enough; runs too small by :func:`~policy.preemption.victim_search.size_of`
        are skipped."""
        lacking = search.lacking
        piece = min(chunk.cores for chunk in job.request.chunks)
        is_offered = self._asks(job, rights, search)
        key = (id(pool), rights, pool.gives_of(job.user), search.allowed, search.closed)
        known = self._cache.singles.setdefault(key, {})
        sizes, ordered, owners, spares = pool.sizes, pool.ordered, pool.owners, pool.spares
        for index in range(bisect_left(sizes, ((search.short,), -1)), len(sizes)):
            (cores, vnodes, most), place = sizes[index]
            if not search.gets_hosts and (most < piece or cores + vnodes * (piece - 1) < lacking * piece):
                continue
            if search.blocked_by_head > _SINGLES_BESIDE_HEAD:
                break
            run = ordered[place]
            if search.is_too_little(run):
                continue
            offered = known.get(place)
            if offered is None:
                offered = known[place] = spares.get(owners[run.id], 0) > 0 and is_offered(run)
            if offered:
                room = search.alone(run)
                if room is not None:
                    return room
        return None

    def _sequence(
        self, job: Job, rights: PreemptionRights, search: Search, pool: Pool, starts: Sequence[Run]
    ) -> PreemptibleRuns:
        """The sequence of starts and runs offered to the job."""
        key = self._key_of_offer(job, rights, search, pool, starts)
        sequence = self._cache.sequences.get(key)
        if sequence is None:
            offered = chain(starts, self._in_order(rights, pool))
            sequence = PreemptibleRuns(offered, self._asks(job, rights, search), self._quotas)
            self._cache.sequences[key] = sequence
        return sequence

    def _key_of_offer(
        self, job: Job, rights: PreemptionRights, search: Search, pool: Pool, starts: Sequence[Run]
    ) -> object:
        """A key that is equal for jobs to which the rules offer the same starts and runs."""
        owner = job.user if starts and self._starts.has_of(job.user) else pool.gives_of(job.user)
        return (id(pool), rights, owner, search.allowed, search.closed)

    def _walk(self, search: Search, sequence: PreemptibleRuns) -> Slot | None:
        """The first runs of the sequence that are enough."""
        runs = sequence.runs()
        try:
            return search.first_enough(runs)
        except BaseException:
            self._cache.forget()
            raise
        finally:
            runs.close()

    def _in_order(self, rights: PreemptionRights, pool: Pool) -> Iterator[Run]:
        """The runs of lower classes in P2's order; then those that only rule A offers, in the configured order, runs of
        the base class before the others."""
        classes, seen = self._classes, set()
        for run in pool.by_class if rights.above != BASE and classes is not None else ():
            if classes is not None and rights.by_class(classes.of_victim(run), run.job.queue):
                seen.add(run.id)
                yield run
        if not rights.by_quota:
            return
        above_base: list[Run] = []
        # While a sequence is read runs are only booked out: what is passed over here would not be offered later either.
        spares, may_give = pool.spares, self._quotas.leaves_some_at_limit
        gives_none: set[int] = set()
        for run, counted in pool.giving:
            if id(counted) in gives_none:
                continue
            if spares[counted.owner] <= 0 or not may_give(counted):
                gives_none.add(id(counted))
            elif run.id not in seen:
                if classes is not None and classes.of_victim(run) != BASE:
                    above_base.append(run)
                else:
                    yield run
        yield from above_base

    def _asks(self, job: Job, rights: PreemptionRights, search: Search) -> Callable[[Run], bool]:
        """A test whether a run may be taken for this job, by the use of quotas at the time of the call."""
        if not search.closed:
            return lambda run: self._offer(run, job, rights) is not None
        return lambda run: search.may_use(run) and self._offer(run, job, rights) is not None

    def offers(self, run: Run, job: Job, rights: PreemptionRights) -> bool:
        """Whether either rule would offer a run to the job now."""
        return run.job.rerunable and self._offer(run, job, rights) is not None

    def _offer(self, run: Run, job: Job, rights: PreemptionRights) -> Victim | None:
        """The run as a victim of this job; None if it may not be taken for it."""
        if run.id in self._candidates.picked or run.id not in self._cluster.runs:
            return None
        if run.job.user == job.user:
            rights = rights._replace(by_quota=False)
        return self._rule_for(run, rights)

    def _rule_for(self, run: Run, rights: PreemptionRights) -> Victim | None:
        """The run as a victim of a job with these rights, of whichever owner; None if neither rule offers it now."""
        rank = BASE if self._classes is None else self._classes.of_victim(run)
        if rights.by_class(rank, run.job.queue):
            return Victim(run, None)
        if rights.may_take(rank, run.job.queue) and run.id not in self.promised_within:
            standing = self._quotas.surplus(run.job, run.allocation)
            return None if standing is None else Victim(run, standing)
        return None
