"""The start times that requested walltimes alone give, as `qstat -T`, `squeue --start` and `showstart` do.

All runs and jobs take their full requested walltime. In queue order each waiting job gets the earliest place that is
free for its whole time, and keeps it against those behind it (conservative backfilling, on numbers of cores).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run


def planned_starts(now_s: float, cores: int, runs: Iterable[Run], waiting: Iterable[Job]) -> dict[str, float]:
    """When each waiting job would start, by id; ``waiting`` is in queue order. Jobs that never fit are left out."""
    times_s, free = _profile(now_s, cores, runs)
    starts: dict[str, float] = {}
    for job in waiting:
        need, left_s = job.cores, job.left_s
        first = _first_fit(times_s, free, need, left_s)
        if first is None:
            continue
        starts[job.id] = times_s[first]
        end_s = times_s[first] + left_s
        last = len(times_s)
        if end_s != UNLIMITED_S:
            last = bisect_left(times_s, end_s)
            if last == len(times_s) or times_s[last] != end_s:
                times_s.insert(last, end_s)
                free.insert(last, free[last - 1])
        for index in range(first, last):
            free[index] -= need
    return starts


def _profile(now_s: float, cores: int, runs: Iterable[Run]) -> tuple[list[float], list[int]]:
    """The free cores from each moment on at which runs end."""
    times_s, free = [now_s], [cores]
    for run in sorted(runs, key=lambda run: run.end_s):
        free[0] -= run.job.cores
    level = free[0]
    for run in sorted(runs, key=lambda run: run.end_s):
        if run.end_s == UNLIMITED_S:
            break
        level += run.job.cores
        end_s = max(now_s, run.end_s)
        if times_s[-1] == end_s:
            free[-1] = level
        else:
            times_s.append(end_s)
            free.append(level)
    return times_s, free


def _first_fit(times_s: list[float], free: list[int], need: int, left_s: float) -> int | None:
    """The index of the first moment from which so many cores stay free for so long."""
    index, count = 0, len(times_s)
    while index < count:
        until = bisect_left(times_s, times_s[index] + left_s)
        short = next((at for at in range(until - 1, index - 1, -1) if free[at] < need), None)
        if short is None:
            return index
        index = short + 1
    return None
