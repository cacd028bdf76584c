"""P1: whom to preempt for a job within quota (docs/policies.md, P1).

The walk takes runs of other users who are over quota, in the configured order, one by one until the job fits; if the
walk ends short nobody is preempted, and whoever turns out not to be needed is dropped again. A reserved job must not
start later for it.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from policy.cluster import Job, Run
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
    victims: Tuple[Victim, ...]


class _Pool(NamedTuple):
    """Possible victims for one user's jobs on some vnodes, in the configured order."""

    open_to: List[Run]
    open_cores: int
    exempt: List[Run]
    exempt_cores: int


Admits = Callable[[Placement, Sequence[Run]], bool]
"""Whether the reserved job keeps its start if the job runs there and these runs are gone."""


class Preemption:
    """The search for victims in one pass. Tries things in the world and leaves it as it was."""

    def __init__(self, world: World, ledger: Ledger, quotas: Quotas, settings: QuotaSettings, now_s: float) -> None:
        self._world = world
        self._ledger = ledger
        self._quotas = quotas
        self._settings = settings
        self._now_s = now_s
        self._picked: Set[str] = set()
        self._candidates: Optional[List[Run]] = None
        self._pools: Dict[Tuple[int, str], _Pool] = {}
        self._failed: Dict[Tuple[int, str, object], Reason] = {}

    def refuse(self, job: Job) -> Optional[Reason]:
        """Why the job preempts nobody whoever runs: no quota, over quota, or not yet."""
        if not self._quotas.bounds(job):
            return Reason("no-quota", (("user", job.user), ("queue", job.queue)))
        over = self._quotas.exceeded_by(job)
        if over is not None:
            numbers = (("entity", show_entity(over.entity)), ("used", over.used), ("limit", over.limit))
            return Reason("over-quota", (*numbers, ("queue", job.queue)))
        settings = self._settings
        if not (job.urgent or job.priority >= settings.urgent_priority):
            at_s = job.submit_s + settings.delay_s + settings.delay_per_core_s * job.cores
            if at_s > self._now_s:
                return Reason("preempt-delay", (("at_s", at_s),))
        return None

    def find(self, job: Job, allowed: int, admits: Admits) -> Union[Found, Reason]:
        """Victims for a job that may preempt, or why there are none."""
        shape = (allowed, job.user, job.request)
        if shape in self._failed:
            return self._failed[shape]
        pool = self._pool(allowed, job.user)
        idle = self._world.capacity.idle(allowed)
        if pool.open_cores + idle < job.cores:
            reason = self._too_few(pool, idle)
            self._failed[shape] = reason
            return reason
        found = self._search(job, allowed, pool.open_to, admits)
        if isinstance(found, Reason) and found.code == "no-victims":
            self._failed[shape] = found
        return found

    def take(self, found: Found) -> None:
        """The victims are chosen: they are nobody's victims any more, and their owners hold less."""
        self._pools.clear()
        for victim in found.victims:
            self._picked.add(victim.run.id)
            self._quotas.shift(victim.run.job, -1)

    def count_out(self, run: Run) -> None:
        """A run that an earlier pass has chosen already."""
        self._picked.add(run.id)
        self._quotas.shift(run.job, -1)

    def _all_candidates(self) -> List[Run]:
        """The runs that may be preempted at all by what they are, in the configured order."""
        if self._candidates is None:
            cap = self._settings.max_preemptions
            counts = self._ledger.preemptions
            self._candidates = sorted(
                (
                    run
                    for run in self._world.runs.values()
                    if run.job.rerunable
                    and not run.exiting
                    and counts.get(run.job.id, 0) < cap
                    and self._quotas.bounds(run.job)
                ),
                key=self._order,
            )
        return self._candidates

    def _order(self, run: Run) -> Tuple[float, float, str]:
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

    def _pool(self, allowed: int, user: str) -> _Pool:
        """The runs of others on these vnodes that are over quota now, and those of them that are not exempt."""
        pool = self._pools.get((allowed, user))
        if pool is None:
            directory = self._world.capacity.directory
            candidates = [
                run
                for run in self._all_candidates()
                if run.job.user != user
                and run.id not in self._picked
                and any(share.mask & allowed for share in run.placement.shares(directory))
                and self._quotas.surplus(run.job) is not None
            ]
            open_to = [run for run in candidates if self._exempt_until(run) <= self._now_s]
            exempt = [run for run in candidates if self._exempt_until(run) > self._now_s]
            pool = _Pool(open_to, self._cores(open_to, allowed), exempt, self._cores(exempt, allowed))
            self._pools[allowed, user] = pool
        return pool

    def _cores(self, runs: List[Run], allowed: int) -> int:
        directory = self._world.capacity.directory
        return sum(run.placement.cores_on(allowed, directory) for run in runs)

    def _too_few(self, pool: _Pool, idle: int) -> Reason:
        if pool.exempt:
            at_s = min(map(self._exempt_until, pool.exempt))
            return Reason("exempt-victims", (("exempt", pool.exempt_cores), ("at_s", at_s)))
        return Reason("no-victims", (("preemptible", pool.open_cores), ("idle", idle)))

    def _search(self, job: Job, allowed: int, open_to: List[Run], admits: Admits) -> Union[Found, Reason]:
        trial = _Trial(self._world, self._quotas, job, allowed, admits)
        try:
            if self._settings.victim_order == "smallest-sufficient":
                for run in sorted(open_to, key=lambda run: (run.job.cores, *self._order(run))):
                    if trial.enough_with(run) and trial.remove(run):
                        if trial.works():
                            return trial.found()
                        trial.put_back(run)
            for run in open_to:
                if trial.remove(run) and trial.works():
                    trial.drop_the_unneeded()
                    return trial.found()
            if trial.blocked_by_head:
                return Reason("preempt-delays-head", (("head", "the job first in line"),))
            cores = sum(victim.run.job.cores for victim in trial.victims)
            return Reason("no-victims", (("preemptible", cores), ("idle", self._world.capacity.idle(allowed) - cores)))
        finally:
            trial.undo()


class _Trial:
    """Runs taken out of the world one by one, to see whether the job fits; all put back at the end."""

    def __init__(self, world: World, quotas: Quotas, job: Job, allowed: int, admits: Admits) -> None:
        self._world = world
        self._quotas = quotas
        self._job = job
        self._allowed = allowed
        self._admits = admits
        self._placement: Optional[Placement] = None
        self.victims: List[Victim] = []
        self.blocked_by_head = False

    def enough_with(self, run: Run) -> bool:
        """Whether this run alone could free enough cores, by count."""
        capacity = self._world.capacity
        freed = run.placement.cores_on(self._allowed, capacity.directory)
        return capacity.idle(self._allowed) + freed >= self._job.cores

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
        placement = fit(self._world.capacity, self._job.request, self._allowed)
        if placement is None:
            return False
        if not self._admits(placement, [victim.run for victim in self.victims]):
            self.blocked_by_head = True
            return False
        self._placement = placement
        return True

    def drop_the_unneeded(self) -> None:
        """Put back, least preferred first, whoever the job does not need."""
        for victim in self.victims[-2::-1]:
            self.put_back(victim.run)
            if not self.works():
                self._world.set_run(victim.run.id, None)
                self.victims.append(victim)

    def found(self) -> Found:
        """What works now."""
        self.works()
        assert self._placement is not None  # noqa: S101 - only called where it works
        return Found(self._placement, tuple(self.victims))

    def undo(self) -> None:
        """Leave the world as it was."""
        for victim in self.victims:
            self._world.set_run(victim.run.id, victim.run)
        self.victims = []
