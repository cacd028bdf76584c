"""Replays of whole traces whose results are kept in files, so that hours of work can stop and go on.

A result is used again only for the same file and the same program: it has the digest of the trace, and of the modules
that decide and replay.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

from sim.figures.evidence_traces import EvidenceTrace, sha256_of
from sim.replay.job_records import JobRecord, Replay
from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.workload.workload import Cluster, Workload

_PROJECT = Path(__file__).resolve().parents[2]
_DECIDING = ("policy", "sim/replay", "sim/traces", "sim/workload")


class KeptReplays:
    """The results of the policies on one trace, in a folder of their own."""

    def __init__(self, folder: Path, trace: EvidenceTrace, path: Path) -> None:
        self._folder = folder
        self._trace = trace
        self._made_of = {"trace_sha256": sha256_of(path), "program_sha256": program_sha256()}

    def find(self, policy: str, workload: Workload, cluster: Cluster) -> Replay | None:
        """The kept result; None if there is none of this trace and this program."""
        try:
            with gzip.open(self._path(policy), "rt", encoding="utf-8") as file:
                kept = json.load(file)
        except (OSError, ValueError):
            return None
        if kept["made_of"] != self._made_of:
            return None
        return _from_data(kept, workload, cluster)

    def make(
        self, policy: str, workload: Workload, cluster: Cluster, progress: Callable[[int], None] | None = None
    ) -> Replay:
        """Replay the whole trace, and keep the result. Raises OSError if it cannot be kept."""
        made = replay(workload, cluster, resolve(policy, workload, cluster), progress)
        path = self._path(policy)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.new")
        with gzip.open(unfinished, "wt", encoding="utf-8") as file:
            json.dump({"made_of": self._made_of, **_to_data(made)}, file)
        unfinished.replace(path)
        return made

    def _path(self, policy: str) -> Path:
        return self._folder / self._trace.file / f"{policy}.json.gz"


def program_sha256() -> str:
    """The digest of the modules that decide and replay, by name and text."""
    found = hashlib.sha256()
    for folder in _DECIDING:
        for path in sorted((_PROJECT / folder).rglob("*.py")):
            found.update(str(path.relative_to(_PROJECT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def _to_data(made: Replay) -> dict[str, Any]:
    return {
        "policy": made.policy,
        "skipped": dict(made.skipped),
        "cpu_s": made.cpu_s,
        "checkpoint_core_s": made.checkpoint_core_s,
        "lost_core_s": made.lost_core_s,
        "columns": ["job", "runs", "preemptions", "head_delay_s", "moved", "moved_delay_s"],
        "records": [
            [each.job.number, each.segments, each.preemptions, each.head_delay_s, each.moved, each.moved_delay_s]
            for each in made.records
        ],
    }


def _from_data(kept: Mapping[str, Any], workload: Workload, cluster: Cluster) -> Replay:
    jobs = {job.number: job for job in workload.jobs}
    records = [
        JobRecord(jobs[number], tuple((start, end) for start, end in runs), (), preemptions, delay, moved, moved_delay)
        for number, runs, preemptions, delay, moved, moved_delay in kept["records"]
    ]
    return Replay(
        kept["policy"], cluster, records, kept["skipped"], kept["cpu_s"], kept["checkpoint_core_s"], kept["lost_core_s"]
    )
