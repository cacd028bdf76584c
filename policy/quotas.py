"""P1's arithmetic: who is within quota, who is over, and what may be taken from whom (docs/policies.md, P1).

Every entry that counts a job binds: the user's own (or the generic one), the group's, the project's. A job is within
quota if all of them are after it starts. A run may be taken if some entry that counts it is over and stays at or above
its limit without it, the user's own entry is never left below its limit, and no other entry falls from its limit to
below it.
"""

from __future__ import annotations

from typing import NamedTuple

from policy.cluster import Job
from policy.limits import Bound, EntityKey
from policy.world import World


class Standing(NamedTuple):
    """An entry that decides: whose, its limit, and what is used of it."""

    entity: EntityKey
    limit: int
    used: int


class Room(NamedTuple):
    """What is left within all entries that count a job, and how many these are."""

    least: float
    entries: int


class Quotas:
    """Use beside quota in one pass. ``shift`` books what the pass has decided but the runs do not show yet."""

    def __init__(self, world: World, counted: str) -> None:
        self._world = world
        self.counted = counted
        self._shifts: dict[tuple[str, EntityKey], int] = {}
        self._bounds: dict[tuple[str, str, str, str], tuple[Bound, ...]] = {}

    def need(self, job: Job) -> int:
        """What the job takes of the counted resource."""
        return job.request.amount(self.counted)

    def bounds(self, job: Job) -> tuple[Bound, ...]:
        """The entries of the job's queue that count it."""
        key = (job.queue, job.user, job.group, job.project)
        bounds = self._bounds.get(key)
        if bounds is None:
            queue = self._world.queues.get(job.queue)
            bounds = tuple(queue.quotas.bounds(job.user, job.group, job.project)) if queue else ()
            self._bounds[key] = bounds
        return bounds

    def used(self, queue: str, entity: EntityKey) -> int:
        """What an entity holds in a queue, with what this pass has booked."""
        return self._world.use_in(queue, self.counted).get(entity, 0) + self._shifts.get((queue, entity), 0)

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

    def room(self, job: Job) -> Room:
        """How much more whoever the job belongs to may use within quota; infinite without any entry."""
        bounds = self.bounds(job)
        left = [limit - self.used(job.queue, entity) for entity, limit in bounds]
        return Room(min(left, default=float("inf")), len(bounds))

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
