"""The result of a replay: for each job when and where it ran, and the sums over all jobs.

Metrics, tables and plots are computed from these records alone, so that every policy is measured by the same code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from policy.model.allocation import Allocation
from sim.workload.workload import Cluster, TraceJob

ENDED = "ended"
"""Why a run ended that did so by itself."""


class RunRecord(NamedTuple):
    """One run of a job: from `start_s` to `end_s` in an allocation, and what is needed to check that it was right.

    `class_` is its class (P2), None without priorities. `promised_s` is the start that the job was promised when the
    run started, `promised_at_s` when it was given the promise, `first_promised_s` the first one if it has moved since;
    None without a promise. `why` is `ended`, or the code of the reason for which the run was preempted for
    `beneficiary`. The preemption charged `charged_core_s` for saving, and `repeated_core_s` of its work were lost.
    """

    start_s: float
    end_s: float
    allocation: Allocation
    backfilled: bool
    class_: int | None
    promised_s: float | None
    promised_at_s: float | None
    first_promised_s: float | None
    why: str = ENDED
    beneficiary: str = ""
    charged_core_s: float = 0.0
    repeated_core_s: float = 0.0


class JobRecord(NamedTuple):
    """One job in the replay.

    `segments` are the (start, end) of each of its runs in order of time, in seconds of the workload, never empty: a
    preempted run ends when its cores became free. `vnodes` are those of the last run. `head_delay_s` is a start minus
    the start promised to the job as a head, the largest of all its starts; None if it was never promised one. `moved`
    counts how often its promise moved for a job with a better claim: `head_delay_s` is then measured from the last
    promise, and `moved_delay_s` from the first. `runs` has the runs one by one, if the replay kept them.
    """

    job: TraceJob
    segments: tuple[tuple[float, float], ...]
    vnodes: tuple[str, ...]
    preemptions: int
    head_delay_s: float | None
    moved: int = 0
    moved_delay_s: float | None = None
    runs: tuple[RunRecord, ...] = ()

    @property
    def start_s(self) -> float:
        """When the job first started."""
        return self.segments[0][0]

    @property
    def end_s(self) -> float:
        """When the job ended for good."""
        return self.segments[-1][1]


@dataclass(frozen=True)
class Replay:
    """One workload under one policy.

    `cpu_s` is the CPU time of the replay itself, reading excluded. `checkpoint_core_s` are the core-seconds charged for
    saving jobs, `lost_core_s` those of work that had to be repeated. `skipped` counts the jobs left out, by cause.
    """

    policy: str
    cluster: Cluster
    records: Sequence[JobRecord]
    skipped: Mapping[str, int]
    cpu_s: float
    checkpoint_core_s: float
    lost_core_s: float
