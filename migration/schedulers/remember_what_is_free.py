"""Answers several offers that come at once from one reading of the scheduler: what is free, and that a job would start.

Cores of jobs accepted since are subtracted until a scheduler counts them; when it does, or after a moment, the
scheduler is read again.
"""

from __future__ import annotations

import time
from typing import Any, Callable

from migration.schedulers.scheduler_interface import LocalJob, LocalScheduler, Verdict
from policy.migration.available_to_other_clusters import FreeNodes
from policy.migration.job_demand import Demand

_FOR_S = 2.0


class RememberedFree:
    """``scheduler`` as it is, but for :meth:`free` and :meth:`would_start_now`. ``counted`` names the jobs that it
    counts itself by now.
    """

    def __init__(self, scheduler: LocalScheduler, counted: Callable[[], frozenset[str]]) -> None:
        self._scheduler = scheduler
        self._counted = counted
        self._last: tuple[float, frozenset[str], FreeNodes] | None = None
        self._would_start: dict[tuple[str, Demand], Verdict] = {}
        """By user and demand, as long as what is free is remembered. Each test is of one job beside those that the
        scheduler has, so those accepted meanwhile are in none, remembered or not: they are subtracted."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheduler, name)

    def free(self) -> FreeNodes:
        """The free cores, now or a moment ago."""
        now_s, counted = time.monotonic(), self._counted()
        if self._last is not None and now_s - self._last[0] < _FOR_S and self._last[1] == counted:
            return self._last[2]
        free = self._scheduler.free()
        self._last = now_s, counted, free
        self._would_start.clear()
        return free

    def would_start_now(self, job: LocalJob) -> Verdict:
        """The scheduler's own test, or its answer about an equal job a moment ago. An answer that a job would not start
        is never reused."""
        equal = (job.user, job.demand)
        verdict = self._would_start.get(equal)
        if verdict is None:
            verdict = self._scheduler.would_start_now(job)
            if verdict.now is not False:
                self._would_start[equal] = verdict
        return verdict
