"""Replays a workload under a policy: events in order of time, and the engine's decision after each moment.

Submissions and ends become changes of the snapshot; :func:`policy.decide` makes a plan, whose starts are executed as
they are. README.md has what preemption and contention do.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from time import process_time
from typing import Callable, Final

from policy import Changes, Finished, Job, Ledger, Request, Snapshot, Vnode, decide
from policy.model.jobs_runs_vnodes_queues import Reading
from policy.plan.plan_types import Plan, Preempt, Start
from sim.replay.conservative_backfilling import replay_conservatively
from sim.replay.job_life import NEVER_S, JobLife
from sim.replay.job_records import JobRecord, Replay
from sim.replay.named_policies import Policy, PolicyError
from sim.replay.node_contention import Contention, Shape
from sim.replay.orders_of_other_sites import entity_of
from sim.replay.replay_observer import Observer
from sim.workload.application_contention_traits import traits_of
from sim.workload.windows_of_given_reservations import windows_of_nodes
from sim.workload.workload import Cluster, TraceJob, Workload

_PROGRESS_EVERY = 1000
_NO_READINGS: Final[Mapping[str, Reading]] = {}


def vnodes_of(cluster: Cluster) -> list[Vnode]:
    """The cluster's nodes as vnodes, named so that they sort by number, with windows while they are reserved."""
    width = len(str(cluster.nodes))
    closed = windows_of_nodes(cluster.reservations)
    return [
        Vnode(f"n{number:0{width}}", {"ncpus": cluster.cores_per_node}, closed=closed.get(number, ()))
        for number in range(1, cluster.nodes + 1)
    ]


def replay(
    workload: Workload,
    cluster: Cluster,
    policy: Policy,
    progress: Callable[[int], None] | None = None,
    *,
    contention: bool = False,
    observer: Observer | None = None,
    keep_runs: bool = False,
) -> Replay:
    """Run the workload to its end. ``progress`` is called now and then with the number of ended jobs, ``observer`` with
    what happens. With ``keep_runs`` each job's record has its runs one by one.

    Jobs that could never start under the policy (a hard limit below their size) are left out and counted. With
    ``contention`` a recorded run time is the job's time when packed and alone (:mod:`sim.replay.node_contention`); no
    job is then killed at its estimate, and uneven nodes report their readings. Raises
    :class:`~sim.replay.named_policies.PolicyError` if the policy cannot be replayed so.
    """
    demand_replayable(workload, cluster, policy, contention=contention, is_observed=observer is not None)
    if policy.is_conservative:
        return replay_conservatively(workload, cluster, progress, keep_runs=keep_runs)
    run = _Run(workload, cluster, policy, progress, contention=contention, observer=observer, keep_runs=keep_runs)
    collecting = gc.isenabled()
    gc.disable()  # a replay makes no reference cycles, and searching for them costs a fifth of its time
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
    return Replay(policy.name, cluster, records, skipped, cpu_s, run.checkpoint_core_s, run.lost_core_s)


def demand_replayable(
    workload: Workload, cluster: Cluster, policy: Policy, *, contention: bool, is_observed: bool = False
) -> None:
    """Raise :class:`~sim.replay.named_policies.PolicyError` if the policy cannot be replayed so: conservative
    backfilling knows neither contention, reservations and think times nor forecasts (``is_observed``)."""
    unknown = {
        "contention": contention,
        "forecasts": is_observed,
        "reservations": bool(cluster.reservations),
        "think times": bool(workload.follows),
    }
    for what, given in unknown.items():
        if policy.is_conservative and given:
            raise PolicyError(f"policy {policy.name}: not with {what}")


def shapes_of(workload: Workload) -> Mapping[str, Shape]:
    """The jobs' shapes for contention, by id; a job without an application has the traits of its user's name."""
    return {
        str(job.number): Shape(job.cores, job.run_s, traits_of(job.application or job.user)) for job in workload.jobs
    }


