"""P1: whom to preempt for a job within quota (docs/policies.md, P1).

The walk takes runs of other users who are over quota, in the configured order, one by one until the job fits; if the
walk ends short nobody is preempted, and whoever turns out not to be needed is dropped again. A reserved job must not
start later for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, NamedTuple

from policy.capacity import Capacity
from policy.cluster import UNLIMITED_S, Job, Run
from policy.fitting import fit
from policy.ledger import Ledger
from policy.limits import show_entity
from policy.placement import Placement
from policy.quotas import Quotas, Standing
from policy.reasons import Reason
from policy.settings import QuotaSettings
from policy.world import World


class Victim(NamedTuple):
    """A run to be preempted and the entry that is over because of it."""

    run: Run
    standing: Standing


class Found(NamedTuple):
    """Victims whose resources, with what is idle, hold the job there."""

    placement: Placement
    victims: tuple[Victim, ...]


class _Pool(NamedTuple):
    """Possible victims on some vnodes: in the configured order, by size, and what would be free without any of them."""

    open_to: list[Run]
    by_size: list[tuple[int, Run]]
    exempt: list[Run]
    without: Capacity


Admits = Callable[[Placement, Sequence[Run]], bool]
"""Whether the reserved job keeps its start if the job runs there and these runs are gone."""


_DELAYS_HEAD = Reason("preempt-delays-head")

# Where so many single victims would each delay the head, another single one hardly helps: take several.
_SINGLES_BESIDE_HEAD = 16


class Preemption:
    """The search for victims in one pass. Tries things in the world and leaves it as it was."""

    def __init__(self, world: World, ledger: Ledger, quotas: Quotas, settings: QuotaSettings, now_s: float) -> None:
        self._world = world
        self._ledger = ledger
        self._quotas = quotas
        self._settings = settings
        self._now_s = now_s
        self._picked: set[str] = set()
        self._candidates: list[Run] | None = None
        self._pools: dict[int, _Pool] = {}
        # Shapes that would delay the head, by the shortest estimate that did: the head's room only shrinks in a pass.
        self._delaying: dict[tuple[int, str, object], float] = {}
        self._taken = 0
        self._failed: dict[tuple[int, str, object], Reason] = {}

    def refuse(self, job: Job) -> Reason | None:
        """Why the job preempts nobody whoever runs: no quota, over quota, or not yet."""
        if not self._quotas.bounds(job):
            return Reason("no-quota", (("user", job.user), ("queue", job.queue)))
        over = self._quotas.exceeded_by(job)
        if over is not None:
            numbers = (("entity", show_entity(over.entity)), ("used", over.used), ("need", self._quotas.need(job)))
            return Reason("over-quota", (*numbers, ("limit", over.limit), ("queue", job.queue)))
        settings = self._settings
        if not (job.urgent or job.priority >= settings.urgent_priority):
            at_s = job.submit_s + settings.delay_s + settings.delay_per_core_s * job.cores
            if at_s > self._now_s:
                return Reason("preempt-delay", (("at_s", at_s),))
        return None

    def find(self, job: Job, allowed: int, admits: Admits) -> Found | Reason:
        """Victims for a job that may preempt, or why there are none."""
        shape = (allowed, job.user, job.request)
        if shape in self._failed:
            return self._failed[shape]
        if job.estimate_s >= self._delaying.get(shape, UNLIMITED_S):
            return _DELAYS_HEAD
        if self._taken >= self._settings.max_victims_per_pass:
            return Reason("victims-of-pass", (("limit", self._taken),))
        usable = self._usable_by(job, allowed)
        pool = self._pool(usable)
        if fit(pool.without, job.request, allowed) is None:
            reason = self._too_few(pool, job.user, usable)
            self._failed[shape] = reason
            return reason
        found = self._search(job, allowed, usable, pool, admits)
        if found is _DELAYS_HEAD:
            self._delaying[shape] = job.estimate_s
        elif isinstance(found, Reason):
            self._failed[shape] = found
        return found

    def _usable_by(self, job: Job, allowed: int) -> int:
        """The vnodes that take jobs and are what some chunk of the job wants."""
        capacity = self._world.capacity
        wanted = 0
        for chunk in job.request.chunks:
            wanted |= capacity.matching(chunk)
        return allowed & capacity.usable & wanted

    def take(self, found: Found) -> None:
        """The victims are chosen: they are nobody's victims any more, and their owners hold less."""
        self._taken += len(found.victims)
        for victim in found.victims:
            self._picked.add(victim.run.id)
            self._quotas.shift(victim.run.job, -1)

    def count_out(self, run: Run) -> None:
        """A run that an earlier pass has chosen already."""
        self._picked.add(run.id)
        self._quotas.shift(run.job, -1)

    def _all_candidates(self) -> list[Run]:
        """The runs that may be preempted at all by what they are, in the configured order."""
        if self._candidates is None:
            cap = self._settings.max_preemptions
            counts = self._ledger.preemptions
            managed = {queue.name for queue in self._world.queues.values() if queue.managed}
            self._candidates = sorted(
                (
                    run
                    for run in self._world.runs.values()
                    if run.job.rerunable
                    and not run.exiting
                    and not (run.start_s == self._now_s and (run.subjob is not None or run.id in self._ledger.promises))
                    and counts.get(run.id, 0) < cap
                    and run.job.queue in managed
                    and self._quotas.bounds(run.job)
                ),
                key=self._order,
            )
        return self._candidates

    def _order(self, run: Run) -> tuple[float, float, str]:
        order = self._settings.victim_order
        if order == "newest":
            return (-run.start_s, 0, run.id)
        if order == "oldest":
            return (run.start_s, 0, run.id)
        if order == "fewest-cores":
            return (run.job.cores, -run.start_s, run.id)
        if order == "most-cores":
            return (-run.job.cores, -run.start_s, run.id)
        return (run.job.cores * (self._now_s - run.start_s), run.job.cores, run.id)

    def _exempt_until(self, run: Run) -> float:
        return run.start_s + self._settings.exempt_s

    def _pool(self, usable: int) -> _Pool:
        """The runs on these vnodes that are over quota, and what all those that are not exempt would leave free.

        Made once for a pass: quotas and floors are asked again when a run is taken, and what is free only shrinks.
        """
        pool = self._pools.get(usable)
        if pool is None:
            without = self._world.capacity.copy()
            directory = without.directory
            open_to: list[Run] = []
            exempt: list[Run] = []
            for run in self._all_candidates():
                if not any(share.mask & usable for share in run.placement.shares(directory)):
                    continue
                if self._quotas.surplus(run.job) is None:
                    continue
                if self._exempt_until(run) > self._now_s:
                    exempt.append(run)
                    continue
                open_to.append(run)
                without.give(run.placement.shares(directory), run.job.request)
            by_size = [(run.placement.cores_on(usable, directory), run) for run in open_to]
            by_size.sort(key=lambda sized: (sized[0], *self._order(sized[1])))
            pool = self._pools[usable] = _Pool(open_to, by_size, exempt, without)
        return pool

    def _too_few(self, pool: _Pool, user: str, usable: int) -> Reason:
        directory = self._world.capacity.directory
        exempt = [run for run in pool.exempt if run.job.user != user]
        if exempt:
            cores = sum(run.placement.cores_on(usable, directory) for run in exempt)
            return Reason("exempt-victims", (("exempt", cores), ("at_s", min(map(self._exempt_until, exempt)))))
        cores = sum(size for size, run in pool.by_size if run.job.user != user and run.id not in self._picked)
        return Reason("no-victims", (("preemptible", cores), ("idle", self._world.capacity.idle(usable))))

    def _search(self, job: Job, allowed: int, usable: int, pool: _Pool, admits: Admits) -> Found | Reason:
        trial = _Trial(self._world, self._quotas, job, allowed, admits)
        capacity = self._world.capacity
        try:
            if self._settings.victim_order == "smallest-sufficient":
                short = 0 if capacity.exclusive else job.cores - capacity.idle(allowed)
                for cores, run in pool.by_size:
                    if trial.blocked_by_head > _SINGLES_BESIDE_HEAD:
                        break
                    if cores >= short and self._may_take(run, job) and trial.could_help(run) and trial.remove(run):
                        if trial.works():
                            return trial.found(pool.open_to)
                        trial.put_back(run)
            look_at = 1
            for run in pool.open_to:
                if self._may_take(run, job) and trial.remove(run) and len(trial.victims) >= look_at:
                    if trial.works():
                        trial.drop_the_unneeded()
                        return trial.found(pool.open_to)
                    look_at = len(trial.victims) * 2 if trial.blocked_by_head else 1
            if trial.blocked_by_head and trial.works():
                trial.drop_the_unneeded()
                return trial.found(pool.open_to)
            if trial.blocked_by_head:
                return _DELAYS_HEAD
        finally:
            trial.undo()
        return self._too_few(pool, job.user, usable)

    def _may_take(self, run: Run, job: Job) -> bool:
        return run.job.user != job.user and run.id not in self._picked and run.id in self._world.runs


