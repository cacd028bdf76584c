"""Sums over the runs that rules A and B offer as victims (docs/policies.md, P1 and P2).

Runs of one owner with equal needs and the same class at start are offered together or not at all, so each such group is
tested once, and again only when the use of an entry that counts it changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.soft_quotas import Owner, Quotas
from policy.model.jobs_runs_vnodes_queues import Run
from policy.model.limit_attributes import EntityKey
from policy.model.priority_class import BASE, is_express


class PreemptionRights(NamedTuple):
    """The rules by which a job may preempt: A if it is within quota, B above the base class (``above``, else BASE).

    ``rank`` is the job's class, whether or not rule B is on. ``queue`` is the queue whose runs have comparable classes;
    None if those of all queues have. The class of an express queue compares with that of every queue.
    """

    by_quota: bool
    above: int
    rank: int = BASE
    queue: str | None = None

    def by_class(self, rank: int, queue: str) -> bool:
        """Whether rule B offers a run of this class and queue."""
        return self.above != BASE and rank < self.above and (self.queue is None or self.queue == queue)

    def may_take(self, rank: int, queue: str) -> bool:
        """Whether rule A may offer a run of this class and queue: not one of a class above the job's own."""
        comparable = self.queue is None or self.queue == queue or is_express(rank)
        return self.by_quota and (rank <= self.rank or not comparable)


class PreemptibleAmount(NamedTuple):
    """A number of runs, and the cores that they hold."""

    runs: int
    cores: int


class _Group:
    """Runs that are offered together. ``run`` represents them, ``rank`` is the class that protects them."""

    __slots__ = ("cores", "over", "rank", "run", "runs")

    def __init__(self, run: Run, rank: int) -> None:
        self.run = run
        self.rank = rank
        self.over = False
        self.cores = 0
        self.runs = 0


class PreemptibleSums:
    """Sums over runs, each given with the cores it holds. A run counts until :meth:`count_out`."""

    def __init__(self, runs: Iterable[tuple[Run, int]], quotas: Quotas, classes: Classes | None) -> None:
        self._quotas = quotas
        self._classes = classes
        self._cores: dict[str, tuple[_Group, int]] = {}
        groups: dict[tuple[Owner, tuple[tuple[str, int], ...], int], _Group] = {}
        for run, cores in runs:
            counted = quotas.counted_as(run.job, run.allocation)
            rank = BASE if classes is None else classes.of_run(run)
            key = (counted.owner, tuple(counted.needs.items()), rank)
            group = groups.get(key)
            if group is None:
                group = groups[key] = _Group(run, self._rank(run))
            group.cores += cores
            group.runs += 1
            self._cores[run.id] = (group, cores)
        self._groups = list(groups.values())
        self._of_entity: dict[tuple[str, str, EntityKey], list[_Group]] = defaultdict(list)
        for group in self._groups:
            for scope, resource, entity, _ in quotas.bounds(group.run.job, group.run.allocation):
                self._of_entity[scope, resource, entity].append(group)
        self._used: dict[tuple[str, str, EntityKey], int] = {}
        self._booked: Mapping[object, object] = {}
        # Runs and cores by queue and class; then the same of runs that rule A offers; then also by user.
        self._of_class: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
        self._over: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
        self._over_of: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
        for group in self._groups:
            self._count(group, 1)

    def count_out(self, run: Run) -> None:
        """Take the run out of the sums: it is no possible victim any more."""
        group, cores = self._cores.pop(run.id, (None, 0))
        if group is not None:
            self._count(group, -1)
            group.cores -= cores
            group.runs -= 1
            self._count(group, 1)

    def to(self, user: str, rights: PreemptionRights) -> PreemptibleAmount:
        """What is offered to a job of this user with these rights."""
        self._look_again()
        runs = cores = 0
        for (queue, rank), (of_rank, cores_of_rank) in self._of_class.items():
            if rights.by_class(rank, queue):
                runs, cores = runs + of_rank, cores + cores_of_rank
            elif rights.may_take(rank, queue):
                over, own = self._over[queue, rank], self._over_of[user, queue, rank]
                runs, cores = runs + over[0] - own[0], cores + over[1] - own[1]
        return PreemptibleAmount(runs, cores)

    def _look_again(self) -> None:
        """Test again the groups for which the use of an entry has changed."""
        quotas = self._quotas
        if quotas.is_booked_like(self._booked):
            return
        self._booked = quotas.booked()
        changed: dict[int, _Group] = {}
        for (scope, resource, entity), groups in self._of_entity.items():
            used = quotas.used(scope, entity, resource)
            if self._used.get((scope, resource, entity)) != used:
                self._used[scope, resource, entity] = used
                changed.update((id(group), group) for group in groups)
        for group in changed.values():
            self._count(group, -1)
            group.over = quotas.surplus(group.run.job, group.run.allocation) is not None
            group.rank = self._rank(group.run)
            self._count(group, 1)

    def _rank(self, run: Run) -> int:
        return BASE if self._classes is None else self._classes.of_victim(run)

    def _count(self, group: _Group, sign: int) -> None:
        """Add a group to the sums (1), or subtract it (-1)."""
        runs, cores, queue = sign * group.runs, sign * group.cores, group.run.job.queue
        _add(self._of_class[queue, group.rank], runs, cores)
        if group.over:
            _add(self._over[queue, group.rank], runs, cores)
            _add(self._over_of[group.run.job.user, queue, group.rank], runs, cores)


def _add(sums: list[int], runs: int, cores: int) -> None:
    sums[0] += runs
    sums[1] += cores
