"""One draw: the cluster run forward event by event, with run times that are given, until the wanted jobs have started
or until the horizon.

Each moment at which runs end, jobs arrive or time alone changes the decision is one pass of :func:`decide`, which sees
the requested walltimes only. Ends close together are one event: what is drawn for tomorrow is not known to the second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Callable, NamedTuple

from policy.cycle.engine import decide
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Queue, Run, Server
from policy.model.ledger_between_passes import Ledger
from policy.model.limit_attributes import Limits
from policy.plan.plan_types import Preempt, Start
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Changes, Snapshot

_PASSES_AT_ONE_MOMENT = 1000
"""A moment whose passes ask for one more so often is left as it is; the next event goes on."""

RunTime = Callable[[Job], float]
"""The whole run time of a job, in seconds, as drawn; infinite if nothing is known."""


class DrawnStart(NamedTuple):
    """A job's first start in one draw: when, where, and the widest of the runs that ended at that moment ("" if time
    alone let it start). ``as_promised``: by the promise that it had at the begin of the draw, which never moved."""

    at_s: float
    allocation: Allocation
    after: str
    as_promised: bool = False


class LimitsFrom(NamedTuple):
    """Soft quotas and priorities that hold from a moment on: of queues, each as it then is, and, where they change, of
    the server, by resource."""

    at_s: float
    queues: Sequence[Queue] = ()
    server: Mapping[str, Limits] | None = None


class Draw(NamedTuple):
    """The first starts by job. ``until_s``: how far the draw went; ``passes``: how many decisions it took.

    ``complete``: the draw ended by itself (no job awaited any more, nothing more to happen, horizon reached), not at
    the bound of passes. ``preemptions``: how many runs were preempted until then, and ``repeated_core_s`` the
    core-seconds that they have to run again, saving and restarting included. ``used_core_s``: the core-seconds that
    runs held from the begin until the horizon on vnodes that take jobs.
    """

    starts: Mapping[str, DrawnStart]
    until_s: float
    passes: int
    complete: bool
    preemptions: int = 0
    repeated_core_s: float = 0.0
    used_core_s: float = 0.0


class Forward:
    """The cluster at a moment, and what every draw from there has in common."""

    def __init__(
        self,
        snapshot: Snapshot,
        ledger: Ledger,
        settings: Settings,
        wanted: Collection[str],
        grain: float = 0.0,
        planned: Sequence[LimitsFrom] = (),
    ) -> None:
        """``wanted``: the jobs whose starts are looked for. ``grain``: ends of runs that differ by less than this part
        of the time until the first of them are taken to be at one moment, their mean. ``planned``: limits that change
        later, in order of time."""
        self.planned = planned
        self.grain = grain
        self.snapshot = snapshot
        self.ledger = ledger
        self.settings = settings
        self.wanted = frozenset(wanted)
        cluster = snapshot.cluster()
        capacity = cluster.capacity
        self.held_cores = {
            run.id: run.allocation.cores_on(capacity.usable, capacity.directory) for run in cluster.runs.values()
        }
        """What each run holds on vnodes that take jobs. Starts hold cores on no others."""
        self.begun_s = {run.id: run.start_s - run.job.saved_s for run in cluster.runs.values()}
        """When each run would have begun had it never been preempted before."""

    def draw(
        self,
        ends_s: Mapping[str, float],
        run_time: RunTime,
        horizon_s: float,
        passes: int,
        arrivals: Iterable[Job] = (),
        *,
        to_horizon: bool = False,
    ) -> Draw:
        """Run forward until the first starts of all wanted jobs, or until the horizon (a moment), with at most so many
        passes.

        ``ends_s`` has the drawn end of each run that is under way, at the earliest now; ``arrivals`` are further jobs
        in order of their ``submit_s``. With ``to_horizon`` the draw goes on whatever has started: what is used and
        preempted until then includes further subjobs of arrays, and jobs that wait again because they were preempted.
        """
        return _Forward(self, ends_s, run_time, arrivals, to_horizon=to_horizon).until(horizon_s, passes)


class _Forward:
    """The state of one draw. ``_ends`` may hold outdated ends: one counts only if it is the run's present one."""

    def __init__(
        self,
        base: Forward,
        ends_s: Mapping[str, float],
        run_time: RunTime,
        arrivals: Iterable[Job],
        *,
        to_horizon: bool,
    ) -> None:
        self._snapshot = base.snapshot.fork()
        self._to_horizon = to_horizon
        self._ledger = base.ledger
        self._promises = base.ledger.promises
        self._settings = base.settings
        self._grain = base.grain
        self._run_time = run_time
        self._arrivals = iter(arrivals)
        self._arriving = next(self._arrivals, None)
        self._planned = base.planned
        # A run that is preempted and begins anew takes as long as it would have taken.
        self._whole_s = {run_id: end_s - base.begun_s[run_id] for run_id, end_s in ends_s.items()}
        self._started_s: dict[str, float] = {}
        self._end_s = dict(ends_s)
        self._ends = [(end_s, run_id) for run_id, end_s in ends_s.items() if end_s != UNLIMITED_S]
        heapify(self._ends)
        self._pending = set(base.wanted)
        self._starts: dict[str, DrawnStart] = {}
        self._passes = 0
        now_s = base.snapshot.time_s
        self._holds = {run_id: (cores, now_s) for run_id, cores in base.held_cores.items()}
        self._used_core_s = self._repeated_core_s = 0.0
        self._preemptions = 0

    def _goes_on(self) -> bool:
        if not self._to_horizon:
            return bool(self._pending)
        # Once no job waits or comes, the runs only end; when they do is known.
        return bool(self._snapshot.cluster().jobs or self._arriving)

    def until(self, horizon_s: float, passes: int) -> Draw:
        ends = self._ends
        planned = iter(self._planned)
        coming = next(planned, None)
        from_s = now_s = wake_s = self._snapshot.time_s
        while self._goes_on() and self._passes < passes:
            while ends and self._end_s.get(ends[0][1]) != ends[0][0]:
                heappop(ends)
            next_s = min(ends[0][0] if ends else UNLIMITED_S, wake_s)
            if self._arriving is not None:
                next_s = min(next_s, self._arriving.submit_s)
            if coming is not None:
                next_s = min(next_s, coming.at_s)
            if next_s > horizon_s or next_s == UNLIMITED_S:
                now_s = min(horizon_s, next_s)
                break
            now_s = max(now_s, next_s)
            latest_s = min(horizon_s, now_s + self._grain * (now_s - from_s))
            gone, mean_s = self._ended(now_s, latest_s if coming is None else max(now_s, min(latest_s, coming.at_s)))
            now_s = max(now_s, mean_s)
            for run_id in gone:
                self._give_back(run_id, now_s)
            queued: list[Job] = []
            while self._arriving is not None and self._arriving.submit_s <= now_s:
                queued.append(self._arriving)
                self._arriving = next(self._arrivals, None)
            limits: list[LimitsFrom] = []
            while coming is not None and coming.at_s <= now_s:
                limits.append(coming)
                coming = next(planned, None)
            queues, server = self._limits(limits)
            wake_s = self._pass(Changes(now_s, queued, (), gone, queues=queues, server=server), passes)
        for run_id in list(self._holds):
            self._give_back(run_id, min(horizon_s, self._end_s.get(run_id, horizon_s)))
        return Draw(
            self._starts, now_s, self._passes, not self._goes_on() or self._passes < passes, self._preemptions,
            self._repeated_core_s, self._used_core_s,
        )  # fmt: skip

    def _limits(self, changes: Sequence[LimitsFrom]) -> tuple[Sequence[Queue], Server | None]:
        """The queues, and the server if its limits change, with the limits after these changes."""
        if not changes:
            return (), None
        cluster = self._snapshot.cluster()
        queues: dict[str, Queue] = {}
        server = cluster.server
        for change in changes:
            for new in change.queues:
                now = queues.get(new.name, cluster.queues.get(new.name))
                if now is not None:
                    queues[new.name] = replace(
                        now, quotas=new.quotas, other_quotas=new.other_quotas, priorities=new.priorities
                    )
            if change.server is not None:
                server = replace(server, quotas=change.server)
        return list(queues.values()), None if server is cluster.server else server

    def _give_back(self, run_id: str, at_s: float) -> None:
        """A run's cores are free from then on."""
        cores, since_s = self._holds.pop(run_id)
        self._used_core_s += cores * (at_s - since_s)

    def _ended(self, now_s: float, until_s: float) -> tuple[list[str], float]:
        """Take the runs that end until then, and the mean of their ends (``now_s`` if none does)."""
        ends, gone, sum_s = self._ends, [], 0.0
        while ends and ends[0][0] <= until_s:
            end_s, run_id = heappop(ends)
            if self._end_s.get(run_id) == end_s:
                del self._end_s[run_id]
                gone.append(run_id)
                sum_s += max(now_s, end_s) - now_s
        return gone, now_s + sum_s / len(gone) if gone else now_s

    def _pass(self, changes: Changes, most: int) -> float:
        """Decide and carry out; again while preemptions free cores. Returns when time alone asks for the next pass."""
        now_s = changes.time_s
        after = self._widest(changes.gone)
        snapshot = self._snapshot.apply(changes)
        for _ in range(_PASSES_AT_ONE_MOMENT):
            plan = decide(snapshot, self._ledger, self._settings)
            self._passes += 1
            for start in plan.starts:
                self._start(start, now_s, after)
            self._ledger, snapshot = plan.ledger, plan.started
            if (not plan.preempts and not plan.again) or self._passes >= most:
                break
            snapshot = self._preempt(snapshot, plan.preempts, now_s)
        self._snapshot = snapshot
        return UNLIMITED_S if plan.next_s is None or plan.next_s <= now_s else plan.next_s

    def _widest(self, gone: Sequence[str]) -> str:
        if not gone:
            return ""
        runs = self._snapshot.cluster().runs
        return max(gone, key=lambda run_id: (runs[run_id].job.cores, run_id))

    def _start(self, start: Start, now_s: float, after: str) -> None:
        job = start.job
        whole_s = self._whole_s.get(start.id)
        if whole_s is None:
            whole_s = self._whole_s[start.id] = self._run_time(job)
        end_s = now_s + max(0.0, whole_s - job.saved_s)
        self._started_s[start.id] = now_s
        self._end_s[start.id] = end_s
        self._holds[start.id] = (job.cores, now_s)
        if end_s != UNLIMITED_S:
            heappush(self._ends, (end_s, start.id))
        if job.id in self._pending:
            self._pending.discard(job.id)
            promised_s = self._promises.get(job.id)
            as_promised = promised_s is not None and self._ledger.promises.get(job.id) == promised_s
            self._starts[job.id] = DrawnStart(now_s, start.allocation, after, as_promised)

    def _preempt(self, snapshot: Snapshot, preempts: Sequence[Preempt], now_s: float) -> Snapshot:
        """The victims' cores are free, and their jobs wait again with their age."""
        waiting: dict[str, Job] = {}
        for preempt in preempts:
            run = preempt.run
            self._end_s.pop(run.id, None)
            saved_s = self._saved_s(run, now_s)
            job = run.job
            self._give_back(run.id, now_s)
            self._preemptions += 1
            self._repeated_core_s += job.cores * (now_s - self._started_s.get(run.id, run.start_s) - saved_s)
            if run.subjob is None:
                waiting[job.id] = job._replace(saved_s=job.saved_s + saved_s)
                continue
            # An array is one entry: what one of its subjobs has saved is taken off that subjob's run time.
            self._whole_s[run.id] -= saved_s
            known = waiting.get(job.id) or snapshot.cluster().jobs.get(job.id)
            left = known.subjobs or () if known is not None else ()
            waiting[job.id] = job._replace(subjobs=tuple(sorted({*left, run.subjob})))
        return snapshot.apply(Changes(now_s, list(waiting.values()), (), [preempt.id for preempt in preempts]))

    def _saved_s(self, run: Run, now_s: float) -> float:
        """What a run that is preempted now has saved of its work, less what saving and restarting cost."""
        checkpoint = self._settings.checkpoint
        done_s = now_s - self._started_s.get(run.id, run.start_s)
        saves = checkpoint.saves if run.job.saves is None else run.job.saves
        return done_s - checkpoint.charge_s(run.job.cores) if saves and done_s > 0 else 0.0
