"""What the rules A and B would offer of many runs, in sums (docs/policies.md, P1 and P2).

Runs of one owner that need equally much and started in one class are offered together or not at all, so groups of them
are asked, and asked again only where the use of an entry that counts them has changed since. The sums are those of
asking run by run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policy.classes import BASE, Classes
from policy.cluster import Job, Run
from policy.limits import EntityKey
from policy.placement import Placement
from policy.quotas import Owner, Quotas


class Rights(NamedTuple):
    """By which rules a job may preempt: within quota (A); above the base class (B, its class, else BASE)."""

    by_quota: bool
    above: int


class Offered(NamedTuple):
    """So many runs, and the cores that they hold."""

    runs: int
    cores: int


class _Group:
    """Runs that are offered together. ``job`` and ``where`` stand for those of all of them."""

    __slots__ = ("cores", "job", "over", "rank", "starts", "where")

    def __init__(self, run: Run, rank: int) -> None:
        self.job: Job = run.job
        self.where: Placement = run.placement
        self.rank = rank
        self.over = False
        self.cores = 0
        self.starts: list[float] = []


class Offers:
    """The sums over some runs, each given with the cores it holds. A run is in them until it is counted out."""

    def __init__(self, runs: Iterable[tuple[Run, int]], quotas: Quotas, classes: Classes | None) -> None:
        self._quotas = quotas
        self._cores: dict[str, tuple[_Group, int]] = {}
        groups: dict[tuple[Owner, tuple[tuple[str, int], ...], int], _Group] = {}
        for run, cores in runs:
            rank = BASE if classes is None else classes.of_run(run)
            key = (quotas.owner(run.job, run.placement), tuple(quotas.needs(run.job, run.placement).items()), rank)
            group = groups.get(key)
            if group is None:
                group = groups[key] = _Group(run, rank)
            group.cores += cores
            group.starts.append(run.start_s)
            self._cores[run.id] = (group, cores)
        self._groups = list(groups.values())
        self._of_entity: dict[tuple[str, str, EntityKey], list[_Group]] = defaultdict(list)
        for group in self._groups:
            for scope, resource, entity, _ in quotas.bounds(group.job, group.where):
                self._of_entity[scope, resource, entity].append(group)
        self._used: dict[tuple[str, str, EntityKey], int] = {}
        self._booked: Mapping[object, object] = {}
        # Runs and cores by class; the same of those whom rule A offers, by user and class.
        self._of_class: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        self._over: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        self._over_of: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
        for group in self._groups:
            _add(self._of_class[group.rank], len(group.starts), group.cores)

    def count_out(self, run: Run) -> None:
        """The run is nobody's victim any more."""
        group, cores = self._cores.pop(run.id, (None, 0))
        if group is not None:
            group.cores -= cores
            group.starts.remove(run.start_s)
            _add(self._of_class[group.rank], -1, -cores)
            if group.over:
                self._add_over(group, -1, -cores)

    def to(self, user: str, rights: Rights) -> Offered:
        """What is offered to a job of this user with these rights."""
        if rights.by_quota:
            self._look_again()
        runs = cores = 0
        for rank, (of_rank, cores_of_rank) in self._of_class.items():
            if _is_lower(rank, rights):
                runs, cores = runs + of_rank, cores + cores_of_rank
            elif rights.by_quota:
                over, own = self._over[rank], self._over_of[user, rank]
                runs, cores = runs + over[0] - own[0], cores + over[1] - own[1]
        return Offered(runs, cores)

    def first_start_s(self, user: str, rights: Rights) -> float:
        """When the first of those started of whom :meth:`to` told last; there is one."""
        return min(
            min(group.starts)
            for group in self._groups
            if group.starts
            and (_is_lower(group.rank, rights) or (rights.by_quota and group.over and group.job.user != user))
        )

    def _look_again(self) -> None:
        """Ask those groups again of which an entry's use has changed."""
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
            over = quotas.surplus(group.job, group.where) is not None
            if over is not group.over:
                sign = 1 if over else -1
                group.over = over
                self._add_over(group, sign * len(group.starts), sign * group.cores)

    def _add_over(self, group: _Group, runs: int, cores: int) -> None:
        _add(self._over[group.rank], runs, cores)
        _add(self._over_of[group.job.user, group.rank], runs, cores)


def _is_lower(rank: int, rights: Rights) -> bool:
    """Whether rule B offers a run of this class."""
    return rights.above != BASE and rank < rights.above


def _add(sums: list[int], runs: int, cores: int) -> None:
    sums[0] += runs
    sums[1] += cores
