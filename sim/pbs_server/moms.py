"""The simulated MoMs: they run each job for its true run time, end it at its walltime, and report what it used.

A MoM never decides which job runs; it reports a job's end to the server, with the exit status that PBS would give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sim.pbs_server.attributes import show_hours
from sim.pbs_server.clock import Clock

KILLED = 271
"""Exit status of a deleted job: PBS's 256 plus the number of the signal, SIGTERM."""

WALLTIME_EXCEEDED = -29
REQUEUED = -11
"""PBS's own exit statuses for a job that was killed at its walltime, and for one that was requeued (its `job.h`)."""

CPU_SHARE_PERCENT = 97
MEMORY_SHARE_PERCENT = 60
"""Percent of its cores and of its memory that a job uses."""


class Process(NamedTuple):
    """A job as its MoM sees it. `end` is called with the exit status when it ends by itself or by its walltime."""

    begun_s: float
    cores: int
    memory_kib: int
    end: Callable[[int], None]


class Moms:
    """All MoMs of a simulated cluster, which share one clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._processes: dict[str, Process] = {}
        self._ends: dict[str, tuple[float, int]] = {}

    def start(self, job_id: str, process: Process, run_s: float, walltime_s: float | None, exit_status: int) -> None:
        """Start a job that ends with `exit_status` after `run_s`, unless its walltime is shorter."""
        self._ends[job_id] = (run_s, exit_status)
        self._end_later(job_id, process, run_s, walltime_s, exit_status)

    def change_walltime(self, job_id: str, walltime_s: float | None) -> None:
        """Give a running job another walltime, counted from its start; no effect on one that does not run."""
        process = self._processes.get(job_id)
        if process is not None:
            # A new object: the end event planned for the old walltime finds another process, and does nothing.
            self._end_later(job_id, process._replace(), self._ends[job_id][0], walltime_s, self._ends[job_id][1])

    def _end_later(
        self, job_id: str, process: Process, run_s: float, walltime_s: float | None, exit_status: int
    ) -> None:
        self._processes[job_id] = process
        too_long = walltime_s is not None and walltime_s < run_s
        last_s = walltime_s if too_long and walltime_s is not None else run_s

        def finish() -> None:
            # A job that was killed, and perhaps started again, is another process by now.
            if self._processes.get(job_id) is process:
                del self._processes[job_id], self._ends[job_id]
                process.end(WALLTIME_EXCEEDED if too_long else exit_status)

        self._clock.after(max(last_s - (self._clock.now_s - process.begun_s), 1.0), finish)

    def kill(self, job_id: str) -> None:
        """End a job now without a report to the server; no effect on one that does not run."""
        self._processes.pop(job_id, None)
        self._ends.pop(job_id, None)

    def used(self, job_id: str) -> Mapping[str, str]:
        """A running job's `resources_used`; empty for one that does not run."""
        process = self._processes.get(job_id)
        if process is None:
            return {}
        ran_s = self._clock.now_s - process.begun_s
        memory_kib = process.memory_kib * MEMORY_SHARE_PERCENT // 100
        return {
            "resources_used.cpupercent": str(process.cores * CPU_SHARE_PERCENT),
            "resources_used.cput": show_hours(ran_s * process.cores * CPU_SHARE_PERCENT / 100),
            "resources_used.mem": f"{memory_kib}kb",
            "resources_used.ncpus": str(process.cores),
            "resources_used.vmem": f"{memory_kib}kb",
            "resources_used.walltime": show_hours(ran_s),
        }
