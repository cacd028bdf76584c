"""The time limit for deciding, by the clock, and the jobs that took most of it.

Reading and deciding together get half of a pass's budget, carrying out the plan the other half; however long reading
took, each of deciding and carrying out gets a quarter. A user whose jobs have taken a quarter of the time to decide
comes after all others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from heapq import heappushpop
from typing import Callable, NamedTuple

from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.pbs_units import show_count

_PART_FOR_DECIDING = 2
_LEAST_PART = 4
"""Deciding, however long reading the server took, and carrying out each get at least this part of the budget (1/4)."""
_SHARE = 4
_MOST_TOLD = 5
_LEAST_TOLD_S = 0.05


class Slow(NamedTuple):
    """One attempt to place a job, and how long it took."""

    seconds: float
    job: str
    user: str


class ClockDeadline:
    """A :class:`policy.plan.pass_time_limit.Deadline` with a clock: expires ``seconds`` after it was made. ``clock``
    returns seconds."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._over_s = clock() + seconds
        self._share_s = seconds / _SHARE
        self._job: Job | None = None
        self._begun_s = 0.0
        self._taken_s: dict[str, float] = {}
        self._slowest: list[Slow] = [Slow(0.0, "", "")] * _MOST_TOLD

    def begin(self, job: Job) -> None:
        """Begin an attempt to place this job."""
        self._job, self._begun_s = job, self._clock()

    def end(self) -> None:
        """End the attempt."""
        job = self._job
        if job is None:
            return
        self._job = None
        seconds = self._clock() - self._begun_s
        self._taken_s[job.user] = self._taken_s.get(job.user, 0.0) + seconds
        if seconds > self._slowest[0].seconds:
            heappushpop(self._slowest, Slow(seconds, job.id, job.user))

    def is_over(self) -> bool:
        """Whether the time of the whole pass is up."""
        return self._clock() >= self._over_s

    def is_share_spent(self, user: str) -> bool:
        """Whether this user's jobs have taken their share, including the attempt under way."""
        taken_s = self._taken_s.get(user, 0.0)
        if self._job is not None and self._job.user == user:
            taken_s += self._clock() - self._begun_s
        return taken_s > self._share_s

    def slowest(self) -> list[Slow]:
        """The slowest attempts, slowest first; short ones are left out."""
        return sorted((slow for slow in self._slowest if slow.seconds >= _LEAST_TOLD_S), reverse=True)


def time_to_decide_s(budget_s: float, spent_s: float) -> float:
    """How long a pass with this budget may decide after ``spent_s`` of reading the server."""
    return max(budget_s / _PART_FOR_DECIDING - spent_s, budget_s / _LEAST_PART)


def time_to_act_s(budget_s: float) -> float:
    """How long a pass with this budget may carry out its plan, at least."""
    return budget_s / _LEAST_PART


def describe_unstarted(count: int, read_s: float, budget_s: float) -> Iterator[str]:
    """A sentence for the administrator if starts were put off for lack of time."""
    if count:
        yield (
            f"{show_count(count, 'start')} put off to the next pass, as the time of this one was up: reading the server"
            f" took {read_s:.1f} s, of the {budget_s:g} s that a pass has (schedule.budget_s)"
        )


def describe_left_out(count: int, slowest: list[Slow]) -> Iterator[str]:
    """A sentence for the administrator if jobs were not looked at for lack of time."""
    if count:
        shown = [f"{slow.job} of {slow.user} ({slow.seconds:.1f} s)" for slow in slowest]
        longest = f": {', '.join(shown)} took longest" if shown else ""
        yield f"{show_count(count, 'job')} not looked at, as the time of the pass to decide was up{longest}"
