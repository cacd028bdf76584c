"""The simulated MoMs: they run each job for its true run time, end it at its walltime, and report what it used.

A MoM never decides which job runs; it reports a job's end to the server, with the exit status that PBS would give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sim.pbs_server.objects.attributes import show_hours
from sim.pbs_server.objects.clock import Clock

KILLED = 271
"""Exit status of a deleted job: PBS's 256 plus the number of the signal, SIGTERM."""

WALLTIME_EXCEEDED = -29
REQUEUED = -11
"""PBS's own exit statuses for a job that was killed at its walltime, and for one that was requeued (its `job.h`)."""


class Use(NamedTuple):
    """The percent of its cores and of its memory that a job uses."""

    cpu_percent: int = 97
    memory_percent: int = 60


USUAL = Use()


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
        self._uses: dict[str, Use] = {}

    def start(
        self,
        job_id: str,
        process: Process,
        run_s: float,
        walltime_s: float | None,
        exit_status: int,
        use: Use = USUAL,
    ) -> None:
        """Start a job that ends with `exit_status` after `run_s`, unless its walltime is shorter."""
        self._uses[job_id] = use
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
                del self._processes[job_id], self._ends[job_id], self._uses[job_id]
                process.end(WALLTIME_EXCEEDED if too_long else exit_status)

        self._clock.after(max(last_s - (self._clock.now_s - process.begun_s), 1.0), finish)

    def kill(self, job_id: str) -> None:
        """End a job now without a report to the server; no effect on one that does not run."""
        self._processes.pop(job_id, None)
        self._ends.pop(job_id, None)
        self._uses.pop(job_id, None)

    def use_of(self, job_id: str) -> Use:
        """How much of what it holds a running job uses."""
        return self._uses.get(job_id, USUAL)

    def change_use(self, job_id: str, use: Use) -> None:
        """Let a running job use more or less, from its start on."""
        self._uses[job_id] = use

    def used(self, job_id: str) -> Mapping[str, str]:
        """A running job's `resources_used`; empty for one that does not run."""
        process = self._processes.get(job_id)
        if process is None:
            return {}
        use = self.use_of(job_id)
        ran_s = self._clock.now_s - process.begun_s
        memory_kib = process.memory_kib * use.memory_percent // 100
        return {
            "resources_used.cpupercent": str(process.cores * use.cpu_percent),
            "resources_used.cput": show_hours(ran_s * process.cores * use.cpu_percent / 100),
            "resources_used.mem": f"{memory_kib}kb",
            "resources_used.ncpus": str(process.cores),
            "resources_used.vmem": f"{memory_kib}kb",
            "resources_used.walltime": show_hours(ran_s),
        }
