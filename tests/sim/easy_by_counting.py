"""First come, first served and EASY backfilling on a bare count of cores: an oracle to compare the replay with.

Written from the rules alone (docs/policies.md, P3 without its shrunk estimates) and sharing nothing with the engine but
the types: no vnodes, no quotas, no passes. All ends and submits of one second happen before anything is decided in it.
"""

from __future__ import annotations

import heapq

from sim.replay.job_records import JobRecord
from sim.workload.workload import TraceJob, Workload


def count(workload: Workload, cores: int, policy: str) -> list[JobRecord]:
    """What `fcfs`, `easy` or `easy-sjbf` does: nothing overtakes; what does not delay the head; by estimate."""
    cluster = _Cluster(workload, cores)
    return cluster.run(backfill=policy != "fcfs", shortest_first=policy == "easy-sjbf")


class _Cluster:
    def __init__(self, workload: Workload, cores: int) -> None:
        self._coming = list(reversed(workload.jobs))
        self._free = cores
        self._now_s: float = 0
        self._queue: list[TraceJob] = []
        self._ends: list[tuple[float, int, TraceJob]] = []
        self._expected: dict[int, tuple[float, int]] = {}
        self._promised_s: dict[int, float] = {}
        self._records: list[JobRecord] = []

    def run(self, *, backfill: bool, shortest_first: bool) -> list[JobRecord]:
        while self._coming or self._ends:
            self._advance()
            while self._queue and self._queue[0].cores <= self._free:
                self._start(self._queue.pop(0))
            if self._queue and backfill:
                self._backfill(shortest_first=shortest_first)
        return self._records

    def _advance(self) -> None:
        """To the next end or submit, and all that happens then."""
        nexts = [self._ends[0][0]] if self._ends else []
        self._now_s = min([*nexts, self._coming[-1].submit_s] if self._coming else nexts)
        while self._ends and self._ends[0][0] <= self._now_s:
            _, number, job = heapq.heappop(self._ends)
            self._free += job.cores
            del self._expected[number]
        while self._coming and self._coming[-1].submit_s <= self._now_s:
            self._queue.append(self._coming.pop())

    def _start(self, job: TraceJob) -> None:
        end_s = self._now_s + job.run_s
        self._free -= job.cores
        self._expected[job.number] = (self._now_s + job.estimate_s, job.cores)
        heapq.heappush(self._ends, (end_s, job.number, job))
        promised_s = self._promised_s.get(job.number)
        delay_s = None if promised_s is None else self._now_s - promised_s
        self._records.append(JobRecord(job, ((self._now_s, end_s),), (), 0, delay_s))

    def _backfill(self, *, shortest_first: bool) -> None:
        head, *others = self._queue
        shadow_s, spare = self._reserve(head)
        self._promised_s.setdefault(head.number, shadow_s)
        if shortest_first:
            others.sort(key=lambda job: job.estimate_s)
        started = set()
        for job in others:
            in_time = self._now_s + job.estimate_s <= shadow_s
            if job.cores <= self._free and (in_time or job.cores <= spare):
                spare -= 0 if in_time else job.cores
                self._start(job)
                started.add(job.number)
        self._queue = [job for job in self._queue if job.number not in started]

    def _reserve(self, head: TraceJob) -> tuple[float, int]:
        """When the head fits by the running jobs' estimates, and how many cores it will leave free then."""
        free = self._free
        shadow_s = self._now_s
        for end_s, cores in sorted(self._expected.values()):
            if free >= head.cores and end_s > shadow_s:
                break
            free += cores
            shadow_s = max(shadow_s, end_s)
        return shadow_s, free - head.cores
