"""Replays several clusters side by side, each with its own jobs and scheduler, without or with migration.

A migration pass runs each minute in which anything has changed. It uses the placing of the real system
(:mod:`policy.migration.place_on_first_free_cluster`): a job that waits goes to the first other cluster that can start
it, outside its reservations, arrives there when its files have been copied, and waits in that cluster's queue if the
cores are gone by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from math import ceil, inf
from time import process_time

from policy import Changes, Job, Ledger, Request, Snapshot, decide
from policy.migration import place_on_first_free_cluster
from policy.migration.available_to_other_clusters import Answer, FreeNodes, Shape, make_answer, reserved_for_head
from policy.migration.job_demand import Demand
from policy.migration.place_on_first_free_cluster import Accepted, Declined, Offer, PassState, PlacingSettings, place
from policy.migration.wait_and_retry_bounds import MOST_ATTEMPTS, WaitSettings
from policy.state.closure_windows import NOTHING_CLOSED, windows_of
from sim.replay.job_life import JobLife
from sim.replay.job_records import JobRecord, Replay
from sim.replay.named_policies import Policy
from sim.replay.replay import vnodes_of
from sim.workload.windows_of_given_reservations import Reservation
from sim.workload.workload import Cluster, TraceJob, Workload

PASS_S = 60
_OWN = "its own scheduler decides"
_RESERVED = Declined("could not start it now beside its reservations")
_MOMENT_S = 1e-3


@dataclass(frozen=True)
class Copying:
    """What moving a job costs: its ``bytes_a_core`` for each of its cores over a link of ``bytes_a_s``."""

    bytes_a_core: float
    bytes_a_s: float

    def size(self, job: TraceJob) -> float:
        """The bytes that go with a job."""
        return self.bytes_a_core * job.cores

    def takes_s(self, job: TraceJob) -> float:
        """Seconds until they have arrived."""
        return self.size(job) / self.bytes_a_s


@dataclass(frozen=True)
class Site:
    """One cluster with its own jobs and the policy of its scheduler, which preempts nothing."""

    name: str
    workload: Workload
    cluster: Cluster
    policy: Policy


@dataclass(frozen=True)
class ClustersReplay:
    """The jobs of all clusters together, as one replay, and what was moved."""

    replay: Replay
    moved_jobs: int
    moved_bytes: float


def replay_clusters(sites: Sequence[Site], copying: Copying | None) -> ClustersReplay:
    """Run all jobs of all sites to their end; with ``copying`` None none of them migrates. Job numbers are counted
    through, site by site."""
    began_s = process_time()
    run = _Centre(sites, copying)
    run.to_the_end()
    cores = sum(site.cluster.cores for site in sites)
    together = Cluster(cores, 1, tuple(_reservations_of_all(sites)))
    name = "separate" if copying is None else "migrating"
    replay = Replay(name, together, run.records(), run.skipped(), process_time() - began_s, 0.0, 0.0)
    return ClustersReplay(replay, run.moved_jobs, run.moved_bytes)


def _reservations_of_all(sites: Sequence[Site]) -> Iterator[Reservation]:
    """The reservations of all clusters, on one cluster with a node for each of their cores."""
    first = 1
    for site in sites:
        cores = site.cluster.cores_per_node
        for each in site.cluster.reservations:
            kept = range(cores if each.cores is None else each.cores)
            nodes = tuple(first + (node - 1) * cores + core for node in each.nodes for core in kept)
            yield replace(each, name=f"{site.name} {each.name}", nodes=nodes, cores=None)
        first += site.cluster.cores


class _Scheduler:
    """The scheduler of one cluster: its queue, its runs, and a decision whenever something has changed."""

    def __init__(self, site: Site) -> None:
        self.name = site.name
        self.cores = site.cluster.cores
        self._settings = site.policy.settings
        self._queue = site.policy.queue.name
        self._snapshot = Snapshot.build(0, vnodes_of(site.cluster), [site.policy.queue], server=site.policy.server)
        self._ledger = Ledger()
        self.waiting: dict[str, JobLife] = {}
        self.running: dict[str, tuple[float, TraceJob]] = {}
        """The estimated end of each run."""
        self.in_flight: list[Demand] = []
        self._head: tuple[TraceJob, float] | None = None
        self._queued: list[Job] = []
        self._gone: list[str] = []
        self.wake_s = inf

    @property
    def changed(self) -> bool:
        return bool(self._queued or self._gone)

    def submit(self, trace: TraceJob) -> None:
        job = Job(
            str(trace.number), trace.user, Request.of_cores(trace.cores), self._queue, trace.submit_s, trace.estimate_s,
            trace.group, sequence=trace.number, application=trace.application,
        )  # fmt: skip
        self.waiting[job.id] = JobLife(trace, job)
        self._queued.append(job)

    def leave(self, job_id: str) -> TraceJob:
        """The job has ended, or goes elsewhere, and with it what it was promised here."""
        self._gone.append(job_id)
        life = self.waiting.pop(job_id, None)
        return life.trace if life is not None else self.running.pop(job_id)[1]

    def decide(self, now_s: float) -> list[tuple[JobLife, tuple[str, ...]]]:
        """The jobs that start now, with their vnodes."""
        snapshot = self._snapshot.apply(Changes(now_s, self._queued, (), self._gone))
        self._queued, self._gone = [], []
        plan = decide(snapshot, self._ledger, self._settings)
        self._ledger, self._snapshot = plan.ledger, plan.started
        self.wake_s = inf if plan.next_s is None else plan.next_s
        started = []
        for start in plan.starts:
            life = self.waiting.pop(start.id)
            life.note_delay(now_s)
            self.running[start.id] = (now_s + life.trace.estimate_s, life.trace)
            started.append((life, start.allocation.vnodes))
        for moved in plan.moved:
            self.waiting[moved.id].move_promise(moved, now_s)
        heads = [(self.waiting[head.id], head.promised_s) for head in plan.estimates if head.id in self.waiting]
        for life, promised_s in heads:
            if life.promised_s is None:
                life.promised_s, life.promised_at_s = promised_s, now_s
        first = min(heads, key=lambda head: head[1]) if heads else None
        self._head = None if first is None else (first[0].trace, first[1])
        return started

    def answer(self, now_s: float) -> Answer:
        """What is free here now, as findavl says it."""
        idle = self._idle(now_s, now_s + _MOMENT_S)
        free = FreeNodes("sim", self.cores, (Shape(1, idle, 0, 0),))
        if self._head is not None:
            job, at_s = self._head
            runs = [(job.cores, end_s - now_s) for end_s, job in self.running.values()]
            reserved = reserved_for_head(idle, job.cores, at_s - now_s, runs)
            free = free._replace(reserved=reserved, head_in_s=max(0, int(at_s - now_s)))
        return make_answer(self.name, free, self.in_flight, len(self.in_flight) + 8)

    def can_start(self, demand: Demand, now_s: float) -> bool:
        """Whether enough cores are idle that no reservation closes to a run of that length, beyond those for jobs on
        their way here. The answer says only what is closed at the moment."""
        promised = sum(each.cores for each in self.in_flight)
        return demand.cores <= self._idle(now_s, now_s + demand.walltime_s) - promised

    def _idle(self, now_s: float, until_s: float) -> int:
        """Idle cores that are open to a run until then."""
        cluster = self._snapshot.cluster()
        windows, capacity = windows_of(cluster, now_s, 0.0), cluster.capacity
        any_job = Request.of_cores(1)
        closed = NOTHING_CLOSED if windows is None else windows.closed_for(any_job, self._queue, now_s, until_s)
        with closed.applied_to(capacity):
            return capacity.idle(capacity.usable & ~closed.vnodes)


class _Centre:
    def __init__(self, sites: Sequence[Site], copying: Copying | None) -> None:
        self._copying = copying
        self._sites = [_Scheduler(site) for site in sites]
        self._by_name = {scheduler.name: scheduler for scheduler in self._sites}
        self._events: list[tuple[float, int, int, str, TraceJob]] = []
        """Time, a number that keeps the order, the site's place, what happens, and the job."""
        self._count = 0
        self._records: dict[int, JobRecord] = {}
        self._moves: dict[int, tuple[int, float]] = {}
        """How often a job has moved, and when it last arrived."""
        self._never = 0
        self._skipped: dict[str, int] = {}
        ends = {end_s for site in sites for each in site.cluster.reservations for _, end_s in each.occurrences()}
        self._openings = sorted(ends, reverse=True)
        """When a reservation ends, and jobs of other clusters may find room; the next one is the last."""
        self.moved_bytes = 0.0
        number = 0
        for place_, site in enumerate(sites):
            for cause, count in site.workload.skipped.items():
                self._skipped[cause] = self._skipped.get(cause, 0) + count
            for job in site.workload.jobs:
                number += 1
                if job.cores <= site.cluster.cores:
                    self._push(job.submit_s, place_, "submit", _numbered(job, number))
                else:
                    self._never += 1

    def to_the_end(self) -> None:
        next_pass_s = inf
        while True:
            wake_s = min(scheduler.wake_s for scheduler in self._sites)
            opens_s = self._openings[-1] if self._openings else inf
            now_s = min(self._events[0][0] if self._events else inf, wake_s, next_pass_s, opens_s)
            if now_s == inf:
                return
            while self._events and self._events[0][0] == now_s:
                _, _, place_, what, job = heappop(self._events)
                self._happen(self._sites[place_], what, job)
            changed = self._decide(now_s)
            if now_s == opens_s:
                self._openings.pop()
                changed = True
            if now_s == next_pass_s:
                next_pass_s = inf
                self._migrate(now_s)
                changed = self._decide(now_s)
            if changed and self._copying is not None and next_pass_s == inf:
                next_pass_s = PASS_S * (now_s // PASS_S + 1)

    @property
    def moved_jobs(self) -> int:
        """Jobs that have moved at least once."""
        return len(self._moves)

    def records(self) -> list[JobRecord]:
        return [self._records[number] for number in sorted(self._records)]

    def skipped(self) -> dict[str, int]:
        never = self._never + sum(len(scheduler.waiting) for scheduler in self._sites)
        return {**self._skipped, "never startable": never} if never else dict(self._skipped)

    def _happen(self, scheduler: _Scheduler, what: str, job: TraceJob) -> None:
        if what == "end":
            scheduler.leave(str(job.number))
        else:
            if what == "arrive":
                scheduler.in_flight.remove(_demand(job))
            scheduler.submit(job)

    def _decide(self, now_s: float) -> bool:
        """Let each scheduler decide where something has changed; True if one has."""
        any_changed = False
        for place_, scheduler in enumerate(self._sites):
            if not scheduler.changed and scheduler.wake_s > now_s:
                continue
            any_changed = True
            for life, vnodes in scheduler.decide(now_s):
                job, end_s = life.trace, now_s + life.trace.run_s
                self._records[job.number] = JobRecord(
                    job, ((now_s, end_s),), vnodes, 0, life.head_delay_s, life.moved, life.moved_delay_s
                )
                self._push(end_s, place_, "end", job)
        return any_changed

    def _migrate(self, now_s: float) -> None:
        """Each cluster's pass over its waiting jobs, in the order of the clusters."""
        copying = self._copying
        if copying is None:
            return
        names = tuple(self._by_name)
        answers = {name: scheduler.answer(now_s) for name, scheduler in self._by_name.items()}
        for scheduler in self._sites:
            requests = [
                place_on_first_free_cluster.Request(job_id, life.trace.user, _demand(life.trace))
                for job_id, life in scheduler.waiting.items()
                if self._may_move(life.trace, now_s)
            ]
            order = tuple(name for name in names if name != scheduler.name)
            settings = PlacingSettings(scheduler.name, order, fallback_s=inf)
            offer = partial(self._move, scheduler, answers, now_s, copying)
            place(requests, answers, settings, PassState(silent={scheduler.name: _OWN}), offer)

    def _move(
        self, source: _Scheduler, answers: dict[str, Answer], now_s: float, copying: Copying, offer: Offer
    ) -> Accepted | Declined:
        """Send a job that waits to the cluster that it is offered to, if it can start there."""
        target = self._by_name[offer.cluster]
        demand = _demand(source.waiting[offer.gid].trace)
        if not target.can_start(demand, now_s):
            return _RESERVED
        job = source.leave(offer.gid)
        target.in_flight.append(demand)
        answers[offer.cluster] = target.answer(now_s)
        arrives_s = now_s + copying.takes_s(job)
        self._moves[job.number] = (self._moves.get(job.number, (0, 0.0))[0] + 1, arrives_s)
        self.moved_bytes += copying.size(job)
        self._push(arrives_s, self._sites.index(target), "arrive", job)
        return Accepted()

    def _may_move(self, job: TraceJob, now_s: float) -> bool:
        """A job that has moved and still waits goes on only after a while, and not after its last attempt."""
        moves, arrived_s = self._moves.get(job.number, (0, 0.0))
        return not moves or (moves < MOST_ATTEMPTS and now_s - arrived_s >= WaitSettings().max_remote_wait_s)

    def _push(self, time_s: float, place_: int, what: str, job: TraceJob) -> None:
        self._count += 1
        heappush(self._events, (time_s, self._count, place_, what, job))


def _demand(job: TraceJob) -> Demand:
    return Demand(job.cores, walltime_s=ceil(job.estimate_s))


def _numbered(job: TraceJob, number: int) -> TraceJob:
    return TraceJob(
        number, job.submit_s, job.run_s, job.estimate_s, job.cores, job.user, job.group, job.application
    )  # fmt: skip
