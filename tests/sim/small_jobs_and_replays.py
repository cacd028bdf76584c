"""Small jobs, records and replays for tests, and where the shared traces are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sim.replay.job_records import JobRecord, Replay
from sim.workload.workload import Cluster, TraceJob

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
KTH = TRACES / "KTH-SP2-1996-2.1-cln.swf.gz"
CURIE = TRACES / "CEA-Curie-2011-2.1-cln.swf.gz"


def needs(trace: Path) -> pytest.MarkDecorator:
    """Skips a test, visibly, where a shared trace is absent."""
    return pytest.mark.skipif(not trace.is_file(), reason=f"no trace {trace.name} in {TRACES}")


def a_job(number: int = 1, submit_s: float = 0, run_s: float = 100, cores: int = 1, user: str = "alice") -> TraceJob:
    return TraceJob(number, submit_s, run_s, max(1, run_s), cores, user, "chem")


def ran(
    job: TraceJob,
    *segments: tuple[float, float],
    vnodes: tuple[str, ...] = ("v1",),
    head_delay_s: float | None = None,
) -> JobRecord:
    """A job with the runs given; every run but the last was preempted."""
    return JobRecord(job, segments, vnodes, len(segments) - 1, head_delay_s)


def a_replay(
    *records: JobRecord, policy: str = "easy", nodes: int = 4, skipped: dict[str, int] | None = None
) -> Replay:
    return Replay(policy, Cluster(nodes, 1), records, skipped or {}, 0.5, 0.0, 0.0)


def swf_record(
    number: object = 1,
    submit: object = 0,
    *,
    run: object = 100,
    used: object = 4,
    requested: object = 4,
    estimate: object = 200,
    user: object = 7,
    group: object = 8,
    executable: object = -1,
    status: object = 1,
) -> str:
    """One line of a trace; what a replay does not read is -1."""
    fields: Sequence[object] = (
        number, submit, -1, run, used, -1, -1, requested, estimate, -1, status, user, group, executable, -1, -1, -1, -1,
    )  # fmt: skip
    return " ".join(map(str, fields))


def swf_text(*records: str, nodes: object = 100, procs: object = 100) -> str:
    return "\n".join((f"; MaxNodes: {nodes}", f"; MaxProcs: {procs}", *records, ""))
