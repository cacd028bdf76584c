"""P1's arithmetic: which jobs are within quota, which users are over, and which runs may be preempted
(docs/policies.md, P1).

All entries that count a job, on its queue and on the server, bind it: the user's own or the generic one, the group's,
the project's and that of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple, Union

from policy.eligibility.quota_headroom import NO_ENTRY, QuotaHeadroom
from policy.fit.best_fit import fit
from policy.model.allocation import Allocation
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.limit_attributes import EntityKey, Limits, show_entity
from policy.reasons.reason import unit_of
from policy.reasons.reason_names import Numbers
from policy.state.cluster_index import ClusterIndex

Owner = tuple[str, str, str, str, tuple[str, ...]]
"""Whose entries count a job: queue, user, group, project, and the resources with entries that the job takes some of.
Group and project are empty where no quota or priority of the queue is a group's or a project's."""

Needs = Mapping[str, int]
"""How much a job keeps of each resource that has entries, without those that it takes nothing of."""

_PLENTY = 1 << 60


class QuotaTable(NamedTuple):
    """The soft quotas on one resource: of a queue, or of the whole cluster where ``scope`` is ""."""

    scope: str
    resource: str
    limits: Limits


class QuotaEntry(NamedTuple):
    """One entry that counts a job."""

    scope: str
    resource: str
    entity: EntityKey
    limit: int


class Counted(NamedTuple):
    """How entries count a job: its owner, what it occupies of their resources, and the entries themselves. An entry
    counts the jobs that take some of its resource; each chunk counts as one core at least."""

    owner: Owner
    needs: Needs
    bounds: tuple[QuotaEntry, ...]


_Kind = tuple[Union[Request, int], str, str, str, str]
"""All that a job's entries depend on: the request (its cores where only these count), user, queue, group and
project."""

_MOST_KEPT = 1 << 16
"""Results are remembered for at most this many kinds of jobs."""


class _ByLimits:
    """What follows from limits, quotas and priorities alone. It is reused from pass to pass until one of these changes.

    ``of_shared`` has how entries count jobs that share their vnodes; what other jobs occupy depends on the vnodes.
    ``only_cores`` is true where all entries are for cores.
    """

    __slots__ = ("bounds", "of_shared", "only_cores", "resources", "tables", "wide")

    def __init__(self, *, only_cores: bool) -> None:
        self.only_cores = only_cores
        self.bounds: dict[Owner, tuple[QuotaEntry, ...]] = {}
        self.tables: dict[str, tuple[QuotaTable, ...]] = {}
        self.resources: dict[str, tuple[str, ...]] = {}
        self.wide: dict[str, tuple[bool, bool]] = {}
        self.of_shared: dict[_Kind, Counted] = {}


class Standing(NamedTuple):
    """An entry that decides: its entity, limit, use, resource and queue ("" for the whole cluster)."""

    entity: EntityKey
    limit: int
    used: int
    resource: str = "ncpus"
    scope: str = ""


def entry_numbers(over: Standing, kept: Numbers = ()) -> Numbers:
    """The numbers of the reason that a job exceeds this entry, with those of what it would ``keep``."""
    numbers: Numbers = (("entity", show_entity(over.entity)), ("used", over.used), ("counted", over.resource))
    return (*numbers, *kept, ("limit", over.limit), ("queue", over.scope))


class Quotas:
    """Use and soft quotas in one pass. ``shift`` books what the pass has decided and the runs do not show yet.

    Where ``counted`` names resources, only entries for these count. ``where``, in all methods, is the allocation that a
    job has or is to get: a job with vnodes to itself counts with all that these vnodes have.
    """

    def __init__(self, cluster: ClusterIndex, counted: Sequence[str] = ()) -> None:
        self._cluster = cluster
        self._counted = counted
        self._shifts: dict[tuple[str, str, EntityKey], int] = {}
        kept = cluster.usage.by_limits
        key = tuple(counted)
        by_limits: _ByLimits | None = kept.get(key)
        if by_limits is None:
            by_limits = kept[key] = _ByLimits(only_cores=self._has_only_cores())
        self._bounds, self._tables = by_limits.bounds, by_limits.tables
        self._resources, self._wide = by_limits.resources, by_limits.wide
        self._of_shared, self._only_cores = by_limits.of_shared, by_limits.only_cores
        self._of_alone: dict[_Kind, Counted] = {}
        self._lone = cluster.capacity.sharing.has_lone_vnodes
        self._bookings = 0
        self._headroom: dict[str, QuotaHeadroom] = {}
        self._headroom_at = -1

    def tables(self, queue: str) -> tuple[QuotaTable, ...]:
        """The quotas that bind the jobs of a queue: its own, then the server's; cores first."""
        tables = self._tables.get(queue)
        if tables is None:
            there = self._cluster.queues.get(queue)
            of_queue = there.quotas_by_resource() if there is not None else {}
            tables = tuple(
                QuotaTable(scope, resource, limits[resource])
                for scope, limits in ((queue, of_queue), ("", self._cluster.server.quotas))
                for resource in sorted(limits, key=lambda name: (name != "ncpus", name))
                if limits[resource] and (not self._counted or resource in self._counted)
            )
            self._tables[queue] = tables
            self._resources[queue] = tuple(dict.fromkeys(table.resource for table in tables))
        return tables

    def needs(self, job: Job, where: Allocation | None = None) -> Needs:
        """What the job occupies of each resource with entries. Without ``where``, a job that gets vnodes to itself
        counts with those that it would get if all were idle."""
        return self.counted_as(job, where).needs

    def owner(self, job: Job, where: Allocation | None = None) -> Owner:
        """Whose entries count the job: jobs with one owner differ only in how much they need."""
        return self.counted_as(job, where).owner

    def bounds(self, job: Job, where: Allocation | None = None) -> tuple[QuotaEntry, ...]:
        """The entries that count the job: the user's, then the group's, the project's and those of all."""
        return self.counted_as(job, where).bounds

    def counted_as(self, job: Job, where: Allocation | None = None) -> Counted:
        """How entries count the job; remembered where request and owner determine it."""
        request = job.request
        alone = self._lone or request.exclusive
        if job.job_wide or (alone and where is not None):
            return self._count(job, self._needs(job, where, alone=alone))
        asked = request.quota_cores if self._only_cores and not alone else request
        key = (asked, job.user, job.queue, job.group, job.project)
        kept = self._of_alone if alone else self._of_shared
        known = kept.get(key)
        if known is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            known = kept[key] = self._count(job, self._needs(job, None, alone=alone))
        return known

    def _needs(self, job: Job, where: Allocation | None, *, alone: bool) -> Needs:
        self.tables(job.queue)
        resources = self._resources[job.queue]
        needs = {resource: job.quota_amount(resource) for resource in resources}
        if alone and resources:
            there = where or self._where_if_idle(job)
            if there is not None:
                kept = self._cluster.usage.occupied_amount
                needs = {name: kept(self._cluster, there, job, name) for name in resources}
        return {resource: need for resource, need in needs.items() if need}

    def _count(self, job: Job, needs: Needs) -> Counted:
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
        return Counted(owner, needs, bounds)

    def _where_if_idle(self, job: Job) -> Allocation | None:
        return fit(self._cluster.idle_capacity, job.request, self._cluster.vnodes_of(job.queue))

    @property
    def changes(self) -> int:
        """A number that is another one whenever the use of some quota may have changed."""
        return self._cluster.usage.changes + self._bookings

    def headroom(self, queue: str) -> QuotaHeadroom:
        """What users, groups and projects may still use in the queue now; the same object until something changes."""
        at = self.changes
        if at != self._headroom_at:
            self._headroom_at = at
            self._headroom.clear()
        headroom = self._headroom.get(queue)
        if headroom is None:
            headroom = self._headroom[queue] = QuotaHeadroom(
                self._only_limits(queue), partial(self.used, queue), self.owner, self._first_exceeded
            )
        return headroom

    def _only_limits(self, queue: str) -> Limits | None:
        """The quotas of the queue, where they are on its cores alone and a job needs what it requests; else None."""
        tables = self.tables(queue)
        if not tables:
            return Limits()
        if self._lone or len(tables) > 1 or tables[0][:2] != (queue, "ncpus"):
            return None
        return tables[0].limits

    def _first_exceeded(self, job: Job) -> object:
        """A key for the first entry that the job would exceed, as :meth:`QuotaHeadroom.first_exceeded` has it."""
        if not self.bounds(job):
            return NO_ENTRY
        over = self.exceeded_by(job)
        if over is None:
            return None
        # The reason names a need that the request does not show, so different needs get different keys.
        kept, varies = 0, False
        request = job.request
        if self._lone or request.exclusive or job.job_wide or request.cores != request.quota_cores:
            kept, varies = self.needs(job)[over.resource], self.varies(job, over.resource)
        return (over.scope, over.resource, over.entity, kept, varies)

    def entries_of(self, job: Job, entity: EntityKey) -> tuple[QuotaEntry, ...]:
        """The entries of the job's user or group, of all resources, whatever the job takes."""
        return tuple(
            QuotaEntry(table.scope, table.resource, entity, bound.limit)
            for table in self.tables(job.queue)
            for bound in table.limits.bounds(job.user, job.group, job.project)
            if bound.entity == entity
        )

    def used(self, scope: str, entity: EntityKey, resource: str = "ncpus") -> int:
        """What an entity uses of a resource in a queue ("" for the whole cluster), with what this pass has booked."""
        held = self._cluster.usage.occupied(self._cluster, (scope, resource)).get(entity, 0)
        return held + self._shifts.get((scope, resource, entity), 0)

    def booked(self) -> Mapping[object, object]:
        """A copy of all that :meth:`used` depends on, for :meth:`is_booked_like`."""
        return {"": dict(self._shifts), **{scope: dict(self._cluster.use_in(*scope)) for scope in self._scopes()}}

    def is_booked_like(self, before: Mapping[object, object]) -> bool:
        """Whether nothing has changed since :meth:`booked` returned ``before``."""
        return before.get("") == self._shifts and all(
            before.get(scope) == self._cluster.use_in(*scope) for scope in self._scopes()
        )

    def _has_only_cores(self) -> bool:
        """Whether all entries, of every queue and of the server, are for cores."""
        there = [self._cluster.server.quotas, *(queue.quotas_by_resource() for queue in self._cluster.queues.values())]
        return all(resource == "ncpus" for of_one in there for resource, limits in of_one.items() if limits)

    def _scopes(self) -> set[tuple[str, str]]:
        return {(table.scope, table.resource) for queue in self._cluster.queues for table in self.tables(queue)}

    def shift(self, job: Job, sign: int, where: Allocation | None = None) -> None:
        """Book a job in (1) or out (-1)."""
        self._bookings += 1
        _, needs, bounds = self.counted_as(job, where)
        for scope, resource, entity, _ in bounds:
            key = (scope, resource, entity)
            left = self._shifts.get(key, 0) + sign * needs[resource]
            if left:
                self._shifts[key] = left
            else:
                del self._shifts[key]

    def exceeded_by(self, job: Job, where: Allocation | None = None) -> Standing | None:
        """The first entry that the job would exceed if it started; None where it stays within all."""
        _, needs, bounds = self.counted_as(job, where)
        for scope, resource, entity, limit in bounds:
            used = self.used(scope, entity, resource)
            if used + needs[resource] > limit:
                return Standing(entity, limit, used, resource, scope)
        return None

    def is_over(self, job: Job) -> bool:
        """Whether some entry that counts the job is over its limit."""
        return any(self.used(scope, entity, resource) > limit for scope, resource, entity, limit in self.bounds(job))

    def spare(self, job: Job, where: Allocation | None = None) -> int:
        """The most cores that rule A may take now from the user, group and project that the job belongs to; negative
        where it may take none (docs/policies.md, P1, 10)."""
        spares: dict[EntityKey, tuple[int, bool]] = {}
        for scope, resource, entity, limit in self.bounds(job, where):
            used = self.used(scope, entity, resource)
            above = used - limit if resource == "ncpus" or used <= limit else _PLENTY
            most, protected = spares.get(entity, (-_PLENTY, entity[0] == "u"))
            spares[entity] = (max(most, above), protected or used >= limit)
        return min((most for most, protected in spares.values() if protected), default=-1)

    def surplus(self, job: Job, where: Allocation | None = None) -> Standing | None:
        """The entry by which rule A may preempt a run of this job now; None where it may not (docs/policies.md, P1,
        10).

        The entry stays at or above its limit without the run. And no entity that is protected falls below all of its
        limits: the user always is, a group, a project or all where some entry of theirs is at or above its limit.
        """
        _, needs, bounds = self.counted_as(job, where)
        for scope, resource, entity, limit in bounds:
            used = self.used(scope, entity, resource)
            if used - needs[resource] >= limit:
                over = Standing(entity, limit, used, resource, scope)
                return over if len(bounds) == 1 or self._none_falls_below(needs, bounds) else None
        return None

    def leaves_some_at_limit(self, counted: Counted) -> bool:
        """Whether some entry stays at or above its limit without a job that is counted so. Rule A may preempt no other
        one; and where it is False, it stays so as long as jobs are only booked out."""
        _, needs, bounds = counted
        for scope, resource, entity, limit in bounds:
            if self.used(scope, entity, resource) - needs[resource] >= limit:
                return True
        return False

    def _none_falls_below(self, needs: Needs, bounds: Sequence[QuotaEntry]) -> bool:
        """Whether each protected entity has an entry that stays at or above its limit when the needs are taken off its
        use."""
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
        """The first entry that counts the job; for a job that no entry counts, its user with a limit of 0."""
        for scope, resource, entity, limit in self.bounds(job):
            return Standing(entity, limit, self.used(scope, entity, resource), resource, scope)
        return Standing(("u", job.user), 0, self.used(job.queue, ("u", job.user)), "ncpus", job.queue)

    def numbers_of(self, over: Standing, job: Job, where: Allocation | None = None) -> Numbers:
        """The numbers of the reason that a job exceeds this entry.

        ``need`` is among them where the request does not show what the job needs, and ``varies`` where that depends on
        the vnodes that it gets to itself.
        """
        need = self.needs(job, where)[over.resource]
        kept: Numbers = ()
        if self._lone or job.request.exclusive or need != job.request.amount(over.resource):
            kept = (("need", need),)
        if kept and self.varies(job, over.resource):
            kept = (*kept, ("varies", 1))
        return (*entry_numbers(over, kept), *unit_of(over.resource, self._cluster.server.sizes))

    def varies(self, job: Job, resource: str) -> bool:
        """Whether the amount of a resource that the job occupies depends on which vnodes it gets."""
        cluster = self._cluster
        return not cluster.usage.keeps_alike(cluster, cluster.vnodes_of(job.queue), job.request, resource)

    def _wide_kinds(self, queue: str) -> tuple[bool, bool]:
        """Whether some quota or priority that binds the queue is a group's, and whether some is a project's."""
        kinds: set[str] = set()
        for table in self.tables(queue):
            kinds |= table.limits.kinds
        there = self._cluster.queues.get(queue)
        if there is not None:
            kinds |= there.priorities.kinds
        return "g" in kinds, "p" in kinds
