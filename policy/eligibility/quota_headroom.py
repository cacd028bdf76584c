"""What each user, group and project may still use within quota, at one moment and in one queue.

It finds the first entry that a job would exceed. Where only cores are counted that takes a few look-ups, which makes it
cheap for the many jobs that share a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policy.model.limit_attributes import ALL, GENERIC, EntityKey

if TYPE_CHECKING:
    from policy.eligibility.soft_quotas import Quotas
    from policy.model.job_request import Request
    from policy.model.jobs_runs_vnodes_queues import Job

_NO_LIMIT = float("inf")

NO_ENTRY: EntityKey = ("", "")
"""The key for a job that no entry counts."""


class QuotaHeadroom:
    """What each user, group and project of one queue may still use. Valid until a count changes.

    ``simple``: no vnode gives itself to one job alone, so a job needs what it requests.
    """

    __slots__ = ("_entries", "_known", "_left", "_lone", "_of_all", "_of_users", "_queue", "_quotas", "_wide")

    def __init__(self, quotas: Quotas, queue: str, *, simple: bool) -> None:
        self._quotas = quotas
        self._queue = queue
        self._lone = not simple
        self._known: dict[tuple[object, Request], object] = {}
        tables = quotas.tables(queue)
        # With no table but one of cores on this queue, look-ups per entity are enough.
        only = tables[0] if simple and len(tables) == 1 and tables[0][:2] == (queue, "ncpus") else None
        self._entries = None if only is None and tables else (only.limits.entries if only else {})
        kinds = only.limits.kinds if only is not None else frozenset()
        self._wide = ("g" in kinds, "p" in kinds)
        self._of_users: dict[str, float] = {}
        self._left: dict[str, dict[str, float]] = {"u": self._of_users, "g": {}, "p": {}}
        has_all = self._entries is not None and ALL in self._entries
        self._of_all = self._entries[ALL] - quotas.used(queue, ALL) if self._entries and has_all else _NO_LIMIT

    def first_exceeded(self, job: Job) -> object:
        """A key for the first entry that the job would exceed, equal for jobs that exceed the same one;
        :data:`NO_ENTRY` where no entry counts the job, None where it stays within all."""
        request = job.request
        need = request.cores
        if self._entries is None or need != request.quota_cores or request.exclusive:
            return self._look_at_all(job)
        left = self._of_users.get(job.user)
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

    def _look_at_all(self, job: Job) -> object:
        """The same for any tables and requests. Where the request does not show what the job needs, the key holds that
        as well."""
        if job.job_wide:
            return self._exceeded(job)
        key = (self._quotas.owner(job), job.request)
        if key not in self._known:
            self._known[key] = self._exceeded(job)
        return self._known[key]

    def _exceeded(self, job: Job) -> object:
        if not self._quotas.bounds(job):
            return NO_ENTRY
        over = self._quotas.exceeded_by(job)
        if over is None:
            return None
        # The reason names a need that the request does not show, so different needs get different keys.
        kept, varies = 0, False
        request = job.request
        if self._lone or request.exclusive or job.job_wide or request.cores != request.quota_cores:
            kept, varies = self._quotas.needs(job)[over.resource], self._quotas.varies(job, over.resource)
        return (over.scope, over.resource, over.entity, kept, varies)

    def _look_up(self, kind: str, name: str) -> float:
        entries = self._entries or {}
        limit = entries.get((kind, name))
        if limit is None:
            limit = entries.get((kind, GENERIC))
        left = _NO_LIMIT if limit is None else limit - self._quotas.used(self._queue, (kind, name))
        self._left[kind][name] = left
        return left
