"""The state of one job of a replay: its run under way, its promise, and what its earlier runs have left.

It is changed while the replay goes on; what is left of it at the end is a :class:`~sim.replay.job_records.JobRecord`.
"""

from __future__ import annotations

from math import inf
from typing import Final

from policy import Job
from policy.model.allocation import Allocation
from policy.plan.plan_types import MovedPromise, Preempt, Start
from sim.replay.job_records import ENDED, RunRecord
from sim.workload.workload import TraceJob

NEVER_S: Final = inf
"""The end of a run that is not under way."""


def _latest(before_s: float | None, promised_s: float | None, now_s: float) -> float | None:
    """The longest delay so far, including that of a start now."""
    if promised_s is None:
        return before_s
    return now_s - promised_s if before_s is None else max(before_s, now_s - promised_s)


class JobLife:
    """The state of one job. ``end_s`` is the present end of its run, infinite while none is under way; ``allocation``
    is that of its last run, None while it waits. ``promised_s`` is the start promised to it as a head, since
    ``promised_at_s``; ``first_promised_s`` the first promise if that moved; all are None after its start. ``run`` is
    the run under way and ``kept`` the runs that are over, where runs are kept.
    """

    allocation: Allocation | None = None
    start_s: float = 0.0
    end_s: float = NEVER_S
    first_start_s: float | None = None
    promised_s: float | None = None
    promised_at_s: float | None = None
    first_promised_s: float | None = None
    head_delay_s: float | None = None
    moved_delay_s: float | None = None
    moved: int = 0
    preemptions: int = 0
    runs: tuple[tuple[float, float], ...] = ()
    run: RunRecord | None = None
    kept: tuple[RunRecord, ...] = ()

    def __init__(self, trace: TraceJob, job: Job) -> None:
        self.trace = trace
        self.job = job

    def move_promise(self, moved: MovedPromise, now_s: float) -> None:
        """The job's promise has moved for a job with a better claim."""
        self.moved += 1
        if self.first_promised_s is None:
            self.first_promised_s = moved.was_s
        self.promised_s, self.promised_at_s = moved.at_s, None if moved.at_s is None else now_s

    def note_delay(self, now_s: float) -> None:
        """The job starts: note the delay after its promise and, where that moved, after its first promise."""
        if self.promised_s is None and self.first_promised_s is None:
            return
        self.head_delay_s = _latest(self.head_delay_s, self.promised_s, now_s)
        self.moved_delay_s = _latest(self.moved_delay_s, self.first_promised_s, now_s)
        self.promised_s = self.promised_at_s = self.first_promised_s = None

    def begin_run(self, start: Start, class_: int | None, now_s: float) -> None:
        """Note what the run is, before the start settles the job's promise."""
        self.run = RunRecord(
            now_s, now_s, start.allocation, start.backfilled, class_, self.promised_s, self.promised_at_s,
            self.first_promised_s,
        )  # fmt: skip

    def end_run(
        self,
        now_s: float,
        preempt: Preempt | None = None,
        charged_core_s: float = 0.0,
        repeated_core_s: float = 0.0,
    ) -> None:
        """Keep the run that ends now, if it was noted: by itself, or preempted and what that cost."""
        run = self.run
        if run is None:
            return
        why, beneficiary = (ENDED, "") if preempt is None else (preempt.reason.code, preempt.beneficiary)
        over = run._replace(
            end_s=now_s, why=why, beneficiary=beneficiary, charged_core_s=charged_core_s,
            repeated_core_s=repeated_core_s,
        )  # fmt: skip
        self.run, self.kept = None, (*self.kept, over)

    def left_s(self) -> float:
        """The part of the recorded run time that the next run has to do, in seconds."""
        saved_s = self.job.saved_s
        return max(0.0, self.trace.run_s - saved_s) if saved_s else self.trace.run_s
