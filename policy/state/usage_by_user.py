"""What runs use, by user, group and project: the amounts that they requested, and the amounts that they occupy.

PBS's hard limits count requested amounts, soft quotas occupied ones: a job that has a vnode alone occupies all of it
(docs/policies.md, P1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from policy.model.limit_attributes import ALL, EntityKey
from policy.model.vnode_bitsets import count_vnodes, indices_of

if TYPE_CHECKING:
    from policy.model.allocation import Allocation
    from policy.model.job_request import Request
    from policy.model.jobs_runs_vnodes_queues import Job, Queue, Run, Server, Vnode
    from policy.state.vnodes_by_idle_cores import Capacity

Scope = tuple[str, str]
"""A queue, or "" for the whole cluster; and a resource, or "" for the number of running jobs."""

_Counts = dict[Scope, dict[EntityKey, int]]


class CountedCluster(Protocol):
    """What the counts read of a cluster index, which imports this module."""

    @property
    def runs(self) -> Mapping[str, Run]:
        """By id."""

    @property
    def queues(self) -> Mapping[str, Queue]:
        """By name."""

    @property
    def vnodes(self) -> Mapping[str, Vnode]:
        """By name."""

    @property
    def server(self) -> Server:
        """Its limits, and the reservations of users."""

    @property
    def capacity(self) -> Capacity:
        """What is free."""


class Usage:
    """The counts over one cluster index. Methods get the index as an argument: a reference to it here would be a cycle,
    and keep it in memory until a garbage collection.

    ``by_limits`` is what :mod:`policy.eligibility.soft_quotas` derives from limits, quotas and priorities alone; it is
    dropped with the counts when these change. ``changes`` grows with each event that may change a count.
    """

    __slots__ = (
        "_has_alone",
        "_occupied",
        "_occupied_scopes",
        "_of_server",
        "_requested",
        "_requested_scopes",
        "_scopes",
        "by_limits",
        "changes",
    )

    def __init__(self) -> None:
        self._scopes: list[Scope] = []
        self._requested: _Counts | None = None
        self._requested_scopes: dict[str, list[Scope]] = {}
        self._occupied: _Counts | None = None
        self._occupied_scopes: dict[str, list[Scope]] = {}
        self._has_alone = False
        self._of_server: dict[str, int] | None = None
        self.by_limits: dict[object, Any] = {}
        self.changes = 0

    def requested(self, cluster: CountedCluster, scope: Scope) -> dict[EntityKey, int]:
        """What runs requested, by entity, in a scope that a hard limit counts."""
        if self._requested is None:
            self._requested = {}
            for run in cluster.runs.values():
                self._count_requested(cluster, self._requested, run, 1)
        return self._requested.setdefault(scope, {})

    def of_server(self, cluster: CountedCluster) -> Mapping[str, int]:
        """What runs requested of each of the server's consumables."""
        if self._of_server is None:
            self._of_server = {}
            for run in cluster.runs.values():
                _count_of_server(cluster, self._of_server, run, 1)
        return self._of_server

    def occupied(self, cluster: CountedCluster, scope: Scope) -> dict[EntityKey, int]:
        """What runs occupy, by entity; the sum of all is under ``("o", "PBS_ALL")``. Reservations of users are
        included."""
        known = self._occupied.get(scope) if self._occupied is not None else None
        if known is not None:
            return known
        if scope not in self._scopes:
            self._scopes.append(scope)
            self._occupied_scopes.clear()
            self._occupied = None
        if self._occupied is None:
            self._occupied, self._has_alone = {}, False
            for run in cluster.runs.values():
                self._count_occupied(cluster, self._occupied, run, 1)
            for user, group, queue, amounts in cluster.server.user_reservations:
                for resource, amount in amounts:
                    for scoped in {("", resource), (queue, resource)} & {*self._scopes}:
                        _add(self._occupied, scoped, (("u", user), ("g", group), ALL), amount)
        return self._occupied.setdefault(scope, {})

    def count(self, cluster: CountedCluster, run: Run, sign: int) -> None:
        """A run takes its resources (``sign`` 1) or gives them back (-1)."""
        self.changes += 1
        if self._requested is not None:
            self._count_requested(cluster, self._requested, run, sign)
        if self._of_server is not None:
            _count_of_server(cluster, self._of_server, run, sign)
        if self._occupied is not None:
            self._count_occupied(cluster, self._occupied, run, sign)

    def forget(self) -> None:
        """Drop the counts: limits or quotas have changed."""
        self.changes += 1
        self._requested = self._occupied = self._of_server = None
        self._requested_scopes.clear()
        self._occupied_scopes.clear()
        self.by_limits.clear()

    def vnode_changed(self, old: Vnode | None, new: Vnode | None) -> None:
        """A vnode was added, removed or changed: drop the counts that may depend on its amounts or its sharing."""
        self.changes += 1
        if self._has_alone or (old and old.sharing) != (new and new.sharing):
            self._occupied = None

    def occupied_amount(self, cluster: CountedCluster, allocation: Allocation, job: Job, resource: str) -> int:
        """What a job in this allocation occupies: what it requested, and the rest of the vnodes that it has alone; of
        cores at least one for each chunk."""
        counted = job.quota_amount(resource)
        capacity, request = cluster.capacity, job.request
        if not (request.exclusive or capacity.sharing.has_lone_vnodes):
            return counted
        directory = capacity.directory
        shares = allocation.shares(directory)
        vnodes = 0
        for share in shares:
            vnodes |= share.mask
        alone = capacity.sharing.held_alone(vnodes, request)
        if not alone:
            return counted
        self._has_alone = True
        there, names = cluster.vnodes, directory.names
        whole = sum(there[names[index]].available.get(resource, 0) for index in indices_of(alone))
        of_these = sum(
            amount * share.chunks * count_vnodes(share.mask & alone)
            for share in shares
            for name, amount in share.amounts
            if name == resource
        )
        return max(counted, job.amount(resource) + max(0, whole - of_these))

    def keeps_alike(self, cluster: CountedCluster, vnodes: int, request: Request, resource: str) -> bool:
        """Whether such a job keeps the same amount of a resource wherever on these vnodes it runs.

        It does where it has none of them to itself, or where it has each to itself and each (with its host, where that
        goes along) brings the same amount.
        """
        capacity = cluster.capacity
        inventory, vnodes = capacity.inventory, vnodes & capacity.usable
        held = capacity.sharing.held_alone(vnodes, request)
        if not held or vnodes & ~held:
            return not held
        amounts = {dict(kind).get(resource, 0) for kind, mask in inventory.kinds() if mask & vnodes}
        if inventory.one_vnode_per_host or not (request.sharing == "exclhost" or capacity.sharing.gives_hosts):
            return len(amounts) < 2
        # Where a whole host may go along, the vnodes have to have equal amounts, and so have the hosts.
        sums = zip(inventory.host_sums(inventory.everywhere, resource), inventory.hosts())
        return len(amounts) < 2 and len({amount for amount, host in sums if host & vnodes}) < 2

    def _count_requested(self, cluster: CountedCluster, counts: _Counts, run: Run, sign: int) -> None:
        job = run.job
        scopes = self._requested_scopes.get(job.queue)
        if scopes is None:
            queue = cluster.queues.get(job.queue)
            scopes = [("", resource) for resource in cluster.server.hard.by_resource()]
            scopes += [(job.queue, resource) for resource in (queue.hard.by_resource() if queue is not None else ())]
            self._requested_scopes[job.queue] = scopes
        for scope in scopes:
            _add(counts, scope, _entities(job), sign * (job.amount(scope[1]) if scope[1] else 1))

    def _count_occupied(self, cluster: CountedCluster, counts: _Counts, run: Run, sign: int) -> None:
        job = run.job
        scopes = self._occupied_scopes.get(job.queue)
        if scopes is None:
            scopes = self._occupied_scopes[job.queue] = [scope for scope in self._scopes if scope[0] in ("", job.queue)]
        for scope in scopes:
            amount = self.occupied_amount(cluster, run.allocation, job, scope[1])
            _add(counts, scope, _entities(job), sign * amount)


def _count_of_server(cluster: CountedCluster, counts: dict[str, int], run: Run, sign: int) -> None:
    for resource, amount in (*run.job.request.totals, *run.job.job_wide):
        if resource in cluster.server.shared:
            counts[resource] = counts.get(resource, 0) + sign * amount


def _entities(job: Job) -> tuple[EntityKey, ...]:
    """The entities whose entries could count the job."""
    return (("u", job.user), ("g", job.group), ("p", job.project), ALL)


def _add(counts: _Counts, scope: Scope, entities: tuple[EntityKey, ...], amount: int) -> None:
    """Add an amount to the entities' counts."""
    if amount:
        of_scope = counts.setdefault(scope, {})
        for entity in entities:
            left = of_scope.get(entity, 0) + amount
            if left:
                of_scope[entity] = left
            else:
                del of_scope[entity]
