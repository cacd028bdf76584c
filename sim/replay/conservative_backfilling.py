"""Conservative backfilling, only for comparison: pbsteer itself never decides so.

Every job gets a start when it is submitted, the earliest that delays no job before it (A. W. Mu'alem, D. G. Feitelson,
IEEE TPDS 12(6), 2001; README.md).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import inf
from time import process_time

from policy.model.allocation import Allocation, Spot
from sim.replay.job_records import ENDED, JobRecord, Replay, RunRecord
from sim.workload.workload import Cluster, TraceJob, Workload

NAME = "conservative"
_PROGRESS_EVERY = 1000


class Profile:
    """The cores that are free at each time from now on, as planned: steps that begin at ``times``, the last lasting for
    ever."""

    def __init__(self, cores: int) -> None:
        self.times: list[float] = [-inf]
        self.free: list[int] = [cores]

    def change(self, start_s: float, end_s: float, cores: int) -> None:
        """Add cores (or take some, if negative) from ``start_s`` until before ``end_s``."""
        if start_s >= end_s:
            return
        first, last = self._step(start_s), self._step(end_s)
        for index in range(first, last):
            self.free[index] += cores
        self._merge(last)
        self._merge(first)

    def earliest(self, cores: int, lasts_s: float, from_s: float) -> float:
        """The first time from ``from_s`` on at which so many cores are free for so long."""
        times, free = self.times, self.free
        index, count = max(0, bisect_right(times, from_s) - 1), len(times)
        start_s, begins = from_s, index
        while True:
            if free[index] < cores:
                begins = index + 1
                start_s = times[begins]
            elif index + 1 == count or times[index + 1] >= start_s + lasts_s:
                return start_s
            index += 1

    def forget_before(self, now_s: float) -> None:
        """Drop the steps that are over."""
        over = bisect_right(self.times, now_s) - 1
        if over > 0:
            del self.times[:over], self.free[:over]

    def _step(self, at_s: float) -> int:
        """The index of the step that begins then; one is made where none does."""
        index = bisect_left(self.times, at_s)
        if index == len(self.times) or self.times[index] != at_s:
            self.times.insert(index, at_s)
            self.free.insert(index, self.free[index - 1])
        return index

    def _merge(self, index: int) -> None:
        if 0 < index < len(self.times) and self.free[index] == self.free[index - 1]:
            del self.times[index], self.free[index]


class _Nodes:
    """Which cores of which nodes a run has: those of the lowest nodes that have some."""

    def __init__(self, cluster: Cluster) -> None:
        width = len(str(cluster.nodes))
        self._names = [f"n{number:0{width}}" for number in range(1, cluster.nodes + 1)]
        self._free = [cluster.cores_per_node] * cluster.nodes
        self._open = list(range(cluster.nodes))
        heapify(self._open)

    def take(self, cores: int) -> Allocation:
        spots = []
        while cores:
            node = self._open[0]
            given = min(cores, self._free[node])
            spots.append(Spot(self._names[node], (("ncpus", given),), 1))
            self._free[node] -= given
            cores -= given
            if not self._free[node]:
                heappop(self._open)
        return Allocation(tuple(spots))

    def give_back(self, allocation: Allocation) -> None:
        for spot in allocation.spots:
            node = int(spot.vnode[1:]) - 1
            if not self._free[node]:
                heappush(self._open, node)
            self._free[node] += dict(spot.amounts)["ncpus"]


def replay_conservatively(
    workload: Workload,
    cluster: Cluster,
    progress: Callable[[int], None] | None = None,
    *,
    keep_runs: bool = False,
) -> Replay:
    """Run the workload to its end, as :func:`sim.replay.replay.replay` does. Every job's first planned start counts as
    its promise. The cluster's reservations do not count.
    """
    began_s = process_time()
    run = _Run(workload, cluster, progress, keep_runs=keep_runs)
    run.to_the_end()
    return Replay(NAME, cluster, run.records(), dict(workload.skipped), process_time() - began_s, 0.0, 0.0)


class _Run:
    def __init__(
        self, workload: Workload, cluster: Cluster, progress: Callable[[int], None] | None, *, keep_runs: bool
    ) -> None:
        self._jobs = workload.jobs
        self._progress = progress
        self._keep_runs = keep_runs
        self._profile = Profile(cluster.cores)
        self._nodes = _Nodes(cluster)
        self._waiting: dict[int, TraceJob] = {}
        """In order of submission."""
        self._planned_s: dict[int, float] = {}
        self._promised_s: dict[int, float] = {}
        self._ends: list[tuple[float, int, float, TraceJob, Allocation]] = []
        """The end of each run, the job's number, and its start."""
        self._records: dict[int, JobRecord] = {}

    def to_the_end(self) -> None:
        jobs, next_job = self._jobs, 0
        while next_job < len(jobs) or self._ends or self._waiting:
            submit_s = jobs[next_job].submit_s if next_job < len(jobs) else inf
            now_s = min(self._ends[0][0] if self._ends else inf, submit_s, min(self._planned_s.values(), default=inf))
            self._profile.forget_before(now_s)
            ended_early = self._end_runs(now_s)
            if ended_early:
                self._move_forward(now_s)
            while next_job < len(jobs) and jobs[next_job].submit_s == now_s:
                self._plan(jobs[next_job], now_s)
                next_job += 1
            self._start_planned(now_s)

    def _end_runs(self, now_s: float) -> bool:
        """End the runs whose time has come; True if one ended before its estimate."""
        early = False
        while self._ends and self._ends[0][0] == now_s:
            _, _, start_s, job, allocation = heappop(self._ends)
            self._nodes.give_back(allocation)
            self._profile.change(now_s, start_s + job.estimate_s, job.cores)
            early = early or now_s < start_s + job.estimate_s
            self._record(job, start_s, now_s, allocation)
        return early

    def _plan(self, job: TraceJob, now_s: float) -> None:
        start_s = self._profile.earliest(job.cores, job.estimate_s, now_s)
        self._profile.change(start_s, start_s + job.estimate_s, -job.cores)
        self._waiting[job.number] = job
        self._planned_s[job.number] = self._promised_s[job.number] = start_s

    def _move_forward(self, now_s: float) -> None:
        """Plan each waiting job anew, in order of submission. What it had is free meanwhile, so that it never moves
        backward."""
        profile, planned_s = self._profile, self._planned_s
        for number, job in self._waiting.items():
            before_s = planned_s[number]
            profile.change(before_s, before_s + job.estimate_s, job.cores)
            start_s = profile.earliest(job.cores, job.estimate_s, now_s)
            profile.change(start_s, start_s + job.estimate_s, -job.cores)
            planned_s[number] = start_s

    def _start_planned(self, now_s: float) -> None:
        for number in [number for number, at_s in self._planned_s.items() if at_s <= now_s]:
            job = self._waiting.pop(number)
            del self._planned_s[number]
            allocation = self._nodes.take(job.cores)
            heappush(self._ends, (now_s + job.run_s, number, now_s, job, allocation))

    def _record(self, job: TraceJob, start_s: float, end_s: float, allocation: Allocation) -> None:
        promised_s = self._promised_s.pop(job.number)
        run = RunRecord(start_s, end_s, allocation, False, None, promised_s, job.submit_s, None, ENDED)
        runs = (run,) if self._keep_runs else ()
        self._records[job.number] = JobRecord(
            job, ((start_s, end_s),), allocation.vnodes, 0, start_s - promised_s, runs=runs
        )
        if self._progress is not None and len(self._records) % _PROGRESS_EVERY == 1:
            self._progress(len(self._records))

    def records(self) -> list[JobRecord]:
        """Each job, in order of submission."""
        return [self._records[job.number] for job in self._jobs]
