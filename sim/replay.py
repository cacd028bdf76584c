"""A workload under a policy: events in order of time, and the engine's own decision after each moment.

Submissions and ends become changes of the snapshot, :func:`policy.decide` says what follows, and its starts are taken
over as they are, vnodes and all. Several things at one moment are one pass. A preempted job waits again with its submit
time and runs again from its beginning.
"""

from __future__ import annotations

import gc
from heapq import heappop, heappush
from time import process_time
from typing import Callable

from policy import Changes, Job, Ledger, Plan, Request, Snapshot, Vnode, decide
from policy.plan import Start
from sim.policies import Policy
from sim.record import JobRecord, Replay
from sim.workload import Cluster, TraceJob, Workload

_PROGRESS_EVERY = 1000


def vnodes_of(cluster: Cluster) -> list[Vnode]:
    """The cluster's nodes as vnodes, named so that their order is their number."""
    width = len(str(cluster.nodes))
    return [Vnode(f"n{number:0{width}}", {"ncpus": cluster.cores_per_node}) for number in range(1, cluster.nodes + 1)]


def replay(
    workload: Workload, cluster: Cluster, policy: Policy, progress: Callable[[int], None] | None = None
) -> Replay:
    """Run the workload to its end. ``progress`` is told the number of jobs that have ended, now and then.

    Jobs that could never start under the policy (a hard limit below their size) are left out and counted.
    """
    run = _Run(workload, cluster, policy, progress)
    collecting = gc.isenabled()
    gc.disable()  # a replay leaves no cycles behind, and looking for them costs a fifth of its time
    try:
        started_s = process_time()
        run.to_the_end()
        cpu_s = process_time() - started_s
    finally:
        if collecting:
            gc.enable()
    records = run.records()
    skipped = dict(workload.skipped)
    if run.never:
        skipped["never startable under the policy"] = run.never
    return Replay(policy.name, cluster, records, skipped, cpu_s, 0.0, run.lost_core_s)


class _Life:
    """What is noted of one job while it lives."""

    __slots__ = ("first_start_s", "job", "preemptions", "promised_s", "runs", "start", "start_s", "trace")

    def __init__(self, trace: TraceJob, job: Job) -> None:
        self.trace = trace
        self.job = job
        self.start: Start | None = None
        self.start_s = 0.0
        self.first_start_s: float | None = None
        self.promised_s: float | None = None
        self.preemptions = 0
        self.runs: tuple[tuple[float, float], ...] = ()


class _Run:
    """The state of one replay."""

    def __init__(
        self, workload: Workload, cluster: Cluster, policy: Policy, progress: Callable[[int], None] | None
    ) -> None:
        self._jobs = workload.jobs
        self._policy = policy
        self._progress = progress
        self._snapshot = Snapshot.build(0, vnodes_of(cluster), [policy.queue])
        self._ledger = Ledger()
        self._lives: dict[str, _Life] = {}
        self._ends: list[tuple[float, int, str, int]] = []
        self._requests: dict[int, Request] = {}
        self._timed = policy.settings.quota.preempt and (
            policy.settings.quota.exempt_s + policy.settings.quota.delay_s + policy.settings.quota.delay_per_core_s > 0
        )
        self._ended = 0
        self.lost_core_s = 0.0
        self.never = 0

    def to_the_end(self) -> None:
        jobs, ends = self._jobs, self._ends
        count, next_job = len(jobs), 0
        wake_s: float | None = None
        while next_job < count or ends or wake_s is not None:
            now_s = ends[0][0] if ends else jobs[next_job].submit_s if next_job < count else wake_s
            if next_job < count and jobs[next_job].submit_s < now_s:  # type: ignore[operator]
                now_s = jobs[next_job].submit_s
            if wake_s is not None and wake_s < now_s:  # type: ignore[operator]
                now_s = wake_s
            assert now_s is not None  # noqa: S101 - one of the three is there
            gone: list[str] = []
            while ends and ends[0][0] == now_s:
                _, _, job_id, number = heappop(ends)
                life = self._lives[job_id]
                if life.preemptions == number and life.start is not None:
                    gone.append(job_id)
                    self._end(life, now_s)
            queued: list[Job] = []
            while next_job < count and jobs[next_job].submit_s == now_s:
                queued.append(self._submit(jobs[next_job]))
                next_job += 1
            wake_s = self._pass(Changes(now_s, queued, gone=gone))

    def _submit(self, trace: TraceJob) -> Job:
        request = self._requests.get(trace.cores)
        if request is None:
            request = self._requests[trace.cores] = Request.of_cores(trace.cores)
        job = Job(
            str(trace.number), trace.user, request, self._policy.queue.name, trace.submit_s, trace.estimate_s,
            trace.group, sequence=trace.number,
        )  # fmt: skip
        self._lives[job.id] = _Life(trace, job)
        return job

    def _pass(self, changes: Changes) -> float | None:
        """Decide, and take over what was decided; again while cores change hands. Gives when to wake by itself."""
        now_s = changes.time_s
        snapshot = self._snapshot.apply(changes)
        while True:
            plan = decide(snapshot, self._ledger, self._policy.settings)
            self._ledger = plan.ledger
            for start in plan.starts:
                self._start(start, now_s)
            for estimate in plan.estimates:
                life = self._lives[estimate.id]
                if life.promised_s is None:
                    life.promised_s = estimate.promised_s
            snapshot = plan.started
            if not plan.preempts and all(wait.reason.code != "passed-over" for wait in plan.waits):
                break
            snapshot = snapshot.apply(Changes(now_s, [self._preempt(p.id, now_s) for p in plan.preempts]))
        self._snapshot = snapshot
        return _wake_s(plan, now_s) if self._timed else None

    def _start(self, start: Start, now_s: float) -> None:
        life = self._lives[start.id]
        life.start = start
        life.start_s = now_s
        if life.first_start_s is None:
            life.first_start_s = now_s
        heappush(self._ends, (now_s + life.trace.run_s, life.trace.number, start.id, life.preemptions))

    def _end(self, life: _Life, now_s: float) -> None:
        life.runs = (*life.runs, (life.start_s, now_s))
        self._ended += 1
        if self._progress is not None and self._ended % _PROGRESS_EVERY == 1:
            self._progress(self._ended)

    def _preempt(self, job_id: str, now_s: float) -> Job:
        life = self._lives[job_id]
        life.runs = (*life.runs, (life.start_s, now_s))
        life.start = None
        life.preemptions += 1
        self.lost_core_s += (now_s - life.start_s) * life.trace.cores
        return life.job

    def records(self) -> list[JobRecord]:
        """Each job that ran to its end, in order of submission; those that could never start are counted."""
        records = []
        for life in self._lives.values():
            if life.start is None or life.first_start_s is None:
                self.never += 1
                continue
            delay_s = None if life.promised_s is None else life.first_start_s - life.promised_s
            vnodes = life.start.placement.vnodes
            records.append(JobRecord(life.trace, life.runs, vnodes, life.preemptions, delay_s))
        return records


def _wake_s(plan: Plan, now_s: float) -> float | None:
    """The next moment at which waiting alone changes what may be decided: a delay or an exempt time is over."""
    times = [
        reason.number("at_s")
        for wait in plan.waits
        for reason in (wait.reason, *wait.reason.tried)
        if reason.code in ("preempt-delay", "exempt-victims")
    ]
    later = [at_s for at_s in times if isinstance(at_s, (int, float)) and at_s > now_s]
    return min(later, default=None)
