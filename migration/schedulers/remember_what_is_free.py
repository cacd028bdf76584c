"""A scheduler whose answer to what is free serves several offers that come at once.

The cores of a job that was accepted are subtracted as long as no scheduler counts them. So an answer is asked for anew
once a job has come to be counted, and after a moment in any case.
"""

from __future__ import annotations

import time
from typing import Any, Callable

from migration.schedulers.scheduler_interface import LocalScheduler
from policy.migration.available_to_other_clusters import FreeNodes

_FOR_S = 2.0


class RememberedFree:
    """``scheduler`` as it is, but for :meth:`free`. ``counted`` names the jobs that it counts itself by now."""

    def __init__(self, scheduler: LocalScheduler, counted: Callable[[], frozenset[str]]) -> None:
        self._scheduler = scheduler
        self._counted = counted
        self._last: tuple[float, frozenset[str], FreeNodes] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheduler, name)

    def free(self) -> FreeNodes:
        """What is free, or was a moment ago."""
        now_s, counted = time.monotonic(), self._counted()
        if self._last is not None and now_s - self._last[0] < _FOR_S and self._last[1] == counted:
            return self._last[2]
        free = self._scheduler.free()
        self._last = now_s, counted, free
        return free
