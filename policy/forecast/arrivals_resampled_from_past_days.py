"""The jobs that will be submitted, drawn from those that were: each day ahead is one of the past days again.

A day begins at the time of day of the forecast, so that nights and mornings stay where they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from policy.forecast.random_numbers_from_seed import DrawnNumbers
from policy.model.jobs_runs_vnodes_queues import Job

DAY_S = 86400.0
MOST_DAYS = 28
"""How many of the past days are drawn from."""


class UsualArrivals:
    """The jobs submitted until now, in order of their ``submit_s``; those before ``since_s`` are not known."""

    def __init__(self, submitted: Sequence[Job], since_s: float) -> None:
        self._jobs = submitted
        self._submits_s = [job.submit_s for job in submitted]
        self._since_s = since_s

    def from_now(self, now_s: float, numbers: DrawnNumbers) -> Iterator[Job]:
        """Jobs to come, in order of their ``submit_s``, day by day without an end; none before a whole day is known."""
        days = min(MOST_DAYS, int((now_s - self._since_s) // DAY_S))
        ahead = 0
        while self._any_between(now_s - days * DAY_S, now_s):
            shift_s = DAY_S * (1 + numbers.below(days) + ahead)
            first_s = now_s + ahead * DAY_S - shift_s
            low, high = bisect_left(self._submits_s, first_s), bisect_left(self._submits_s, first_s + DAY_S)
            for job in self._jobs[low:high]:
                yield job._replace(id=f"{job.id}+{ahead}", submit_s=job.submit_s + shift_s, saved_s=0.0)
            ahead += 1

    def _any_between(self, first_s: float, end_s: float) -> bool:
        return bisect_left(self._submits_s, first_s) < bisect_left(self._submits_s, end_s)
