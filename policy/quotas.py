"""P1's arithmetic: who is within quota, who is over, and what may be taken from whom (docs/policies.md, P1).

Every entry that counts a job binds: the user's own (or the generic one), the group's, the project's. A job is within
quota if all of them are after it starts. A run may be taken if some entry that counts it is over and stays at or above
its limit without it, the user's own entry is never left below its limit, and no other entry falls from its limit to
below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policy.cluster import Job, Queue
from policy.limits import ALL, GENERIC, Bound, EntityKey
from policy.world import World

Owner = tuple[str, str, str, str]
"""Whose entries count a job: queue, user, group and project; the latter two empty where no entry asks for them."""

_NO_LIMIT = float("inf")


class Standing(NamedTuple):
    """An entry that decides: whose, its limit, and what is used of it."""

    entity: EntityKey
    limit: int
    used: int


class Quotas:
    """Use beside quota in one pass. ``shift`` books what the pass has decided but the runs do not show yet."""

    def __init__(self, world: World, counted: str) -> None:
        self._world = world
        self.counted = counted
        self._shifts: dict[tuple[str, EntityKey], int] = {}
        self._bounds: dict[Owner, tuple[Bound, ...]] = {}
        self._wide = {name: _wide_kinds(queue) for name, queue in world.queues.items()}

    def need(self, job: Job) -> int:
        """What the job takes of the counted resource."""
        return job.request.amount(self.counted)

    def owner(self, job: Job) -> Owner:
        """Whose entries count the job: jobs of one owner differ in what they need only."""
        by_group, by_project = self._wide.get(job.queue, (False, False))
        return (job.queue, job.user, job.group if by_group else "", job.project if by_project else "")

    def lefts(self, queue: Queue) -> Lefts:
        """What everybody in the queue may still use now."""
        return Lefts(self, queue)

    def bounds(self, job: Job) -> tuple[Bound, ...]:
        """The entries of the job's queue that count it."""
        key = self.owner(job)
        bounds = self._bounds.get(key)
        if bounds is None:
            queue = self._world.queues.get(job.queue)
            bounds = tuple(queue.quotas.bounds(job.user, job.group, job.project)) if queue else ()
            self._bounds[key] = bounds
        return bounds

    def used(self, queue: str, entity: EntityKey) -> int:
        """What an entity holds in a queue, with what this pass has booked."""
        return self._world.use_in(queue, self.counted).get(entity, 0) + self._shifts.get((queue, entity), 0)

    def booked(self) -> Mapping[str, object]:
        """All that :meth:`used` depends on, as it is now, for :meth:`is_booked_like`."""
        return {
            "": dict(self._shifts),
            **{name: dict(self._world.use_in(name, self.counted)) for name in self._world.queues},
        }

    def is_booked_like(self, before: Mapping[str, object]) -> bool:
        """Whether nothing of it has changed since."""
        return before.get("") == self._shifts and all(
            before.get(name) == self._world.use_in(name, self.counted) for name in self._world.queues
        )

    def shift(self, job: Job, sign: int) -> None:
        """Book a job in (1) or out (-1)."""
        for bound in self.bounds(job):
            key = (job.queue, bound.entity)
            self._shifts[key] = self._shifts.get(key, 0) + sign * self.need(job)

    def exceeded_by(self, job: Job) -> Standing | None:
        """The first entry that the job would exceed if it started; None where it stays within all."""
        need = self.need(job)
        for entity, limit in self.bounds(job):
            used = self.used(job.queue, entity)
            if used + need > limit:
                return Standing(entity, limit, used)
        return None

    def is_over(self, job: Job) -> bool:
        """Whether some entry that counts the job is over its limit."""
        return any(self.used(job.queue, entity) > limit for entity, limit in self.bounds(job))

    def spare(self, job: Job) -> int:
        """The most that may be taken now from whoever the job belongs to, by P1; negative where nothing may."""
        spares = [
            used - limit
            for entity, limit in self.bounds(job)
            for used in (self.used(job.queue, entity),)
            if used >= limit or entity[0] == "u"
        ]
        return min(spares, default=-1)

    def surplus(self, job: Job) -> Standing | None:
        """The entry by which a run of this job may be taken now; None where it may not."""
        need = self.need(job)
        over: list[Standing] = []
        for entity, limit in self.bounds(job):
            used = self.used(job.queue, entity)
            stays = used - need >= limit
            if stays and need:
                over.append(Standing(entity, limit, used))
            elif not stays and (entity[0] == "u" or used >= limit):
                return None
        return over[0] if over else None

    def standing(self, job: Job) -> Standing:
        """How the first entry that counts the job stands; an entry-less job stands for its user, without a limit."""
        for entity, limit in self.bounds(job):
            return Standing(entity, limit, self.used(job.queue, entity))
        return Standing(("u", job.user), 0, self.used(job.queue, ("u", job.user)))


NO_ENTRY: EntityKey = ("", "")
"""Stands for the entry that a job without any would exceed."""


class Lefts:
    """What everybody in one queue may still use at one moment: for the many jobs of which only the first entry that
    they would exceed matters."""

    __slots__ = ("_entries", "_left", "_of_all", "_queue", "_quotas", "_wide")

    def __init__(self, quotas: Quotas, queue: Queue) -> None:
        self._quotas = quotas
        self._queue = queue.name
        self._entries = queue.quotas.entries
        self._wide = _wide_kinds(queue)
        self._left: dict[str, dict[str, float]] = {"u": {}, "g": {}, "p": {}}
        self._of_all = self._entries[ALL] - quotas.used(queue.name, ALL) if ALL in self._entries else _NO_LIMIT

    def first_exceeded(self, job: Job, need: int) -> EntityKey | None:
        """The first entry that the job would exceed with this need, :data:`NO_ENTRY` where none counts it; None where
        it stays within all."""
        left = self._left["u"].get(job.user)
        if left is None:
            left = self._look_up("u", job.user)
        if need > left:
            return ("u", job.user)
        bound = left
        for kind, name, is_there in (("g", job.group, self._wide[0]), ("p", job.project, self._wide[1])):
            if is_there:
                left = self._left[kind].get(name)
                if left is None:
                    left = self._look_up(kind, name)
                if need > left:
                    return (kind, name)
                bound = min(bound, left)
        if need > self._of_all:
            return ALL
        return NO_ENTRY if bound == self._of_all == _NO_LIMIT else None

    def _look_up(self, kind: str, name: str) -> float:
        limit = self._entries.get((kind, name))
        if limit is None:
            limit = self._entries.get((kind, GENERIC))
        left = _NO_LIMIT if limit is None else limit - self._quotas.used(self._queue, (kind, name))
        self._left[kind][name] = left
        return left


def _wide_kinds(queue: Queue) -> tuple[bool, bool]:
    """Whether some quota or priority of the queue is a group's, and whether some is a project's."""
    kinds = {kind for kind, _ in (*queue.quotas.entries, *queue.priorities.entries)}
    return "g" in kinds, "p" in kinds
