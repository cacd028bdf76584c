"""Table 2's model: separate clusters, or clusters whose waiting jobs go to the first other that can start them.

Each hour: runs end, jobs arrive, each cluster starts what fits in submit order; then, with migration, the clusters in
order send what still waits to the first cluster that can start it at once. Idle cores are counted after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.hourly.random_jobs import HORIZON_H, HourlyJob


@dataclass(frozen=True)
class Migration:
    """``copy_h``: hours that a moved job's cores are held before it runs. ``per_pass``: moves a cluster may make an
    hour; None is any number."""

    copy_h: int = 0
    per_pass: int | None = None


@dataclass(frozen=True)
class ClustersOutcome:
    """``idle`` is R, from 0 to 1; ``moved`` the share of the jobs that started, ``wait_h`` their mean wait."""

    idle: float
    moved: float
    wait_h: float


def run_clusters(clusters: Sequence[Sequence[HourlyJob]], size: int, migration: Migration | None) -> ClustersOutcome:
    """The hours of the horizon on clusters of ``size`` cores each."""
    model = _Hours(clusters, size)
    for hour in range(HORIZON_H):
        model.begin(hour)
        if migration is not None:
            model.migrate(hour, migration)
        model.idle_core_h += sum(model.idle)
    return model.outcome()


class _Hours:
    def __init__(self, clusters: Sequence[Sequence[HourlyJob]], size: int) -> None:
        self._size = size
        self._arrivals: list[dict[int, list[HourlyJob]]] = []
        for jobs in clusters:
            by_hour: dict[int, list[HourlyJob]] = {}
            for job in jobs:
                by_hour.setdefault(job.submit_h, []).append(job)
            self._arrivals.append(by_hour)
        self._queues: list[list[HourlyJob]] = [[] for _ in clusters]
        self._ends: dict[int, list[tuple[int, int]]] = {}
        self.idle = [size for _ in clusters]
        self.idle_core_h = 0
        self._moved = self._started = self._waited_h = 0

    def begin(self, hour: int) -> None:
        """Ends, arrivals, and each cluster's own pass."""
        for cluster, cores in self._ends.pop(hour, ()):
            self.idle[cluster] += cores
        for cluster, arrivals in enumerate(self._arrivals):
            queue = self._queues[cluster]
            queue += arrivals.get(hour, ())
            left = []
            for job in queue:
                if job.cores <= self.idle[cluster]:
                    self._start(job, cluster, hour, job.hours)
                else:
                    left.append(job)
            self._queues[cluster] = left

    def migrate(self, hour: int, migration: Migration) -> None:
        """The pass in which jobs that wait go to the first cluster that can start them."""
        for source, queue in enumerate(self._queues):
            moves, left = 0, []
            for job in queue:
                may_move = migration.per_pass is None or moves < migration.per_pass
                target = self._find_target(job) if may_move else None
                if target is None:
                    left.append(job)
                else:
                    self._start(job, target, hour, job.hours + migration.copy_h)
                    moves += 1
            self._moved += moves
            self._queues[source] = left

    def outcome(self) -> ClustersOutcome:
        """The figures at the horizon."""
        core_h = HORIZON_H * self._size * len(self._queues)
        return ClustersOutcome(
            self.idle_core_h / core_h, self._moved / max(1, self._started), self._waited_h / max(1, self._started)
        )

    def _find_target(self, job: HourlyJob) -> int | None:
        return next((cluster for cluster, idle in enumerate(self.idle) if job.cores <= idle), None)

    def _start(self, job: HourlyJob, cluster: int, hour: int, hours: int) -> None:
        self.idle[cluster] -= job.cores
        self._ends.setdefault(hour + hours, []).append((cluster, job.cores))
        self._started += 1
        self._waited_h += hour - job.submit_h
