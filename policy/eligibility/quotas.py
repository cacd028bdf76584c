"""P1's arithmetic: who is within quota, who is over, and what may be taken from whom (docs/policies.md, P1).

Entries stand on a job's queue and on the server, for cores and for other resources. An entry counts the jobs that take
some of its resource, and every entry that counts a job binds: the user's own (or the generic one), the group's, the
project's. A job is within quota if all of them are after it starts.

A run may be taken if one of these is over and stays at or above its limit without it. What protects a user, a group or
a project is the entry that it exceeds most: without the run some entry of the user's own is still at or above its
limit, and where some entry of the group or the project was, some entry of it still is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Union

from policy.eligibility.quota_headroom import Lefts
from policy.fit.fit import fit
from policy.model.allocation import Placement
from policy.model.cluster import Job
from policy.model.limits import EntityKey, Limits, show_entity
from policy.model.request import Request
from policy.reasons.reason import Number
from policy.state.cluster_index import World

Owner = tuple[str, str, str, str, tuple[str, ...]]
"""Whose entries count a job: queue, user, group and project, the latter two empty where no entry asks for them; and the
resources with entries that it takes some of."""

Needs = Mapping[str, int]
"""How much a job keeps of each resource that has entries; what it takes nothing of is left out."""

_PLENTY = 1 << 60


class QuotaTable(NamedTuple):
    """The soft quotas of one queue, or of the whole cluster where ``scope`` is "", on one resource."""

    scope: str
    resource: str
    limits: Limits


class QuotaEntry(NamedTuple):
    """One entry as it counts a job."""

    scope: str
    resource: str
    entity: EntityKey
    limit: int


class _Counted(NamedTuple):
    """How entries count a job: whose they are, what it keeps of their resources, and the entries themselves."""

    owner: Owner
    needs: Needs
    bounds: tuple[QuotaEntry, ...]


_Kind = tuple[Union[Request, int], str, str, str, str]
"""The request (its cores where only these count), the user, the queue, the group and the project of a job: all that its
entries depend on."""

_MOST_KEPT = 1 << 16
"""Of so many kinds of jobs it is known how entries count them."""


class _ByLimits:
    """What follows from limits, quotas and priorities alone: pass after pass finds it here until one of these changes.

    ``of_shared`` is how entries count jobs that share their vnodes; what the others keep depends on the vnodes.
    ``only_cores`` tells that no entry counts anything else.
    """

    __slots__ = ("bounds", "of_shared", "only_cores", "resources", "tables", "wide")

    def __init__(self, *, only_cores: bool) -> None:
        self.only_cores = only_cores
        self.bounds: dict[Owner, tuple[QuotaEntry, ...]] = {}
        self.tables: dict[str, tuple[QuotaTable, ...]] = {}
        self.resources: dict[str, tuple[str, ...]] = {}
        self.wide: dict[str, tuple[bool, bool]] = {}
        self.of_shared: dict[_Kind, _Counted] = {}


class Standing(NamedTuple):
    """An entry that decides: whose, its limit, what is used of it, of which resource, and in which queue ("" for the
    whole cluster)."""

    entity: EntityKey
    limit: int
    used: int
    resource: str = "ncpus"
    scope: str = ""


class Quotas:
    """Use beside quota in one pass. ``shift`` books what the pass has decided but the runs do not show yet.

    Where ``counted`` names resources, only entries for these count. ``where`` is where a job runs, or is to run: one
    that keeps vnodes to itself is counted by what these have.
    """

    def __init__(self, world: World, counted: Sequence[str] = ()) -> None:
        self._world = world
        self._counted = counted
        self._shifts: dict[tuple[str, str, EntityKey], int] = {}
        kept = world.usage.by_limits
        key = tuple(counted)
        by_limits: _ByLimits | None = kept.get(key)
        if by_limits is None:
            by_limits = kept[key] = _ByLimits(only_cores=self._has_only_cores())
        self._bounds, self._tables = by_limits.bounds, by_limits.tables
        self._resources, self._wide = by_limits.resources, by_limits.wide
        self._of_shared, self._only_cores = by_limits.of_shared, by_limits.only_cores
        self._of_alone: dict[_Kind, _Counted] = {}
        self._lone = world.capacity.sharing.has_lone_vnodes
        self._bookings = 0
        self._lefts: dict[str, Lefts] = {}
        self._lefts_at = -1

    def tables(self, queue: str) -> tuple[QuotaTable, ...]:
        """What binds the jobs of a queue: its own quotas, then those of the server; cores first."""
        tables = self._tables.get(queue)
        if tables is None:
            there = self._world.queues.get(queue)
            of_queue = there.quotas_by_resource() if there is not None else {}
            tables = tuple(
                QuotaTable(scope, resource, limits[resource])
                for scope, limits in ((queue, of_queue), ("", self._world.server.quotas))
                for resource in sorted(limits, key=lambda name: (name != "ncpus", name))
                if limits[resource] and (not self._counted or resource in self._counted)
            )
            self._tables[queue] = tables
            self._resources[queue] = tuple(dict.fromkeys(table.resource for table in tables))
        return tables

    def needs(self, job: Job, where: Placement | None = None) -> Needs:
        """What the job keeps of each resource with entries. Without a ``where``, one that is to have vnodes to itself
        counts those that it would have if all were idle."""
        return self._counted_as(job, where).needs

    def owner(self, job: Job, where: Placement | None = None) -> Owner:
        """Whose entries count the job: jobs of one owner differ in what they need only."""
        return self._counted_as(job, where).owner

    def bounds(self, job: Job, where: Placement | None = None) -> tuple[QuotaEntry, ...]:
        """The entries that count the job: all of the user's, then of the group's, the project's and of all."""
        return self._counted_as(job, where).bounds

    def _counted_as(self, job: Job, where: Placement | None) -> _Counted:
        """How entries count the job: looked up where its request and its owner tell it."""
        request = job.request
        alone = self._lone or request.exclusive
        if job.job_wide or (alone and where is not None):
            return self._count(job, self._needs(job, where, alone=alone))
        asked = request.cores if self._only_cores and not alone else request
        key = (asked, job.user, job.queue, job.group, job.project)
        kept = self._of_alone if alone else self._of_shared
        known = kept.get(key)
        if known is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            known = kept[key] = self._count(job, self._needs(job, None, alone=alone))
        return known

    def _needs(self, job: Job, where: Placement | None, *, alone: bool) -> Needs:
        self.tables(job.queue)
        resources = self._resources[job.queue]
        needs = {resource: job.amount(resource) for resource in resources}
        if alone and resources:
            there = where or self._where_if_idle(job)
            if there is not None:
                kept = self._world.usage.kept_amount
                needs = {name: kept(self._world, there, job.request, needs[name], name) for name in resources}
        return {resource: need for resource, need in needs.items() if need}

    def _count(self, job: Job, needs: Needs) -> _Counted:
        queue = job.queue
        wide = self._wide.get(queue)
        if wide is None:
            wide = self._wide[queue] = self._wide_kinds(queue)
        by_group, by_project = wide
        owner = (queue, job.user, job.group if by_group else "", job.project if by_project else "", tuple(needs))
        bounds = self._bounds.get(owner)
        if bounds is None:
            found = [
                QuotaEntry(table.scope, table.resource, entity, limit)
                for table in self.tables(queue)
                if table.resource in needs
                for entity, limit in table.limits.bounds(job.user, job.group, job.project)
            ]
            found.sort(key=lambda entry: "ugpo".index(entry.entity[0]))
            bounds = self._bounds[owner] = tuple(found)
        return _Counted(owner, needs, bounds)

    def _where_if_idle(self, job: Job) -> Placement | None:
        return fit(self._world.idle_capacity, job.request, self._world.vnodes_of(job.queue))

    def lefts(self, queue: str) -> Lefts:
        """What everybody in the queue may still use now: the same as before, until something changes."""
        at = self._world.usage.changes + self._bookings
        if at != self._lefts_at:
            self._lefts_at = at
            self._lefts.clear()
        lefts = self._lefts.get(queue)
        if lefts is None:
            lefts = self._lefts[queue] = Lefts(self, queue, simple=not self._lone)
        return lefts

    def entries_of(self, job: Job, entity: EntityKey) -> tuple[QuotaEntry, ...]:
        """The entries of the job's user or group, of all resources, whatever the job takes."""
        return tuple(
            QuotaEntry(table.scope, table.resource, entity, bound.limit)
            for table in self.tables(job.queue)
            for bound in table.limits.bounds(job.user, job.group, job.project)
            if bound.entity == entity
        )

    def used(self, scope: str, entity: EntityKey, resource: str = "ncpus") -> int:
        """What an entity holds in a queue, or in the whole cluster where it is "", with what this pass has booked."""
        held = self._world.usage.kept(self._world, (scope, resource)).get(entity, 0)
        return held + self._shifts.get((scope, resource, entity), 0)

    def booked(self) -> Mapping[object, object]:
        """All that :meth:`used` depends on, as it is now, for :meth:`is_booked_like`."""
        return {"": dict(self._shifts), **{scope: dict(self._world.use_in(*scope)) for scope in self._scopes()}}

    def is_booked_like(self, before: Mapping[object, object]) -> bool:
        """Whether nothing of it has changed since."""
        return before.get("") == self._shifts and all(
            before.get(scope) == self._world.use_in(*scope) for scope in self._scopes()
        )

    def _has_only_cores(self) -> bool:
        """Whether all entries, of whatever queue, are for cores."""
        there = [self._world.server.quotas, *(queue.quotas_by_resource() for queue in self._world.queues.values())]
        return all(resource == "ncpus" for of_one in there for resource, limits in of_one.items() if limits)

    def _scopes(self) -> set[tuple[str, str]]:
        return {(table.scope, table.resource) for queue in self._world.queues for table in self.tables(queue)}

    def shift(self, job: Job, sign: int, where: Placement | None = None) -> None:
        """Book a job in (1) or out (-1)."""
        self._bookings += 1
        _, needs, bounds = self._counted_as(job, where)
        for scope, resource, entity, _ in bounds:
            key = (scope, resource, entity)
            left = self._shifts.get(key, 0) + sign * needs[resource]
            if left:
                self._shifts[key] = left
            else:
                del self._shifts[key]

    def exceeded_by(self, job: Job, where: Placement | None = None) -> Standing | None:
        """The first entry that the job would exceed if it started; None where it stays within all."""
        _, needs, bounds = self._counted_as(job, where)
        for scope, resource, entity, limit in bounds:
            used = self.used(scope, entity, resource)
            if used + needs[resource] > limit:
                return Standing(entity, limit, used, resource, scope)
        return None

    def is_over(self, job: Job) -> bool:
        """Whether some entry that counts the job is over its limit."""
        return any(self.used(scope, entity, resource) > limit for scope, resource, entity, limit in self.bounds(job))

    def spare(self, job: Job, where: Placement | None = None) -> int:
        """The most cores that may be taken now from whoever the job belongs to, by P1; negative where none may."""
        spares: dict[EntityKey, tuple[int, bool]] = {}
        for scope, resource, entity, limit in self.bounds(job, where):
            used = self.used(scope, entity, resource)
            above = used - limit if resource == "ncpus" or used <= limit else _PLENTY
            most, protected = spares.get(entity, (-_PLENTY, entity[0] == "u"))
            spares[entity] = (max(most, above), protected or used >= limit)
        return min((most for most, protected in spares.values() if protected), default=-1)

    def surplus(self, job: Job, where: Placement | None = None) -> Standing | None:
        """The entry by which a run of this job may be taken now; None where it may not."""
        _, needs, bounds = self._counted_as(job, where)
        for scope, resource, entity, limit in bounds:
            used = self.used(scope, entity, resource)
            if used - needs[resource] >= limit:
                over = Standing(entity, limit, used, resource, scope)
                return over if len(bounds) == 1 or self._none_falls_below(needs, bounds) else None
        return None

    def _none_falls_below(self, needs: Needs, bounds: Sequence[QuotaEntry]) -> bool:
        """Whether some entry of everybody who is protected stays at or above its limit with so much less used."""
        stays: set[EntityKey] = set()
        protected: set[EntityKey] = set()
        for scope, resource, entity, limit in bounds:
            used = self.used(scope, entity, resource)
            if used - needs[resource] >= limit:
                stays.add(entity)
            elif entity[0] == "u" or used >= limit:
                protected.add(entity)
        return protected <= stays

    def standing(self, job: Job) -> Standing:
        """How the first entry that counts the job stands; an entry-less job stands for its user, without a limit."""
        for scope, resource, entity, limit in self.bounds(job):
            return Standing(entity, limit, self.used(scope, entity, resource), resource, scope)
        return Standing(("u", job.user), 0, self.used(job.queue, ("u", job.user)), "ncpus", job.queue)

    def numbers_of(self, over: Standing, job: Job, where: Placement | None = None) -> tuple[tuple[str, Number], ...]:
        """The numbers of a reason that a job exceeds this entry; what it needs of it where its request does not tell,
        and that this ``varies`` where it depends on the vnodes that it has to itself."""
        numbers = (("entity", show_entity(over.entity)), ("used", over.used), ("counted", over.resource))
        need = self.needs(job, where)[over.resource]
        kept: tuple[tuple[str, Number], ...] = ()
        if self._lone or job.request.exclusive or need != job.request.amount(over.resource):
            kept = (("need", need),)
        if kept and self.varies(job, over.resource):
            kept = (*kept, ("varies", 1))
        return (*numbers, *kept, ("limit", over.limit), ("queue", over.scope))

    def varies(self, job: Job, resource: str) -> bool:
        """Whether it depends on where a job runs how much of a resource it keeps others from."""
        world = self._world
        return not world.usage.keeps_alike(world, world.vnodes_of(job.queue), job.request, resource)

    def _wide_kinds(self, queue: str) -> tuple[bool, bool]:
        """Whether some quota or priority that binds the queue is a group's, and whether some is a project's."""
        kinds: set[str] = set()
        for table in self.tables(queue):
            kinds |= table.limits.kinds
        there = self._world.queues.get(queue)
        if there is not None:
            kinds |= there.priorities.kinds
        return "g" in kinds, "p" in kinds
