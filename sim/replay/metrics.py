"""The figures of a replay for users and for the machine, as scheduling papers compare them.

Every figure is computed from the records of a replay alone; the definitions are in the docstring of `Metrics`, whose
fields have the names and order of `pbsteer simulate --json`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, fields

from sim.replay.job_records import JobRecord, Replay
from sim.workload.workload import Cluster

SLOWDOWN_BOUND_S = 10
SAMPLE_S = 3600


@dataclass(frozen=True)
class Metrics:
    """One policy's figures. Times are seconds, ratios from 0 to 1; None where there is nothing to measure.

    `skipped`             jobs left out, all causes together
    `measured_jobs`       those of which the figures from here to `users` are
    `mean_wait_s`         of end - submit - run time: time lost to preemption counts as waiting
    `p95_wait_s`, `p99_wait_s`, `max_wait_s`  95 % (99 %, all) of the jobs waited at most this long (nearest rank)
    `area_weighted_wait_s`  mean wait, each job weighted by its cores x run time: what a core-second of work waited
    `mean_bounded_slowdown`  of (end - submit) / max(run time, 10 s), at least 1 (Feitelson, JSSPP 2001)
    `p99_bounded_slowdown`, `max_bounded_slowdown`  99 % (all) of the jobs were slowed down at most so much
    `jain_index`, `users`  Jain's index of the users' mean bounded slowdowns: 1 if all fare alike, 1/n if one of n users
                          has all; how many users there are
    `utilization`         the jobs' own core-seconds / (cores x makespan): neither repeated work nor checkpoints count
    `idle_ratio`          idle cores / cores, mean of hourly samples from the first to the last submit
                          (docs/policies.md, P1)
    `makespan_s`          first submit to last end
    `preempted_jobs`, `preemptions`  jobs preempted at least once; preemptions of all jobs
    `checkpoint_core_s`, `lost_core_s`  charged for saving jobs; work that had to be repeated
    `max_head_delay_s`    largest of start - promise, below 0 if every start was early; None without a promise. Where a
                          promise moved for a job with a better claim, the last one counts
    `moved_promises`      how often a head's promise moved for a job with a better claim
    `max_moved_delay_s`   largest of start - first promise of the heads whose promise moved; None without any
    `cpu_s`, `jobs_per_cpu_s`  CPU time of the replay, reading excluded
    `reserved_core_s`     core-seconds of reservations from the first submit to the last end; None without reservations
    `ran`                 the numbers of the jobs that ran, which show whether policies are comparable; not a figure
    """

    policy: str
    jobs: int
    skipped: int
    measured_jobs: int
    mean_wait_s: float
    p95_wait_s: float
    p99_wait_s: float
    max_wait_s: float
    area_weighted_wait_s: float
    mean_bounded_slowdown: float
    p99_bounded_slowdown: float
    max_bounded_slowdown: float
    jain_index: float
    users: int
    utilization: float
    idle_ratio: float
    makespan_s: float
    preempted_jobs: int
    preemptions: int
    checkpoint_core_s: float
    lost_core_s: float
    max_head_delay_s: float | None
    cpu_s: float
    jobs_per_cpu_s: float | None
    reserved_core_s: float | None = None
    moved_promises: int = 0
    max_moved_delay_s: float | None = None
    ran: frozenset[int] = frozenset()

    def figures(self) -> dict[str, object]:
        """Each figure by its name, in order; `reserved_core_s` only where there are reservations."""
        values: dict[str, object] = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "ran"}
        if self.reserved_core_s is None:
            del values["reserved_core_s"]
        return values


def measure(replay: Replay, measured: Container[int] | None = None) -> Metrics:
    """The figures of a replay; waits and slowdowns of the jobs with ``measured`` numbers (None: of all). ValueError if
    it has no such jobs, or one of its jobs never ran.
    """
    records = replay.records
    if not records:
        raise ValueError(f"policy {replay.policy}: a replay without jobs has nothing to measure")
    for record in records:
        if not record.segments:
            raise ValueError(
                f"policy {replay.policy}: job {record.job.number} never ran; every job of a replay must end"
            )
    counted = records if measured is None else [record for record in records if record.job.number in measured]
    if not counted:
        raise ValueError(f"policy {replay.policy}: none of the jobs that are measured ran")
    waits, slowdowns = sorted(map(wait_s, counted)), sorted(map(bounded_slowdown, counted))
    of_users = mean_slowdown_by_user(counted)
    area = sum(map(area_s, counted))
    first_s, last_s = min(record.job.submit_s for record in records), max(record.end_s for record in records)
    makespan_s = last_s - first_s
    capacity_core_s = replay.cluster.cores * makespan_s
    own_core_s = sum(record.job.cores * record.job.run_s for record in records)
    return Metrics(
        policy=replay.policy,
        jobs=len(records),
        skipped=sum(replay.skipped.values()),
        measured_jobs=len(counted),
        mean_wait_s=sum(waits) / len(waits),
        p95_wait_s=percentile(waits, 95),
        p99_wait_s=percentile(waits, 99),
        max_wait_s=waits[-1],
        area_weighted_wait_s=sum(area_s(record) * wait_s(record) for record in counted) / area if area else 0.0,
        mean_bounded_slowdown=sum(map(bounded_slowdown, counted)) / len(counted),
        p99_bounded_slowdown=percentile(slowdowns, 99),
        max_bounded_slowdown=slowdowns[-1],
        jain_index=jain_index(of_users),
        users=len(of_users),
        utilization=own_core_s / capacity_core_s if capacity_core_s else 0.0,
        idle_ratio=idle_ratio(records, replay.cluster.cores),
        makespan_s=makespan_s,
        preempted_jobs=sum(record.preemptions > 0 for record in records),
        preemptions=sum(record.preemptions for record in records),
        checkpoint_core_s=replay.checkpoint_core_s,
        lost_core_s=replay.lost_core_s,
        max_head_delay_s=max((r.head_delay_s for r in records if r.head_delay_s is not None), default=None),
        cpu_s=replay.cpu_s,
        jobs_per_cpu_s=len(records) / replay.cpu_s if replay.cpu_s else None,
        moved_promises=sum(r.moved for r in records),
        max_moved_delay_s=max((r.moved_delay_s for r in records if r.moved_delay_s is not None), default=None),
        reserved_core_s=_reserved_core_s(replay.cluster, first_s, last_s) if replay.cluster.reservations else None,
        ran=frozenset(record.job.number for record in records),
    )


def _reserved_core_s(cluster: Cluster, first_s: float, last_s: float) -> float:
    return sum(each.core_s_between(first_s, last_s, cluster.cores_per_node) for each in cluster.reservations)


def percentile(ranked: Sequence[float], percent: int) -> float:
    """The value that so many per cent of the ranked values do not exceed (nearest rank)."""
    return ranked[max(0, -(-percent * len(ranked) // 100) - 1)]


def area_s(record: JobRecord) -> float:
    """The core-seconds of a job's own work."""
    return record.job.cores * record.job.run_s