@dataclass
class _Followers:
    """Jobs that come once others have ended, each with its think time as `submit_s`; `unended` counts those others."""

    unended: int
    jobs: list[TraceJob] = field(default_factory=list)


class _Run:
    """The state of one replay. ``_ends`` may have outdated times: an entry counts only if it equals the job's
    ``end_s``.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        policy: Policy,
        progress: Callable[[int], None] | None,
        *,
        contention: bool,
        observer: Observer | None = None,
        keep_runs: bool = False,
    ) -> None:
        self._observer = observer
        self._keep_runs = keep_runs
        self._jobs = workload.jobs
        self._count = len(workload.jobs)
        self._later: list[tuple[float, int, TraceJob]] = []
        """The jobs whose think times run."""
        self._followers: dict[int, list[_Followers]] = {}
        if workload.follows:
            self._hold_back(workload)
        self._progress = progress
        self._order = None if policy.order is None else policy.order()
        queue = policy.queue if self._order is None else replace(policy.queue, order=self._order.site_order)
        self._snapshot = Snapshot.build(0, vnodes_of(cluster), [queue], server=policy.server)
        self._ledger = Ledger()
        self._lives: dict[str, JobLife] = {}
        self._ends: list[tuple[float, int, JobLife]] = []
        self._contention = Contention(cluster, shapes_of(workload)) if contention else None
        reports = self._contention is not None and cluster.uneven is not None and policy.settings.ranking.mode != "none"
        self._reporting: tuple[str, ...] = tuple(self._snapshot.cluster().vnodes) if reports else ()
        self._reported_s = -NEVER_S
        self._requests: dict[int, Request] = {}
        self._cores_per_node = cluster.cores_per_node
        self._queue = policy.queue.name
        self._settings = settings = policy.settings
        self._observes = settings.backfill.predictor != "none" or settings.stripe.learns
        self._tells_ends = self._observes or observer is not None
        self._ended = 0
        self.checkpoint_core_s = 0.0
        self.lost_core_s = 0.0
        self.never = 0

    def _hold_back(self, workload: Workload) -> None:
        """Take the jobs that follow others out of those that come at their own time."""
        follows = workload.follows
        self._jobs = tuple(job for job in workload.jobs if job.number not in follows)
        behind: dict[tuple[int, ...], _Followers] = {}
        for job in workload.jobs:
            if job.number not in follows:
                continue
            numbers, think_s = follows[job.number]
            waiting = behind.get(numbers)
            if waiting is None:
                waiting = behind[numbers] = _Followers(len(numbers))
                for number in numbers:
                    self._followers.setdefault(number, []).append(waiting)
            waiting.jobs.append(replace(job, submit_s=think_s))

    def to_the_end(self) -> None:
        jobs, ends, observes, observer = self._jobs, self._ends, self._tells_ends, self._observer
        later = self._later
        count, next_job = len(jobs), 0
        submit_s = jobs[0].submit_s if jobs else NEVER_S
        wake_s = NEVER_S
        while True:
            while ends and ends[0][0] != ends[0][2].end_s:
                heappop(ends)
            now_s = min(ends[0][0], submit_s, wake_s) if ends else min(submit_s, wake_s)
            if later and later[0][0] < now_s:
                now_s = later[0][0]
            if now_s == NEVER_S:
                return
            if observer is not None and observer.next_s < now_s:
                observer.look(now_s, self._snapshot, self._ledger)
            readings = self._report(now_s) if self._reporting else _NO_READINGS
            gone: list[str] = []
            queued: list[Job] = []
            finished: list[Finished] = []
            while ends and ends[0][0] == now_s:
                life = heappop(ends)[2]
                if life.end_s == now_s:
                    self._end(life, now_s)
                    gone.append(life.job.id)
                    if observes:
                        finished.append(self._observed(life))
            if self._contention is not None:
                self._speed_up_neighbours(gone, now_s)
            while submit_s == now_s:
                queued.append(self._submit(jobs[next_job]))
                next_job += 1
                submit_s = jobs[next_job].submit_s if next_job < count else NEVER_S
            while later and later[0][0] == now_s:
                queued.append(self._submit(heappop(later)[2]))
            if observer is not None:
                observer.happened(now_s, queued, finished)
            changes = Changes(now_s, queued, (), gone)
            if readings:
                changes = changes._replace(readings=readings)
            if finished and self._observes:
                changes = changes._replace(finished=finished)
            wake_s = self._pass(changes)

    def _report(self, now_s: float) -> Mapping[str, Reading]:
        """What the nodes reported since the last pass: each at the last interval before now, of the jobs that ran there
        until now. Call it before the ends of this moment."""
        interval_s = self._settings.ranking.interval_s
        at_s = now_s // interval_s * interval_s
        if at_s <= self._reported_s or self._contention is None:
            return _NO_READINGS
        self._reported_s = at_s
        return {node: self._contention.reading(node, at_s) for node in self._reporting}

    def _submit(self, trace: TraceJob) -> Job:
        cores = trace.cores
        request = self._requests.get(cores)
        if request is None:
            request = self._requests[cores] = Request.of_cores(cores)
        number = trace.number
        job = Job(
            str(number), trace.user, request, self._queue, trace.submit_s, trace.estimate_s, trace.group,
            sequence=number, application=trace.application,
        )  # fmt: skip
        if self._order is not None:
            job = job._replace(entity=entity_of(trace.user), order_values=self._order.values_of(trace))
        self._lives[job.id] = JobLife(trace, job)
        return job

    def _pass(self, changes: Changes) -> float:
        """Decide and execute the plan; repeat while preemptions free cores or the plan requires it. Returns the time of
        the next pass that the plan needs without an event.
        """
        now_s = changes.time_s
        snapshot = self._snapshot.apply(changes)
        if self._order is not None:
            self._order.before_pass(now_s)
        while True:
            plan = decide(snapshot, self._ledger, self._settings)
            if plan.ledger.promises is not self._ledger.promises:
                self._note_lapsed(plan)
            self._ledger, snapshot = plan.ledger, plan.started
            for start in plan.starts:
                if self._keep_runs:
                    self._lives[start.id].begin_run(start, plan.ledger.classes.get(start.id), now_s)
                self._start(start, now_s)
            for moved in plan.moved:
                self._lives[moved.id].move_promise(moved, now_s)
            for estimate in plan.estimates:
                life = self._lives[estimate.id]
                if life.promised_s is None:
                    life.promised_s, life.promised_at_s = estimate.promised_s, now_s
            if not plan.preempts and not plan.again:
                break
            snapshot = snapshot.apply(Changes(now_s, [self._preempt(p, now_s) for p in plan.preempts]))
        self._snapshot = snapshot
        return NEVER_S if plan.next_s is None else plan.next_s

    def _note_lapsed(self, plan: Plan) -> None:
        """Drop the promises that lapsed because the job may not be preempted and would now exceed a quota."""
        waiting = plan.started.cluster().jobs
        for job_id in self._ledger.promises.keys() - plan.ledger.promises.keys():
            if job_id not in waiting:
                continue
            reason = plan.reason_of(job_id)
            if reason is not None and reason.code == "unpreemptible":
                self._lives[job_id].promised_s = self._lives[job_id].promised_at_s = None

    def _start(self, start: Start, now_s: float) -> None:
        life = self._lives[start.id]
        life.allocation = start.allocation
        life.start_s = now_s
        life.note_delay(now_s)
        if self._order is not None:
            self._order.started(life.trace, now_s)
        if life.first_start_s is None:
            life.first_start_s = now_s
            if self._observer is not None:
                self._observer.started(start.id, now_s)
        life.end_s = end_s = now_s + life.left_s()
        if self._contention is None:
            heappush(self._ends, (end_s, life.trace.number, life))
        else:
            self._move(self._contention.started(start.id, start.allocation, now_s, life.left_s()))

    def _move(self, moved: Iterable[tuple[str, float]]) -> None:
        """Set new ends of runs; runs that have ended at this moment are skipped."""
        for job_id, end_s in moved:
            life = self._lives[job_id]
            if life.end_s != NEVER_S:
                life.end_s = end_s
                heappush(self._ends, (end_s, life.trace.number, life))

    def _speed_up_neighbours(self, gone: Iterable[str], now_s: float) -> None:
        """Report ended or preempted runs to the contention model, which speeds up the jobs beside them."""
        if self._contention is not None:
            for job_id in gone:
                self._move(self._contention.ended(job_id, now_s))

    def _end(self, life: JobLife, now_s: float) -> None:
        life.runs = (*life.runs, (life.start_s, now_s))
        life.end_s = NEVER_S
        if self._keep_runs:
            life.end_run(now_s)
        if self._order is not None:
            self._order.stopped(life.trace, now_s)
        if self._followers:
            for waiting in self._followers.pop(life.trace.number, ()):
                waiting.unended -= 1
                for job in waiting.jobs if not waiting.unended else ():
                    submit_s = now_s + job.submit_s
                    heappush(self._later, (submit_s, job.number, replace(job, submit_s=submit_s)))
        self._ended += 1
        if self._progress is not None and self._ended % _PROGRESS_EVERY == 1:
            self._progress(self._ended)

    def _preempt(self, preempt: Preempt, now_s: float) -> Job:
        job_id = preempt.id
        life = self._lives[job_id]
        job, checkpoint = life.job, self._settings.checkpoint
        if self._contention is None:
            done_s = now_s - life.start_s
        else:
            done_s = life.left_s() - self._contention.left_s(job_id, now_s)
        life.runs = (*life.runs, (life.start_s, now_s))
        life.end_s = NEVER_S
        life.allocation = None
        life.preemptions += 1
        saves = checkpoint.saves if job.saves is None else job.saves
        charged_core_s = repeated_core_s = 0.0
        if not saves:
            repeated_core_s = done_s * job.cores
            self.lost_core_s += repeated_core_s
        elif done_s:
            charge_s = checkpoint.charge_s(job.cores)
            charged_core_s = charge_s * job.cores
            self.checkpoint_core_s += charged_core_s
            life.job = job._replace(saved_s=job.saved_s + done_s - charge_s)
        life.end_run(now_s, preempt, charged_core_s, repeated_core_s)
        if self._order is not None:
            self._order.stopped(life.trace, now_s)
        self._speed_up_neighbours([job_id], now_s)
        return life.job

    def _observed(self, life: JobLife) -> Finished:
        """What is learned from an ended job: its own run time, without the cost of preemption. With contention, the
        time that it took beside its neighbours, over all runs if it continued from saved work.
        """
        trace, (start_s, end_s) = life.trace, life.runs[-1]
        if self._contention is None:
            start_s = end_s - trace.run_s
        elif life.job.saved_s:
            start_s = end_s - sum(run_end_s - run_start_s for run_start_s, run_end_s in life.runs)
        vnodes = len(life.allocation.vnodes) if life.allocation is not None else 1
        fewest = -(-trace.cores // self._cores_per_node)
        return Finished(
            life.job.id, trace.user, trace.application, trace.cores, start_s, end_s, trace.estimate_s, vnodes, fewest
        )

    def records(self) -> list[JobRecord]:
        """Each job that ran to its end, in order of submission; those that could never start are counted in
        ``never``, and so are those that wait for their ends.
        """
        records = []
        for life in self._lives.values():
            if life.allocation is None or life.first_start_s is None:
                continue
            records.append(
                JobRecord(
                    life.trace, life.runs, life.allocation.vnodes, life.preemptions, life.head_delay_s, life.moved,
                    life.moved_delay_s, life.kept,
                )
            )  # fmt: skip
        self.never = self._count - len(records)
        return records