class _Trial:
    """Runs taken out of the world one by one, to see whether the job fits; all put back at the end."""

    def __init__(self, world: World, quotas: Quotas, job: Job, allowed: int, admits: Admits) -> None:
        self._world = world
        self._quotas = quotas
        self._job = job
        self._allowed = allowed
        self._admits = admits
        self._placement: Placement | None = None
        self.victims: list[Victim] = []
        self.blocked_by_head = 0

    def could_help(self, run: Run) -> bool:
        """Whether the run holds cores on a vnode that would then hold a piece of the job; no if certainly not."""
        capacity = self._world.capacity
        smallest = min(chunk.cores for chunk in self._job.request.chunks)
        for mask, amounts, chunks in run.placement.shares(capacity.directory):
            held = chunks * dict(amounts).get("ncpus", 0)
            if capacity.reaches(mask & self._allowed, smallest - held):
                return True
        return False

    def remove(self, run: Run) -> bool:
        """Take a run out, if its owner stays at or above quota without it."""
        standing = self._quotas.surplus(run.job)
        if standing is None:
            return False
        self._world.set_run(run.id, None)
        self.victims.append(Victim(run, standing))
        return True

    def put_back(self, run: Run) -> None:
        """Let a run be where it was."""
        self.victims = [victim for victim in self.victims if victim.run is not run]
        self._world.set_run(run.id, run)

    def works(self) -> bool:
        """Whether the job fits now and the reserved job keeps its start."""
        capacity = self._world.capacity
        if self._job.cores > capacity.idle(self._allowed):
            return False
        placement = fit(capacity, self._job.request, self._allowed)
        if placement is None:
            return False
        if not self._admits(placement, [victim.run for victim in self.victims]):
            self.blocked_by_head += 1
            return False
        self._placement = placement
        return True

    def drop_the_unneeded(self) -> None:
        """Put back whoever the job does not need: those elsewhere at once, the others least preferred first."""
        directory = self._world.capacity.directory
        used = 0
        for share in self._placement.shares(directory) if self._placement else ():
            used |= share.mask
        elsewhere = [
            victim
            for victim in self.victims
            if not any(share.mask & used for share in victim.run.placement.shares(directory))
        ]
        for victim in elsewhere:
            self.put_back(victim.run)
        if elsewhere and not self.works():
            for victim in elsewhere:
                self._world.set_run(victim.run.id, None)
            self.victims += elsewhere
        for victim in self.victims[::-1]:
            self.put_back(victim.run)
            if not self.works():
                self._world.set_run(victim.run.id, None)
                self.victims.append(victim)

    def found(self, order: Sequence[Run]) -> Found:
        """What works now, with the victims in the order of the walk and how each one's entry stood at its turn."""
        chosen = {victim.run.id for victim in self.victims}
        self.undo()
        for run in order:
            if run.id in chosen:
                self.remove(run)
        self.works()
        assert self._placement is not None  # noqa: S101 - only called where it works
        return Found(self._placement, tuple(self.victims))

    def undo(self) -> None:
        """Leave the world as it was."""
        for victim in self.victims:
            self._world.set_run(victim.run.id, victim.run)
        self.victims = []
