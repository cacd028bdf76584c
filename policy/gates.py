"""What keeps a job from starting whatever is free: holds, times, stopped queues, hard limits, used-up licences.

A gate is asked before anything is placed; a job behind one neither heads the line nor blocks those behind it. Hard
limits are PBS's own, per queue and for the server (PBS Administrator's Guide, "Managing Resource Usage").
"""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from policy.cluster import Job
from policy.limits import ALL, Limits, show_entity
from policy.reasons import Reason
from policy.world import World


class Gates:
    """The gates of one pass; ``left`` counts the server's consumables down as jobs start."""

    def __init__(self, world: World, now_s: float) -> None:
        self._world = world
        self._now_s = now_s
        self._left: Dict[str, int] = dict(world.server.left)
        self._queues: Dict[str, Optional[Reason]] = {}
        self._limits: Dict[str, Tuple[Tuple[Tuple[str, str], str, Limits], ...]] = {}

    def shut(self, job: Job) -> Optional[Reason]:
        """Why the job may not start now; None where nothing keeps it."""
        if job.queue not in self._queues:
            self._look_at(job.queue)
        if job.blocked:
            return Reason("blocked", (("why", job.blocked),))
        if job.not_before_s is not None and job.not_before_s > self._now_s:
            return Reason("not-before", (("at_s", job.not_before_s),))
        reason = self._queues[job.queue]
        if reason is None and self._limits[job.queue]:
            reason = self._over_limit(job)
        if reason is None and self._left:
            reason = self._too_few_left(job)
        return reason

    def open_for(self, job: Job) -> None:
        """The job starts: what it takes of the server's consumables is no longer left."""
        for resource in self._left:
            self._left[resource] -= job.request.amount(resource)

    def _look_at(self, name: str) -> None:
        queue = self._world.queues.get(name)
        reason = None
        if queue is None or not queue.managed:
            reason = Reason("queue-unknown", (("queue", name),))
        elif not queue.started:
            reason = Reason("queue-stopped", (("queue", name),))
        self._queues[name] = reason
        limits = [(("", res), "the server", lim) for res, lim in self._world.server.hard.by_resource().items()]
        if queue is not None:
            limits += [((name, res), f"queue {name}", lim) for res, lim in queue.hard.by_resource().items()]
        self._limits[name] = tuple(limits)

    def _over_limit(self, job: Job) -> Optional[Reason]:
        for scope, where, limits in self._limits[job.queue]:
            resource = scope[1]
            need = job.request.amount(resource) if resource else 1
            for entity, limit in limits.bounds(job.user, job.group, job.project):
                used = self._world.used(scope).get(entity, 0)
                if need and used + need > limit:
                    who = "all jobs together" if entity == ALL else show_entity(entity)
                    numbers = (("scope", where), ("entity", who), ("limit", limit), ("used", used))
                    return Reason("hard-limit", (*numbers, ("what", resource or "running jobs")))
        return None

    def _too_few_left(self, job: Job) -> Optional[Reason]:
        for resource, left in self._left.items():
            asked = job.request.amount(resource)
            if asked > left:
                return Reason("server-resource", (("resource", resource), ("asked", asked), ("left", left)))
        return None
