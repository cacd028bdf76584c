"""What runs hold, by user, group and project: what they asked for, and what they keep others from.

PBS's hard limits count what jobs asked for. Soft quotas count what jobs keep: a job that has a vnode alone keeps all of
it (docs/policies.md, P1). Both are counted when they are first asked for and kept up to date run by run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from policy.model.bitsets import count_vnodes, indices_of
from policy.model.limits import ALL, EntityKey

if TYPE_CHECKING:
    from policy.model.allocation import Placement
    from policy.model.cluster import Job, Run, Vnode
    from policy.model.request import Request
    from policy.state.cluster_index import World

Scope = tuple[str, str]
"""A queue, or "" for the whole cluster; and a resource, or "" for the number of running jobs."""

_Counts = dict[Scope, dict[EntityKey, int]]


class Usage:
    """The counts of one world, which hands itself to them: counts that held it would keep it from going.

    ``by_limits`` is what else was worked out from limits, quotas and priorities alone, for
    :mod:`policy.eligibility.quotas`: it is forgotten with the counts when these change. ``changes`` grows with all that
    may change a count.
    """

    __slots__ = ("_asked", "_asked_scopes", "_has_alone", "_kept", "_kept_scopes", "_scopes", "by_limits", "changes")

    def __init__(self) -> None:
        self._scopes: list[Scope] = []
        self._asked: _Counts | None = None
        self._asked_scopes: dict[str, list[Scope]] = {}
        self._kept: _Counts | None = None
        self._kept_scopes: dict[str, list[Scope]] = {}
        self._has_alone = False
        self.by_limits: dict[object, Any] = {}
        self.changes = 0

    def asked(self, world: World, scope: Scope) -> dict[EntityKey, int]:
        """What runs asked for, by entity, where a hard limit counts it."""
        if self._asked is None:
            self._asked = {}
            for run in world.runs.values():
                self._count_asked(world, self._asked, run, 1)
        return self._asked.setdefault(scope, {})

    def kept(self, world: World, scope: Scope) -> dict[EntityKey, int]:
        """What runs keep others from, by entity; all of them under ``("o", "PBS_ALL")``."""
        known = self._kept.get(scope) if self._kept is not None else None
        if known is not None:
            return known
        if scope not in self._scopes:
            self._scopes.append(scope)
            self._kept_scopes.clear()
            self._kept = None
        if self._kept is None:
            self._kept, self._has_alone = {}, False
            for run in world.runs.values():
                self._count_kept(world, self._kept, run, 1)
            for user, group, queue, amounts in world.server.kept:
                for resource, amount in amounts:
                    for scoped in {("", resource), (queue, resource)} & {*self._scopes}:
                        _add(self._kept, scoped, (("u", user), ("g", group), ALL), amount)
        return self._kept.setdefault(scope, {})

    def count(self, world: World, run: Run, sign: int) -> None:
        """A run takes its resources (1) or gives them back (-1)."""
        self.changes += 1
        if self._asked is not None:
            self._count_asked(world, self._asked, run, sign)
        if self._kept is not None:
            self._count_kept(world, self._kept, run, sign)

    def forget(self) -> None:
        """Limits or quotas have changed."""
        self.changes += 1
        self._asked = self._kept = None
        self._asked_scopes.clear()
        self._kept_scopes.clear()
        self.by_limits.clear()

    def vnode_changed(self, old: Vnode | None, new: Vnode | None) -> None:
        """A vnode has other amounts, or gives itself to jobs in another way."""
        self.changes += 1
        if self._has_alone or (old and old.sharing) != (new and new.sharing):
            self._kept = None

    def kept_amount(self, world: World, placement: Placement, request: Request, asked: int, resource: str) -> int:
        """What a job so placed keeps others from: what it asked for, and all of the vnodes that it has alone."""
        capacity = world.capacity
        if not (request.exclusive or capacity.sharing.has_lone_vnodes):
            return asked
        directory = capacity.directory
        shares = placement.shares(directory)
        vnodes = 0
        for share in shares:
            vnodes |= share.mask
        alone = capacity.sharing.held_alone(vnodes, request)
        if not alone:
            return asked
        self._has_alone = True
        there, names = world.vnodes, directory.names
        whole = sum(there[names[index]].available.get(resource, 0) for index in indices_of(alone))
        of_these = sum(
            amount * share.chunks * count_vnodes(share.mask & alone)
            for share in shares
            for name, amount in share.amounts
            if name == resource
        )
        return asked + max(0, whole - of_these)

    def keeps_alike(self, world: World, vnodes: int, request: Request, resource: str) -> bool:
        """Whether such a job keeps others from as much of a resource on whichever of these vnodes it is: it has none of
        them to itself, or any, and what comes with each is the same."""
        capacity = world.capacity
        inventory, vnodes = capacity.inventory, vnodes & capacity.usable
        held = capacity.sharing.held_alone(vnodes, request)
        if not held or vnodes & ~held:
            return not held
        amounts = {dict(kind).get(resource, 0) for kind, mask in inventory.kinds() if mask & vnodes}
        if inventory.one_vnode_per_host or not (request.sharing == "exclhost" or capacity.sharing.gives_hosts):
            return len(amounts) < 2
        # Some hosts may go whole: alike are only those of which each vnode brings the same, and each host.
        sums = zip(inventory.host_sums(inventory.everywhere, resource), inventory.hosts())
        return len(amounts) < 2 and len({amount for amount, host in sums if host & vnodes}) < 2

    def _count_asked(self, world: World, counts: _Counts, run: Run, sign: int) -> None:
        job = run.job
        scopes = self._asked_scopes.get(job.queue)
        if scopes is None:
            queue = world.queues.get(job.queue)
            scopes = [("", resource) for resource in world.server.hard.by_resource()]
            scopes += [(job.queue, resource) for resource in (queue.hard.by_resource() if queue is not None else ())]
            self._asked_scopes[job.queue] = scopes
        for scope in scopes:
            _add(counts, scope, _entities(job), sign * (job.amount(scope[1]) if scope[1] else 1))

    def _count_kept(self, world: World, counts: _Counts, run: Run, sign: int) -> None:
        job = run.job
        scopes = self._kept_scopes.get(job.queue)
        if scopes is None:
            scopes = self._kept_scopes[job.queue] = [scope for scope in self._scopes if scope[0] in ("", job.queue)]
        for scope in scopes:
            amount = self.kept_amount(world, run.placement, job.request, job.amount(scope[1]), scope[1])
            _add(counts, scope, _entities(job), sign * amount)


def _entities(job: Job) -> tuple[EntityKey, ...]:
    """Everybody whose entry could count the job."""
    return (("u", job.user), ("g", job.group), ("p", job.project), ALL)


def _add(counts: _Counts, scope: Scope, entities: tuple[EntityKey, ...], amount: int) -> None:
    """Count an amount for these."""
    if amount:
        of_scope = counts.setdefault(scope, {})
        for entity in entities:
            left = of_scope.get(entity, 0) + amount
            if left:
                of_scope[entity] = left
            else:
                del of_scope[entity]
