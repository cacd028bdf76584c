"""The figures of a replay for users and for the machine, as scheduling papers compare them.

Every figure is computed from the records of a replay alone; the definitions are in the docstring of `Metrics`, whose
fields have the names and order of `pbsteer simulate --json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from sim.replay.job_records import JobRecord, Replay
from sim.workload.workload import Cluster

SLOWDOWN_BOUND_S = 10
SAMPLE_S = 3600


@dataclass(frozen=True)
class Metrics:
    """One policy's figures. Times are seconds, ratios from 0 to 1; None where there is nothing to measure.

    `skipped`             jobs left out, all causes together
    `mean_wait_s`         of end - submit - run time: time lost to preemption counts as waiting
    `p95_wait_s`          95 % of the jobs waited at most this long (nearest rank)
    `mean_bounded_slowdown`  of (end - submit) / max(run time, 10 s), at least 1 (Feitelson, JSSPP 2001)
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
    mean_wait_s: float
    p95_wait_s: float
    mean_bounded_slowdown: float
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


def measure(replay: Replay) -> Metrics:
    """The figures of a replay. ValueError if it has no jobs, or one of them never ran."""
    records = replay.records
    if not records:
        raise ValueError(f"policy {replay.policy}: a replay without jobs has nothing to measure")
    for record in records:
        if not record.segments:
            raise ValueError(
                f"policy {replay.policy}: job {record.job.number} never ran; every job of a replay must end"
            )
    waits = sorted(wait_s(record) for record in records)
    first_s, last_s = min(record.job.submit_s for record in records), max(record.end_s for record in records)
    makespan_s = last_s - first_s
    capacity_core_s = replay.cluster.cores * makespan_s
    own_core_s = sum(record.job.cores * record.job.run_s for record in records)
    return Metrics(
        policy=replay.policy,
        jobs=len(records),
        skipped=sum(replay.skipped.values()),
        mean_wait_s=sum(waits) / len(waits),
        p95_wait_s=waits[-(-95 * len(waits) // 100) - 1],
        mean_bounded_slowdown=sum(map(bounded_slowdown, records)) / len(records),
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