def mean_slowdown_by_user(records: Sequence[JobRecord]) -> list[float]:
    """The mean bounded slowdown of each user's jobs."""
    sums: dict[str, tuple[float, int]] = {}
    for record in records:
        slowdown, jobs = sums.get(record.job.user, (0.0, 0))
        sums[record.job.user] = (slowdown + bounded_slowdown(record), jobs + 1)
    return [slowdown / jobs for slowdown, jobs in sums.values()]


def jain_index(values: Sequence[float]) -> float:
    """(sum of values)^2 / (n x sum of their squares): 1 if all are equal (R. Jain, D. Chiu, W. Hawe, DEC TR-301, 1984).

    Of slowdowns, not of their inverses, as K. Mahajan et al. have it of the ratio of shared to exclusive run time
    ("Themis: fair and efficient GPU cluster scheduling", NSDI 2020).
    """
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def wait_s(record: JobRecord) -> float:
    """Seconds that a job was in the system beyond its own run time."""
    return record.end_s - record.job.submit_s - record.job.run_s


def bounded_slowdown(record: JobRecord) -> float:
    """How many times longer than on an empty machine the job took; very short jobs count as 10 s long."""
    return max(1.0, (record.end_s - record.job.submit_s) / max(record.job.run_s, SLOWDOWN_BOUND_S))


def idle_ratio(records: Sequence[JobRecord], cores: int) -> float:
    """Idle cores / cores, mean of hourly samples from the first to the last submit, both included."""
    first_s = min(record.job.submit_s for record in records)
    last_s = max(record.job.submit_s for record in records)
    busy = busy_cores(records, first_s, SAMPLE_S, int((last_s - first_s) // SAMPLE_S) + 1)
    return 1.0 - sum(busy) / (len(busy) * cores)


def busy_cores(records: Sequence[JobRecord], first_s: float, every_s: float, samples: int) -> list[int]:
    """Busy cores at `first_s`, `first_s + every_s`, ...; a run [start, end) is busy at its start, idle at its end."""
    changes = [0] * (samples + 1)
    for record in records:
        for start_s, end_s in record.segments:
            changes[_first_sample(start_s - first_s, every_s, samples)] += record.job.cores
            changes[_first_sample(end_s - first_s, every_s, samples)] -= record.job.cores
    busy, level = [], 0
    for change in changes[:samples]:
        level += change
        busy.append(level)
    return busy


def _first_sample(time_s: float, every_s: float, samples: int) -> int:
    """Index of the first sample at or after a time, within 0 and `samples`."""
    return min(max(0, int(-(-time_s // every_s))), samples)
