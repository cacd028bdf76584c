"""Table 1's model: one cluster, each user's quota as a hard limit, or as a soft one with preemption.

The pass is the paper's pseudo-code, read with "at least": a job starts where it fits; else, if its user is below quota,
the newest runs of users over quota are preempted that leave their owners at least the quota, if their cores and the
idle ones suffice. A preempted job waits at the end of the queue and runs again from its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.hourly.random_jobs import HORIZON_H, USERS, HourlyJob


@dataclass(frozen=True)
class QuotaOutcome:
    """``idle`` is R, from 0 to 1. ``repeated`` is the work lost to preemption, as a share of all core-hours; R counts
    it as busy. ``never`` counts jobs that no state of the cluster lets start: wider than a hard limit."""

    idle: float
    repeated: float = 0.0
    never: int = 0


def run_hard_limit(jobs: Sequence[HourlyJob], size: int, quota: int) -> QuotaOutcome:
    """No user ever has more than ``quota`` cores."""
    idle, used = size, [0] * USERS
    ends: dict[int, list[HourlyJob]] = {}
    queue: list[HourlyJob] = []
    coming, idle_core_h, never = 0, 0, 0
    for hour in range(HORIZON_H):
        for job in ends.pop(hour, ()):
            idle += job.cores
            used[job.user] -= job.cores
        while coming < len(jobs) and jobs[coming].submit_h == hour:
            if jobs[coming].cores > quota:
                never += 1
            else:
                queue.append(jobs[coming])
            coming += 1
        left = []
        for job in queue:
            if job.cores <= idle and used[job.user] + job.cores <= quota:
                idle -= job.cores
                used[job.user] += job.cores
                ends.setdefault(hour + job.hours, []).append(job)
            else:
                left.append(job)
        queue = left
        idle_core_h += idle
    return QuotaOutcome(idle_core_h / (HORIZON_H * size), never=never)


def run_soft_quota(jobs: Sequence[HourlyJob], size: int, quota: int) -> QuotaOutcome:
    """Idle cores are open to all; a job of a user below quota may preempt runs of users over theirs."""
    return _SoftQuota(jobs, size, quota).run()


class _SoftQuota:
    def __init__(self, jobs: Sequence[HourlyJob], size: int, quota: int) -> None:
        self._jobs = jobs
        self._size = size
        self._quota = quota
        self._idle = size
        self._used = [0] * USERS
        self._began: dict[int, int] = {}
        """When each run began, by the job's place, in the order of starts."""
        self._ends: dict[int, list[int]] = {}
        self._repeated_core_h = 0

    def run(self) -> QuotaOutcome:
        queue: list[int] = []
        coming, idle_core_h = 0, 0
        for hour in range(HORIZON_H):
            for index in self._ends.pop(hour, ()):
                if self._began.get(index) == hour - self._jobs[index].hours:
                    self._take_off(index)
            while coming < len(self._jobs) and self._jobs[coming].submit_h == hour:
                queue.append(coming)
                coming += 1
            queue = self._one_pass(queue, hour)
            idle_core_h += self._idle
        core_h = HORIZON_H * self._size
        return QuotaOutcome(idle_core_h / core_h, self._repeated_core_h / core_h)

    def _one_pass(self, queue: Sequence[int], hour: int) -> list[int]:
        left: list[int] = []
        requeued: list[int] = []
        for index in queue:
            job = self._jobs[index]
            if job.cores > self._idle and self._used[job.user] < self._quota:
                for victim in self._find_victims(job):
                    self._repeated_core_h += self._jobs[victim].cores * (hour - self._began[victim])
                    self._take_off(victim)
                    requeued.append(victim)
            if job.cores <= self._idle:
                self._idle -= job.cores
                self._used[job.user] += job.cores
                self._began[index] = hour
                self._ends.setdefault(hour + job.hours, []).append(index)
            else:
                left.append(index)
        return left + requeued

    def _find_victims(self, job: HourlyJob) -> list[int]:
        """The newest runs that suffice, none of which brings its owner below quota; none where they do not."""
        found: list[int] = []
        free, taken = self._idle, [0] * USERS
        for index in reversed(self._began):
            run = self._jobs[index]
            if run.user == job.user or self._used[run.user] - taken[run.user] - run.cores < self._quota:
                continue
            found.append(index)
            taken[run.user] += run.cores
            free += run.cores
            if free >= job.cores:
                return found
        return []

    def _take_off(self, index: int) -> None:
        del self._began[index]
        self._idle += self._jobs[index].cores
        self._used[self._jobs[index].user] -= self._jobs[index].cores
