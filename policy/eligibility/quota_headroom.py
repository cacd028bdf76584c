"""What each user, group and project may still use within quota, at one moment and in one queue, and the first entry
that a job would exceed.

Where only cores are counted that takes a few look-ups, which makes it cheap for the many jobs that share a reason.
"""

from __future__ import annotations

from typing import Callable, Final

from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.limit_attributes import ALL, GENERIC, EntityKey, Limits

_NO_LIMIT: Final = float("inf")

NO_ENTRY: EntityKey = ("", "")
"""The key for a job that no entry counts."""


class QuotaHeadroom:
    """What each user, group and project of one queue may still use. Valid until a count changes.

    ``limits`` are the only quotas that bind the queue, on its cores, where look-ups per entity are enough: a job then
    needs the cores that it requests. None: each job is looked at by ``owner`` and ``exceeded``. ``used`` is what an
    entity uses of the queue's cores.
    """

    __slots__ = ("_entries", "_exceeded", "_known", "_left", "_of_all", "_of_users", "_owner", "_used", "_wide")

    def __init__(
        self,
        limits: Limits | None,
        used: Callable[[EntityKey], int],
        owner: Callable[[Job], object],
        exceeded: Callable[[Job], object],
    ) -> None:
        self._used = used
        self._owner = owner
        self._exceeded = exceeded
        self._known: dict[tuple[object, Request], object] = {}
        self._entries = None if limits is None else limits.entries
        kinds = frozenset() if limits is None else limits.kinds
        self._wide = ("g" in kinds, "p" in kinds)
        self._of_users: dict[str, float] = {}
        self._left: dict[str, dict[str, float]] = {"u": self._of_users, "g": {}, "p": {}}
        self._of_all = self._entries[ALL] - used(ALL) if self._entries and ALL in self._entries else _NO_LIMIT

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

    def exceeds_own(self, job: Job) -> bool:
        """Whether the job exceeds the entry of its user, by a look-up; False where it does not, or where more is to be
        looked at."""
        request = job.request
        need = request.cores
        if self._entries is None or need != request.quota_cores or request.exclusive:
            return False
        left = self._of_users.get(job.user)
        return need > (self._look_up("u", job.user) if left is None else left)

    def counts_cores(self, request: Request) -> bool:
        """Whether look-ups per entity are enough for jobs with this request."""
        return self._entries is not None and request.cores == request.quota_cores and not request.exclusive

    def exceeded_entity(self, job: Job) -> EntityKey:
        """The entity whose entry a job exceeds first, for a job that exceeds one and whose cores are counted."""
        exceeded = self.first_exceeded(job)
        assert isinstance(exceeded, tuple)  # noqa: S101 - the caller has found that the job exceeds one
        kind, name = exceeded
        return (kind, name)

    def limit_and_use(self, entity: EntityKey) -> tuple[int, int]:
        """The limit of an entity that a job was found to exceed, and what the entity used then."""
        entries, (kind, name) = self._entries or {}, entity
        limit = entries[entity] if entity in entries else entries[kind, GENERIC]
        left = self._of_all if entity == ALL else self._left[kind][name]
        return limit, int(limit - left)

    def _look_at_all(self, job: Job) -> object:
        """The same for any tables and requests. Where the request does not show what the job needs, the key holds that
        as well."""
        if job.job_wide:
            return self._exceeded(job)
        key = (self._owner(job), job.request)
        if key not in self._known:
            self._known[key] = self._exceeded(job)
        return self._known[key]

    def _look_up(self, kind: str, name: str) -> float:
        entries = self._entries or {}
        limit = entries.get((kind, name))
        if limit is None:
            limit = entries.get((kind, GENERIC))
        left = _NO_LIMIT if limit is None else limit - self._used((kind, name))
        self._left[kind][name] = left
        return left
