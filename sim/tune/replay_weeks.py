"""Replays the weeks of a workload one by one under each setting, in a given number of processes.

A week's replay begins a week earlier on an empty cluster, measures only the jobs submitted in the week itself, and ends
with the week's last job. So a choice made on earlier weeks knows nothing of a later one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import reduce

from sim.replay.job_records import JobRecord
from sim.replay.metrics import bounded_slowdown, wait_s
from sim.replay.replay import replay
from sim.tune.candidate_settings import Candidate
from sim.workload.workload import WEEK_S, Cluster, Workload


@dataclass(frozen=True)
class Figures:
    """The figures of some jobs under one setting: sums, so that weeks can be added.

    `cut_jobs` were checkpointed at least once; `overhead_core_s` are the core-seconds that the jobs ran beyond their
    own work, for saving, restarting and repeating; `work_core_s` is that own work. `worst_delay_s` is the largest start
    minus promise of a reserved job, None without promises. `moved` counts how often a promise moved for a job with a
    better claim: the last one counts for `worst_delay_s`, the first for `worst_moved_delay_s` of the jobs whose promise
    moved.
    """

    jobs: int = 0
    slowdown_sum: float = 0.0
    wait_sum_s: float = 0.0
    cut_jobs: int = 0
    overhead_core_s: float = 0.0
    work_core_s: float = 0.0
    worst_delay_s: float | None = None
    moved: int = 0
    worst_moved_delay_s: float | None = None

    @property
    def slowdown(self) -> float:
        """Mean bounded slowdown, bound 10 s."""
        return self.slowdown_sum / self.jobs if self.jobs else 1.0

    @property
    def wait_s(self) -> float:
        """Mean wait in seconds."""
        return self.wait_sum_s / self.jobs if self.jobs else 0.0

    def plus(self, other: Figures) -> Figures:
        """The sum of both."""
        return Figures(
            self.jobs + other.jobs,
            self.slowdown_sum + other.slowdown_sum,
            self.wait_sum_s + other.wait_sum_s,
            self.cut_jobs + other.cut_jobs,
            self.overhead_core_s + other.overhead_core_s,
            self.work_core_s + other.work_core_s,
            _larger(self.worst_delay_s, other.worst_delay_s),
            self.moved + other.moved,
            _larger(self.worst_moved_delay_s, other.worst_moved_delay_s),
        )


def _larger(one: float | None, other: float | None) -> float | None:
    return max((each for each in (one, other) if each is not None), default=None)


def together(figures: Iterable[Figures]) -> Figures:
    """The sum of all, added in their order."""
    return reduce(Figures.plus, figures, Figures())


def figures_of(records: Iterable[JobRecord]) -> Figures:
    """The figures of these jobs."""
    return together(
        Figures(
            1,
            bounded_slowdown(record),
            wait_s(record),
            int(record.preemptions > 0),
            record.job.cores * (sum(end_s - start_s for start_s, end_s in record.segments) - record.job.run_s),
            record.job.cores * record.job.run_s,
            record.head_delay_s,
            record.moved,
            record.moved_delay_s,
        )
        for record in records
    )


@dataclass(frozen=True)
class Week:
    """The jobs submitted from `start_s` for a week; `number` counts the workload's weeks from 1."""

    number: int
    start_s: float

    @property
    def end_s(self) -> float:
        """The first moment after it."""
        return self.start_s + WEEK_S


def weeks_of(workload: Workload) -> list[Week]:
    """The full weeks from the first submit on. The rest at the end is left out."""
    first_s, last_s = workload.jobs[0].submit_s, workload.jobs[-1].submit_s
    return [Week(number + 1, first_s + number * WEEK_S) for number in range(int((last_s - first_s) // WEEK_S))]


def replay_week(workload: Workload, cluster: Cluster, week: Week, candidate: Candidate) -> Figures:
    """Replay the week and the one before it, and measure the week."""
    submits = [job.submit_s for job in workload.jobs]
    first, last = bisect_left(submits, week.start_s - WEEK_S), bisect_left(submits, week.end_s)
    stretch = replace(workload, jobs=workload.jobs[first:last], skipped={}, skipped_lines={})
    records = replay(stretch, cluster, candidate.policy()).records
    return figures_of(record for record in records if record.job.submit_s >= week.start_s)


Results = dict[tuple[int, int], Figures]
"""Figures by the indices of week and candidate."""


def replay_all(
    workload: Workload,
    cluster: Cluster,
    weeks: Sequence[Week],
    candidates: Sequence[Candidate],
    *,
    workers: int,
    progress: Callable[[int], object] | None = None,
) -> Results:
    """Replay every week under every candidate. `progress` is called with the number of finished replays."""
    tasks = [(week, candidate) for week in range(len(weeks)) for candidate in range(len(candidates))]
    results: Results = {}

    def take(task: tuple[int, int], figures: Figures) -> None:
        results[task] = figures
        if progress is not None:
            progress(len(results))

    if workers <= 1:
        for week, candidate in tasks:
            take((week, candidate), replay_week(workload, cluster, weeks[week], candidates[candidate]))
        return results
    with ProcessPoolExecutor(min(workers, len(tasks)), initializer=_prepare, initargs=(workload, cluster)) as pool:
        waiting = {
            pool.submit(_replay_prepared, weeks[week], candidates[candidate]): (week, candidate)
            for week, candidate in tasks
        }
        pending = set(waiting)
        try:
            while pending:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    take(waiting[future], future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


_prepared: list[tuple[Workload, Cluster]] = []
"""The workload and cluster of a worker process, given once instead of with each task."""


def _prepare(workload: Workload, cluster: Cluster) -> None:
    _prepared[:] = [(workload, cluster)]


def _replay_prepared(week: Week, candidate: Candidate) -> Figures:
    workload, cluster = _prepared[0]
    return replay_week(workload, cluster, week, candidate)
