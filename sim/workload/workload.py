"""What a replay is given: jobs with their submit times, and the cluster they meet.

A workload is read from a trace (`sim.traces.swf`) or drawn from a model (`sim.workload.lublin`); the replay cannot tell
the difference. Jobs are ordered by submit time, then number; numbers are unique; what was left out is counted by cause.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sim.workload.reservation import Reservation

# Far above any machine there is; a typing mistake beyond it would fill the memory before it failed.
_MOST_NODES = 1_000_000
_MOST_CORES_PER_NODE = 100_000


@dataclass(frozen=True)
class TraceJob:
    """One job as it was recorded: what its user asked for, and how long it would really run.

    Times are seconds, `submit_s` from the start of the workload. `run_s` is at most `estimate_s`, since a job is
    killed at its estimate; it may be 0. `estimate_s` is at least 1. Whole numbers are ints where the trace has them.
    `application` is what the job runs, "" where nobody knows.
    """

    number: int
    submit_s: float
    run_s: float
    estimate_s: float
    cores: int
    user: str
    group: str
    application: str = ""


@dataclass(frozen=True)
class Cluster:
    """Equal nodes, each with the same number of cores, and what is reserved of them."""

    nodes: int
    cores_per_node: int
    reservations: tuple[Reservation, ...] = ()

    def __post_init__(self) -> None:
        for what, value, most in (
            ("nodes", self.nodes, _MOST_NODES),
            ("cores per node", self.cores_per_node, _MOST_CORES_PER_NODE),
        ):
            if not 1 <= value <= most:
                raise ValueError(f"cluster: {value} {what}: must be from 1 to {most:,}")

    @property
    def cores(self) -> int:
        """Cores of all nodes together."""
        return self.nodes * self.cores_per_node

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """Read `NODESxCORES`, such as `5832x16`; ValueError names the text and what is allowed."""
        match = re.fullmatch(r"([0-9]{1,12})[xX]([0-9]{1,12})", text.strip())
        if match is None:
            raise ValueError(f"cluster {text!r}: must be NODESxCORES, two whole numbers such as 5832x16")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.nodes}x{self.cores_per_node}"


@dataclass(frozen=True)
class Workload:
    """Jobs to replay, and what was left out of them.

    `cluster` is the one they were recorded on or drawn for, None where a workload was put together without one.
    `skipped` counts the records left out, by cause; `skipped_lines` has the first line numbers of each cause.
    `start_epoch` is the Unix time of second 0, None if unknown. `generated` tells a drawn workload from a recorded one.
    """

    name: str
    cluster: Cluster | None
    jobs: tuple[TraceJob, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    skipped_lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    start_epoch: int | None = None
    generated: bool = False


def describe_skipped(skipped: Mapping[str, int], lines: Mapping[str, tuple[int, ...]]) -> str:
    """What was left out, most frequent cause first: `3 left out: 2 not 18 fields (lines 7, 9), 1 ...`; "" if nothing.

    `lines` has the first line numbers of a cause, where they are known.
    """
    if not skipped:
        return ""
    causes = []
    for cause, count in sorted(skipped.items(), key=lambda item: (-item[1], item[0])):
        named = lines.get(cause, ())
        more = ", ..." if len(named) < count else ""
        where = f" (line{'s' if count > 1 else ''} {', '.join(map(str, named))}{more})" if named else ""
        causes.append(f"{count:,} {cause}{where}")
    return f"{sum(skipped.values()):,} left out: {', '.join(causes)}"
