"""Gates: conditions that keep a job from starting whatever is free, such as holds, start times, closed queues, hard
limits and used-up licences.

They are checked before anything is placed; a job behind a gate does not become head and blocks no other job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Optional, Union

from policy.eligibility.longest_run_by_prime_time import (
    explain_too_long,
    find_longest_planned_run_s,
    find_longest_run_s,
)
from policy.eligibility.unpreemptible_only_within_quota import Confined
from policy.model.job_request import Amounts, Request
from policy.model.jobs_runs_vnodes_queues import CROSSING, ONE_OF, UNLIMITED_S, Job, Queue
from policy.model.limit_attributes import ALL, EntityKey, Limits, show_entity
from policy.reasons.reason import Reason, unit_of
from policy.reasons.reason_names import Numbers
from policy.state.cluster_index import ClusterIndex
from policy.state.usage_by_user import Scope

_Need = Union[int, Request, tuple[Request, Amounts]]
"""What distinguishes two jobs of one owner for the limits."""
_Counted = tuple[Scope, Optional[EntityKey]]
"""A limit, and the entity that it binds; None for what the server has of a resource."""
_MOST_NAMED = 3
"""A reason names so many of the jobs that something is kept for."""


class Gates:
    """The gates of one pass. Hard limits are PBS's own, per queue and for the server (PBS Administrator's Guide,
    "Managing Resource Usage"). Of the server's consumables jobs may use up what they ask for in their chunks, too."""

    def __init__(
        self,
        cluster: ClusterIndex,
        now_s: float,
        confined: Confined | None = None,
        refused: Mapping[str, Reason] = MappingProxyType({}),
    ) -> None:
        """``refused``: jobs that the site's own order keeps from starting."""
        self._cluster = cluster
        self._refused = refused
        self._confined = confined
        self._now_s = now_s
        self._shared = cluster.server.shared
        self._plain = cluster.queues_without_gates()
        self._queues: dict[str, Reason | None] = {}
        self._longest_s: dict[str, float] = {}
        # Use only grows until a start is cancelled (take_back), so an entity that is over a limit stays over it.
        self._known: dict[tuple[str, str, str, str], dict[_Need, Reason]] = {}
        # What is kept for jobs that will start without passing the gates again, by job.
        self._kept: dict[_Counted, dict[str, int]] = {}
        self._limits: dict[str, tuple[tuple[Scope, str, Limits], ...]] = {}

    def blocking_reason(self, job: Job) -> Reason | None:
        """The reason why the job may not start now; None where no gate blocks it."""
        if self._refused and job.id in self._refused:
            return Reason("blocked", (("why", job.blocked),)) if job.blocked else self._refused[job.id]
        if job.queue in self._plain and not job.blocked and job.not_before_s is None:
            return None if self._confined is None else self._confined.why(job)
        if job.queue not in self._queues:
            self._look_at(job.queue)
        if job.blocked:
            return Reason("blocked", (("why", job.blocked),))
        if job.not_before_s is not None and job.not_before_s > self._now_s:
            return Reason("not-before", (("at_s", job.not_before_s),))
        if job.left_s > self._longest_s[job.queue]:
            return Reason("blocked", (("why", explain_too_long(job, self._longest_s[job.queue])),))
        reason = self._queues[job.queue]
        if reason is None and (self._shared or self._limits[job.queue]):
            owner = (job.user, job.queue, job.group, job.project)
            known = self._known.get(owner)
            if known is None:
                known = self._known[owner] = {}
            need: _Need = job.request.cores if job.request.only_cores else job.request
            if job.job_wide:
                need = (job.request, job.job_wide)
            reason = known.get(need)
            if reason is None:
                reason = self._over_limit(job) or self._too_few_left(job)
                if reason is not None and not self._kept:
                    known[need] = reason
        if reason is None and self._confined is not None:
            reason = self._confined.why(job)
        return reason

    def why_not_planned(self, job: Job, at_s: float, slack_s: float) -> Reason | None:
        """Why no start of the job is planned at that time, which may come so much later: it is known neither when the
        prime or non-prime time of then ends, nor that one would leave enough. None where one may be planned."""
        queue = self._cluster.queues[job.queue]
        longest_s = find_longest_planned_run_s(queue, at_s, slack_s) if queue.closed else UNLIMITED_S
        return Reason("blocked", (("why", explain_too_long(job, longest_s)),)) if job.left_s > longest_s else None

    def take_back(self) -> None:
        """A job does not start after all, so what it would have used is there again."""
        self._known.clear()

    def expect(self, job: Job, sign: int = 1) -> None:
        """Count a job that will start without passing the gates again; with ``sign`` -1, stop counting it."""
        for counted, need in self._needs(job):
            of_jobs = self._kept.setdefault(counted, {})
            of_jobs[job.id] = of_jobs.get(job.id, 0) + sign * need
            if not of_jobs[job.id]:
                del of_jobs[job.id]
            if not of_jobs:
                del self._kept[counted]

    def _needs(self, job: Job) -> Iterator[tuple[_Counted, int]]:
        """What the job needs of each limit that binds it, and of what the server has."""
        if job.queue in self._plain:
            return
        if job.queue not in self._queues:
            self._look_at(job.queue)
        for resource, amount in self._asked_of_server(job):
            yield (("", resource), None), amount
        for scope, _, limits in self._limits[job.queue]:
            need = job.amount(scope[1]) if scope[1] else 1
            for entity, _ in limits.bounds(job.user, job.group, job.project):
                yield (scope, entity), need

    def _kept_of(self, counted: _Counted) -> int:
        of_jobs = self._kept.get(counted)
        return sum(of_jobs.values()) if of_jobs else 0

    def _kept_for(self, counted: _Counted) -> Numbers:
        """How much is kept, and for which jobs, as numbers of a reason."""
        of_jobs = self._kept.get(counted)
        if not of_jobs:
            return ()
        named = list(of_jobs)[:_MOST_NAMED]
        more: Numbers = (("kept_more", len(of_jobs) - len(named)),) if len(of_jobs) > len(named) else ()
        return (("kept", sum(of_jobs.values())), ("kept_for", ", ".join(named)), *more)

    def blocking_reason_beside(self, job: Job, head: Job) -> Reason | None:
        """The reason why the job may not start, if the head's limits and licences are to stay free for the head as
        well."""
        self.expect(head)
        reason = self.blocking_reason(job)
        self.expect(head, -1)
        return reason

    def opens_s(self, job: Job, coming: Sequence[tuple[float, Job]]) -> float:
        """The time from which hard limits and licences let the job start, as runs end by their estimates; infinite
        where they never do.

        ``coming`` are jobs that will start without passing the gates again, each with its end.
        """
        at_s = self._now_s
        for scope, _, limits in self._limits[job.queue]:
            resource = scope[1]
            need = job.amount(resource) if resource else 1
            for entity, limit in limits.bounds(job.user, job.group, job.project):
                used = self._cluster.used(scope).get(entity, 0) + self._kept_of((scope, entity))
                if not need or used + need <= limit:
                    continue
                given = [
                    (end_s, other.amount(resource) if resource else 1)
                    for end_s, other in self._ends(coming)
                    if scope[0] in ("", other.queue)
                    and any(bound == entity for bound, _ in limits.bounds(other.user, other.group, other.project))
                ]
                at_s = max(at_s, _when(given, used + need - limit))
        for resource, amount in self._asked_of_server(job):
            short = amount + self._kept_of((("", resource), None)) - self._left_of(resource)
            if short > 0:
                held = [(end_s, other.amount(resource)) for end_s, other in self._ends(coming)]
                at_s = max(at_s, _when(held, short))
        return at_s

    def _ends(self, coming: Sequence[tuple[float, Job]]) -> list[tuple[float, Job]]:
        """The ends of runs and of ``coming``, each with its job, in order of time."""
        runs = self._cluster.runs
        ends = [*((end_s, runs[run_id].job) for end_s, run_id in self._cluster.ends), *coming]
        return sorted(ends, key=lambda end: end[0])

    def _asked_of_server(self, job: Job) -> Sequence[tuple[str, int]]:
        """What the job asks for of the server's consumables, in its chunks and as a whole."""
        shared = self._shared
        if not shared:
            return ()
        names = [name for name, _ in job.request.totals if name in shared]
        if job.job_wide:
            names += [name for name, _ in job.job_wide if name in shared and name not in names]
        return [(name, job.amount(name)) for name in names]

    def _left_of(self, resource: str) -> int:
        """What the runs leave of a consumable of the server."""
        return self._shared[resource] - self._cluster.used_of_server().get(resource, 0)

    def _look_at(self, name: str) -> None:
        queue = self._cluster.queues.get(name)
        reason = None
        if queue is not None and queue.destinations is not None:
            routes: Numbers = (("destinations", ", ".join(queue.destinations)), ("stopped", not queue.started))
            reason = Reason("queue-unknown", (("queue", name), *routes))
        elif queue is None or not queue.managed:
            reason = Reason("queue-unknown", (("queue", name),))
        elif not queue.started:
            reason = Reason("queue-stopped", (("queue", name),))
        else:
            reason = self._closed(queue)
        self._queues[name] = reason
        self._longest_s[name] = UNLIMITED_S if queue is None else find_longest_run_s(queue, self._now_s)
        limits = [(("", res), "the server", lim) for res, lim in self._cluster.server.hard.by_resource().items()]
        if queue is not None:
            limits += [((name, res), f"queue {name}", lim) for res, lim in queue.hard.by_resource().items()]
        self._limits[name] = tuple(limits)

    def _closed(self, queue: Queue) -> Reason | None:
        """The reason why the queue starts no job at this moment, by its windows. Windows that adjoin or overlap count
        as one."""
        until_s, name = self._now_s, ""
        for window in sorted(queue.closed, key=lambda window: window[:3]):
            if window.closed_to != CROSSING and window.start_s <= until_s < window.end_s:
                until_s, name = window.end_s, name or window.name
        return Reason("queue-closed", (("queue", queue.name), ("window", name), ("at_s", until_s))) if name else None

    def _over_limit(self, job: Job) -> Reason | None:
        for scope, where, limits in self._limits[job.queue]:
            resource = scope[1]
            need = job.amount(resource) if resource else 1
            for entity, limit in limits.bounds(job.user, job.group, job.project):
                used, kept = self._cluster.used(scope).get(entity, 0), self._kept_of((scope, entity))
                if need and used + kept + need > limit:
                    owner = "all jobs together" if entity == ALL else show_entity(entity)
                    counts: Numbers = (("limit", limit), ("used", used), ("need", need))
                    unit = unit_of(resource, self._cluster.server.sizes)
                    of: Numbers = (("what", resource or "running jobs"), *unit, *self._kept_for((scope, entity)))
                    return Reason("hard-limit", (("scope", where), ("entity", owner), *counts, *of))
        return None

    def _too_few_left(self, job: Job) -> Reason | None:
        for resource, amount in self._asked_of_server(job):
            left, counted = self._left_of(resource), (("", resource), None)
            if amount + self._kept_of(counted) > left:
                if resource.startswith(ONE_OF):
                    return Reason(
                        "blocked", (("why", f"only {resource} is to run, and another one starts or is next"),)
                    )
                numbers: Numbers = (("resource", resource), ("asked", amount), ("left", max(0, left)))
                if amount > self._shared[resource]:
                    numbers = (*numbers, ("short", amount - self._shared[resource]))
                unit = unit_of(resource, self._cluster.server.sizes)
                return Reason("server-resource", (*numbers, *unit, *self._kept_for(counted)))
        return None


def _when(given: Sequence[tuple[float, int]], short: int) -> float:
    """The time at which ``short`` or more has been given back; infinite where it never is."""
    for end_s, amount in given:
        short -= amount
        if short <= 0:
            return end_s
    return UNLIMITED_S
