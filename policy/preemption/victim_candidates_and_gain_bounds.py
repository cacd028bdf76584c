"""The runs that rules A and B could preempt, once for a pass and a set of vnodes, and upper bounds on what they free
(docs/policies.md, P1 and P2).

The bounds show when a search would be in vain, never that it will succeed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.soft_quotas import Quotas
from policy.fit.best_fit import fits
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job, Run
from policy.model.ledger_between_passes import Ledger
from policy.model.priority_class import BASE
from policy.model.vnode_bitsets import count_vnodes, indices_of
from policy.preemption.preemptible_sums_by_owner_and_class import PreemptibleSums, PreemptionRights
from policy.preemption.take_back_planned_starts import PlannedStarts
from policy.preemption.victim_pool import Pool
from policy.preemption.victim_search import add_idle, cores_in, countable, size_of
from policy.settings.site_settings import Settings
from policy.state.cluster_index import ClusterIndex
from policy.state.vnodes_by_idle_cores import Capacity


class Basis(NamedTuple):
    """What preemption is decided from in one pass; ``classes`` is None if no queue has priorities."""

    cluster: ClusterIndex
    ledger: Ledger
    quotas: Quotas
    classes: Classes | None
    settings: Settings
    now_s: float


def qualifies(run: Run, counts: Mapping[str, int], cap: float, managed: Container[str]) -> bool:
    """Whether rules A and B may preempt the run, apart from quotas and classes. ``counts`` are the preemptions by job,
    ``cap`` is how many make a job exempt, ``managed`` are the queues in which runs are preempted."""
    job = run.job
    return job.rerunable and not run.exiting and counts.get(run.id, 0) < cap and job.queue in managed


class Candidates:
    """The possible victims of one pass among the runs of before, with runs exempt for ``exempt_s``; ``picked``: ids of
    runs that are victims already."""

    def __init__(self, basis: Basis, exempt_s: float, starts: PlannedStarts) -> None:
        cluster, settings = basis.cluster, basis.settings
        self._cluster = cluster
        self._starts = starts
        self._ledger = basis.ledger
        self._quotas = basis.quotas
        self._classes = basis.classes
        self._quota = settings.quota
        self._exempt_s = exempt_s
        self._saves = settings.checkpoint.saves
        self._deferrable_first = settings.priority.deferrable_first
        self._rule_a = settings.quota.preempt and cluster.has_quotas
        self._now_s = basis.now_s
        self.picked: set[str] = set()
        self._candidates: list[Run] | None = None
        self._begun_now: dict[str, Run] | None = None
        self._pools: dict[int, Pool] = {}
        self._without: dict[int, Capacity] = {}
        self._fits_without: dict[tuple[int, Request], bool] = {}
        self._idle: dict[tuple[int, PreemptionRights], list[int]] = {}
        self._pieces: dict[tuple[int, PreemptionRights, int], int] = {}
        self._open_pieces: dict[tuple[int, PreemptionRights, int, int], int] = {}

    def count_out(self, run: Run) -> None:
        """Note a victim of this pass or of an earlier one: it is no possible victim any more."""
        self.picked.add(run.id)
        quotas = self._quotas
        quotas.shift(run.job, -1, run.allocation)
        owner = quotas.owner(run.job, run.allocation)
        need = quotas.needs(run.job, run.allocation).get("ncpus", 0)
        for pool in self._pools.values():
            pool.count_out(run, owner, need)

    def usable_by(self, job: Job, allowed: int) -> int:
        """The vnodes that take jobs and match some chunk of the job."""
        capacity = self._cluster.capacity
        wanted = 0
        for chunk in job.request.chunks:
            wanted |= capacity.inventory.matching(chunk)
        return allowed & capacity.usable & wanted

    def pool_for(self, job: Job, usable: int) -> Pool:
        """The runs in the way of the job on these vnodes, or on the rest of a host that it gets whole."""
        return self.pool(self._cluster.capacity.sharing.reach(usable, job.request))

    def pool(self, usable: int) -> Pool:
        """The runs on these vnodes that some rule could offer.

        Made once for a pass: rules and quotas are tested again when a run is taken, and what is free only shrinks.
        """
        pool = self._pools.get(usable)
        if pool is None:
            directory = self._cluster.capacity.directory
            everywhere = usable == (1 << len(directory.names)) - 1
            pool = self._pools[usable] = Pool()
            ordered, sizes, spares, in_classes = pool.ordered, pool.sizes, pool.spares, pool.in_classes
            rule_a, classes, quotas, picked = self._rule_a, self._classes, self._quotas, self.picked
            idle = self._cluster.capacity.idle_of_each(usable)
            for run in self._all_candidates():
                allocation = run.allocation
                cores = allocation.cores if everywhere else allocation.cores_on(usable, directory)
                if not cores and not any(share.mask & usable for share in run.allocation.shares(directory)):
                    continue
                job = run.job
                counted = quotas.counted_as(job, allocation)
                owner = counted.owner
                if owner not in spares:
                    spares[owner] = quotas.spare(job, allocation) if rule_a else -1
                over = spares[owner] > 0 and quotas.surplus(job, allocation) is not None
                if not over and classes is None:
                    continue
                # The same sum as in the time that the reason names: rounding must not make the two differ.
                if run.start_s + self._exempt_s > self._now_s:
                    pool.exempt.append(run)
                    continue
                if over and run.id not in picked:
                    pool.note_over(run, cores)
                if classes is not None and run.id not in picked:
                    kind = (job.queue, classes.of_run(run))
                    in_classes[kind] = in_classes.get(kind, 0) + cores
                sizes.append((size_of(run, cores, usable, directory, idle), len(ordered)))
                ordered.append(run)
                pool.owners[run.id] = owner
                if spares[owner] > 0:
                    pool.giving.append((run, counted))
                if classes is not None:
                    pool.kinds.setdefault((job.queue, classes.of_run(run)), []).append(run)
            # With equally many cores the configured order decides, here by the least unsaved work.
            sizes.sort(key=lambda sized: (sized[0].cores, sized[1]))
            if self._classes is not None:
                pool.by_class = self._lowest_first(ordered, self._classes)
        return pool

    def sums(self, usable: int, pool: Pool) -> PreemptibleSums:
        """The sums of what the rules offer of the pool of these vnodes."""
        if pool.sums is None:
            pool.sums = self._sums(pool.ordered, usable)
        return pool.sums

    def _sums(self, runs: Sequence[Run], usable: int) -> PreemptibleSums:
        directory, there = self._cluster.capacity.directory, self._cluster.runs
        sized = [
            (run, run.allocation.cores_on(usable, directory))
            for run in runs
            if run.id not in self.picked and run.id in there
        ]
        return PreemptibleSums(sized, self._quotas, self._classes)

    def never_enough_open(
        self, job: Job, rights: PreemptionRights, usable: int, closed: int, starts: Sequence[Run]
    ) -> bool:
        """As :meth:`never_enough`, on the vnodes that no window closes to the job. Call it only after that one was
        False."""
        if not usable & ~closed:
            return True
        chunk = countable(job.request, self._cluster.capacity)
        if not closed or chunk is None or not chunk.cores:
            return False
        key = (usable, rights, chunk.cores, closed)
        pieces = self._open_pieces.get(key)
        if pieces is None:
            idle, cores = self._idle[usable, rights], chunk.cores
            in_closed = sum([idle[index] // cores for index in indices_of(usable & closed) if idle[index] >= cores])
            pieces = self._open_pieces[key] = self._pieces[usable, rights, cores] - in_closed
        return pieces + self._most_pieces(starts, usable & ~closed, chunk.cores) < chunk.pieces

    def never_enough(
        self,
        job: Job,
        rights: PreemptionRights,
        allowed: int,
        usable: int,
        pool: Pool,
        capacity: Capacity,
        starts: Sequence[Run],
    ) -> bool:
        """Whether the job would still not fit if all offered runs and the ``starts`` were taken away, as far as core
        counts show."""
        directory = capacity.directory
        if capacity.is_bound_by_amounts():
            offered = sum(cores for (queue, rank), cores in pool.in_classes.items() if rights.by_class(rank, queue))
            if rights.by_quota:
                offered += self.most_by_quota(job.user, pool)
            offered += sum(run.allocation.cores_on(usable, directory) for run in starts)
            if capacity.idle(usable) + offered < job.cores:
                return True
        chunk = countable(job.request, capacity)
        if chunk is not None and chunk.cores:
            pieces = self._pieces_without(rights, usable, pool, chunk.cores, capacity)
            return pieces + self._most_pieces(starts, usable, chunk.cores) < chunk.pieces
        if starts:
            return False
        shape = (usable, job.request)
        room = self._fits_without.get(shape)
        if room is None:
            vnodes = self._cluster.capacity.sharing.reach(usable, job.request)
            without = self._without.get(vnodes)
            if without is None:
                without = self._without[vnodes] = capacity.copy()
                for run in (run for run in pool.ordered if run.id not in self.picked):
                    without.give(run.allocation.shares(without.directory), run.job.request)
            room = self._fits_without[shape] = fits(without, job.request, allowed)
        return not room

    def _most_pieces(self, starts: Sequence[Run], usable: int, cores: int) -> int:
        """An upper bound on the pieces of ``cores`` cores that taking the starts back adds on these vnodes."""
        pieces = 0
        for run in starts:
            for mask, amounts, chunks, _ in run.allocation.shares(self._cluster.capacity.directory):
                pieces += count_vnodes(mask & usable) * (chunks * cores_in(amounts) // cores + 1)
        return pieces

    def _all_candidates(self) -> list[Run]:
        """The runs that qualify for preemption by themselves, in the configured order."""
        if self._candidates is None:
            cap = self._quota.cap
            counts, starts = self._ledger.preemptions, self._starts
            managed = {queue.name for queue in self._cluster.queues.values() if queue.managed}
            qualified = [
                run
                for run in self._cluster.runs.values()
                if qualifies(run, counts, cap, managed)
                and run.id not in starts
                and (run.subjob is None or not self._is_subjob_begun_now(run))
                and (self._classes is not None or self._quotas.bounds(run.job, run.allocation))
            ]
            self._candidates = sorted(qualified, key=lambda run: (*self._order(run), run.id))
        return self._candidates

    def _is_subjob_begun_now(self, run: Run) -> bool:
        """Whether the run is a subjob that this pass or an earlier one at the same second has started."""
        return run.start_s == self._now_s and run.subjob is not None

    def begun_now(self) -> dict[str, Run]:
        """Of each array a subjob that an earlier pass at the same second has started: no victim in this one."""
        if self._begun_now is None:
            runs = self._cluster.runs.values()
            begun = (run for run in runs if self._is_subjob_begun_now(run) and run.id not in self._starts)
            self._begun_now = {run.job.id: run for run in begun}
        return self._begun_now

    def unsaved(self, run: Run) -> float:
        """The core-seconds of work that a run would have to repeat."""
        saves = self._saves if run.job.saves is None else run.job.saves
        return 0 if saves else run.job.cores * (self._now_s - run.start_s)

    def _order(self, run: Run) -> tuple[float, ...]:
        """The configured order; ties go to less unsaved work, then to the later started, then to the later
        submitted."""
        order, job = self._quota.victim_order, run.job
        ties = (self.unsaved(run), -run.start_s, -job.submit_s, -job.sequence, -(run.subjob or 0))
        if order == "newest":
            return (-run.start_s, *ties)
        if order == "oldest":
            return (run.start_s, *ties)
        if order == "fewest-cores":
            return (job.cores, *ties)
        if order == "most-cores":
            return (-job.cores, *ties)
        return ties

    def _lowest_first(self, candidates: list[Run], classes: Classes) -> list[Run]:
        """Candidates that are in the configured order by class, lowest first; in one class deferrable runs first, if so
        configured; then those submitted last, and of these in the order that they had."""
        queues = self._cluster.queues

        of_victim, deferrable_first = classes.of_victim, self._deferrable_first

        def place(run: Run) -> tuple[int, bool, float, int]:
            job = run.job
            kept = not (deferrable_first and (job.deferrable or queues[job.queue].deferrable))
            return (of_victim(run), kept, -job.submit_s, -job.sequence)

        return sorted(candidates, key=place)

    def _pieces_without(self, rights: PreemptionRights, usable: int, pool: Pool, cores: int, capacity: Capacity) -> int:
        """How many pieces of ``cores`` cores these vnodes would hold without all runs that the rights could offer: an
        upper bound by cores alone, computed once for each number of cores."""
        key = (usable, rights, cores)
        pieces = self._pieces.get(key)
        if pieces is None:
            idle = self._idle_without(rights, usable, pool, capacity)
            pieces = self._pieces[key] = sum([free // cores for free in idle if free >= cores])
        return pieces

    def _idle_without(self, rights: PreemptionRights, usable: int, pool: Pool, capacity: Capacity) -> list[int]:
        """The idle cores of each vnode without those runs, computed from those of the next lower class."""
        known = self._idle.get((usable, rights))
        if known is None:
            lower = [
                key[1].above
                for key in self._idle
                if key[0] == usable
                and key[1].above < rights.above
                and key[1]._replace(above=rights.above, rank=rights.rank) == rights
            ]
            directory = capacity.directory
            below = max(lower, default=None)
            if below is None:
                idle = capacity.idle_of_each(usable)
                for run in pool.ordered if rights.by_quota else ():
                    if run.id in pool.counted:
                        add_idle(idle, run, usable, directory)
            else:
                idle = next(
                    each
                    for key, each in self._idle.items()
                    if key[0] == usable
                    and key[1].above == below
                    and key[1]._replace(above=rights.above, rank=rights.rank) == rights
                )[:]
            known_by_quota = pool.counted if rights.by_quota else {}
            for (queue, rank), runs in pool.kinds.items():
                if (below is None or rank >= below) and rights.by_class(rank, queue):
                    for run in runs:
                        if run.id not in known_by_quota and run.id not in self.picked:
                            add_idle(idle, run, usable, directory)
            known = self._idle[usable, rights] = idle
        return known

    def capped_cores(self, job: Job, rights: PreemptionRights, usable: int) -> int:
        """The cores on these vnodes of the runs that only the cap protects from being preempted for the job."""
        cap, directory, held = self._quota.cap, self._cluster.capacity.directory, 0
        managed = {queue.name for queue in self._cluster.queues.values() if queue.managed}
        for run_id, count in self._ledger.preemptions.items():
            run = self._cluster.runs.get(run_id) if count >= cap else None
            if run is None or not run.job.rerunable or run.exiting or run.job.queue not in managed:
                continue
            rank = BASE if self._classes is None else self._classes.of_victim(run)
            by_quota = run.job.user != job.user and rights.may_take(rank, run.job.queue)
            if rights.by_class(rank, run.job.queue) or (
                by_quota and self._quotas.surplus(run.job, run.allocation) is not None
            ):
                held += run.allocation.cores_on(usable, directory)
        return held

    def most_by_quota(self, user: str, pool: Pool) -> int:
        """The most cores that rule A could take from users other than this one."""
        return pool.most_by_quota(user)
