"""The cluster view: what the console knows after one poll, with the server status, its counts and the console's plan.

The plan is made here by the same :func:`policy.decide` as in the periodic hook, on the same server status and with the
ledger and the closures that the hook published, so a reason or a reservation shown is what the hook would decide now.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hooks.forecast.published_forecast import PublishedForecast
from hooks.pbs.server_status_type_and_attributes import NAME, Attributes, Objects, ServerStatus
from hooks.translate.queues import read_modes
from hooks.translate.snapshot import Known
from policy import Job, Ledger, Plan, Preempt, Reason, Run, Settings, Snapshot, Start, decide
from policy.eligibility.order_as_pbs_scheduler_would import queue_line
from policy.explain.longest_backfill_walltime import Longest
from policy.explain.queue_position import InLine
from policy.model.priority_class import BASE
from policy.reasons.reason_names import MoreNumbers
from tui.backends.pass_journal import NO_PASSES, Passes
from tui.model.job_efficiency import Shares, ends_for_long, is_overdue, mean_share, shares_of
from tui.model.mode_of_all_queues import mode_of_all
from tui.model.server_changes import ServerChanges
from tui.model.status_counts import Counts, count, folded, subjobs_of
from tui.model.typed_attributes import resources_with_quotas, user_of
from tui.state.cores_idle_and_coming_free import free_by_quarter
from tui.state.ended_jobs import EndedJobs
from tui.state.snapshot_by_last_pass import translate_by_last_pass
from tui.text.name_ranges import natural

LASTS_S = 60.0
"""A plan is remade after this time at the latest, since readings age and time windows open and close."""
_COMPARED = ("server", "queues", "scheds", "resources", "reservations", "vnodes", "jobs")


@dataclass(frozen=True)
class Decision:
    """The console's decision on a server status: its snapshot, the plan, the data that could not be read and the
    seconds it took. ``queue_order`` has the ids of the waiting jobs in the policy's queue order, ``in_line`` their
    positions, ``longest`` the longest walltimes with which they would start."""

    snapshot: Snapshot
    plan: Plan
    problems: tuple[str, ...]
    cost_s: float
    queue_order: Sequence[str] = ()
    in_line: InLine | None = None
    longest: Longest | None = None

    @cached_property
    def reasons(self) -> Mapping[str, Reason]:
        """Why the plan leaves a job waiting, by job id."""
        return {job.id: wait.reason for wait in self.plan.waits for job in wait.jobs}

    def reason_of(self, job_id: str) -> tuple[Job, Reason] | None:
        """A job that the plan leaves waiting, and why; None for any other."""
        reason = self.reasons.get(job_id)
        return None if reason is None else (self.snapshot.cluster().jobs[job_id], reason)

    def more_of(self, job_id: str) -> MoreNumbers:
        """A job's own numbers, which a shared reason cannot have: its position in line, and the longest walltime with
        which it would start."""
        if self.in_line is None or self.longest is None:
            return {}
        found = self.reason_of(job_id)
        return {**self.in_line.numbers(job_id), **(self.longest.numbers(*found) if found is not None else {})}

    @cached_property
    def starts(self) -> Mapping[str, Start]:
        """Starts by job id; for an array, the first one."""
        starts: dict[str, Start] = {}
        for start in self.plan.starts:
            starts.setdefault(start.job.id, start)
        return starts

    @cached_property
    def estimates(self) -> Mapping[str, float]:
        """Reserved start times by job id, in seconds since 1970."""
        return {estimate.id: estimate.at_s for estimate in self.plan.estimates}

    @cached_property
    def coming_free(self) -> Sequence[int]:
        """The cores of all vnodes that runs will have given back by the end of each quarter of an hour."""
        return free_by_quarter(self.snapshot)

    @cached_property
    def preempts(self) -> Mapping[str, Preempt]:
        """Preemptions by the victim's id."""
        return {preempt.id: preempt for preempt in self.plan.preempts}


@dataclass(frozen=True)
class ClusterView:
    """One poll: the server status, its counts, modes by queue; ``decision`` is None until the first plan is made.

    ``watched`` has the changes since the console's start, ``passes`` the journal. ``finished`` has jobs that have
    ended, newest first, or None if they are not requested. ``used`` has the ``resources_used`` of running jobs.
    ``hook_faults`` has sentences on hooks that the server does not run, if the hooks were looked up. ``forecast`` is
    the newest there is, of a pass or of this console.
    """

    server_status: ServerStatus
    settings: Settings
    ledger: Ledger
    counts: Counts
    modes: Mapping[str, str]
    poll_s: float
    watched: ServerChanges
    passes: Passes = NO_PASSES
    finished: EndedJobs | None = None
    decision: Decision | None = None
    hook_faults: tuple[str, ...] = ()
    forecast: PublishedForecast | None = None
    used: Objects = field(default_factory=dict)

    @cached_property
    def job_ids(self) -> list[str]:
        """Jobs and arrays: running, waiting in the plan's order, held, ended (newest first). Running and held ones are
        in the server's order."""
        running, waiting, held = folded(self.server_status.jobs)
        decision = self.decision
        if decision is not None:
            classes = decision.plan.classes or {}
            waiting = in_plan_order(waiting, decision.queue_order, classes, self.ledger.promises)
        return [*running, *waiting, *held, *(self.finished.jobs if self.finished else ())]

    @cached_property
    def _counts_of(self) -> dict[str, Counts]:
        return {self.counted: self.counts}

    def counts_of(self, resource: str) -> Counts:
        """The counts with ``resource`` as the one that quotas count."""
        if resource not in self._counts_of:
            self._counts_of[resource] = count(self.server_status.jobs, self.server_status.vnodes, resource)
        return self._counts_of[resource]

    @cached_property
    def vnode_names(self) -> list[str]:
        """All vnodes in natural order: ``n2`` before ``n10``."""
        return sorted(self.server_status.vnodes, key=natural)

    @cached_property
    def subjob_ids(self) -> Mapping[str, list[str]]:
        """The running subjobs of each array."""
        return subjobs_of(self.server_status.jobs)

    def job(self, job_id: str) -> Attributes | None:
        """A job's attributes, also of an ended one if these were requested; None if unknown."""
        found = self.server_status.jobs.get(job_id)
        return found if found is not None or self.finished is None else self.finished.jobs.get(job_id)

    @cached_property
    def idle_jobs(self) -> list[str]:
        """The running jobs and subjobs that use little of their cores."""
        return [job_id for job_id, texts in self._measured() if shares_of(texts, self.use_of(job_id)).is_idle]

    @cached_property
    def overdue_jobs(self) -> list[str]:
        """The running jobs and subjobs whose walltime is over."""
        return [job_id for job_id, texts in self._measured() if is_overdue(texts, self.use_of(job_id))]

    @cached_property
    def jobs_that_end_for_long(self) -> list[str]:
        """The jobs and subjobs that have not come to their end long after their walltime was over."""
        jobs = self.server_status.jobs
        return [job_id for job_id, texts in jobs.items() if ends_for_long(texts, self.now_s)]

    def _measured(self) -> Iterator[tuple[str, Attributes]]:
        """The running jobs of which the server has figures. Without the reader these are among their attributes."""
        jobs = self.server_status.jobs
        for job_id in self.used or jobs:
            texts = jobs.get(job_id, {})
            if texts.get("job_state") == "R" and (self.used or "resources_used.walltime" in texts):
                yield job_id, texts

    def use_of(self, job_id: str) -> Attributes:
        """The ``resources_used`` of a running or ended job, as far as the server has figures."""
        return self.used.get(job_id) or self.job(job_id) or {}

    def with_use(self, job_id: str) -> Attributes | None:
        """A job's attributes with its ``resources_used``; None if it is unknown."""
        found, used = self.job(job_id), self.used.get(job_id)
        return {**found, **used} if found is not None and used else found

    @cached_property
    def efficiency(self) -> Mapping[tuple[str, str], float]:
        """The share of their cores that users keep busy, by queue and user; without those that have no figures."""
        parts: dict[tuple[str, str], list[tuple[Attributes, Attributes]]] = {}
        for job_id, texts in self._measured():
            parts.setdefault((texts.get("queue", ""), user_of(texts)), []).append((texts, self.use_of(job_id)))
        means = {key: mean_share(jobs) for key, jobs in parts.items()}
        return {key: share for key, share in means.items() if share is not None}

    def shares(self, job_id: str) -> Shares:
        """How much of what it holds a job uses; of an array, the share of cores of its running subjobs."""
        subjobs = self.subjob_ids.get(job_id)
        if not subjobs:
            return shares_of(self.job(job_id) or {}, self.use_of(job_id))
        parts = [(self.job(each) or {}, self.use_of(each)) for each in subjobs]
        return Shares(mean_share(parts), ran_s=max(shares_of(*part).ran_s for part in parts))

    @property
    def server_name(self) -> str:
        """The server's name; empty if unknown."""
        return self.server_status.server.get(NAME, "")

    @property
    def now_s(self) -> float:
        """The time of the server status, in seconds since 1970."""
        return self.server_status.time_s

    @property
    def counted(self) -> str:
        """The resource that the tables show: cores, if quotas count them."""
        return self.settings.quota.shown

    @property
    def mode(self) -> str:
        """The mode of all queues; different ones joined by ``+``."""
        return mode_of_all(self.modes, self.settings)

    def decided(
        self, stopwatch: Callable[[], float], known: Known | None = None, before: ClusterView | None = None
    ) -> ClusterView:
        """This view with a plan: that of the view ``before`` if it still holds, else a new one. ``stopwatch`` returns
        seconds; ``known`` caches jobs translated for earlier views."""
        if before is not None and before.decision is not None and is_still_current(before.decision, before, self):
            cluster = replace(self, decision=before.decision)
            cluster.prepare()
            return cluster
        began_s = stopwatch()
        found = translate_by_last_pass(self.server_status, self.settings, self.passes, known)
        waiting = [entry[3] for entry in queue_line(found.snapshot.cluster(), found.snapshot.time_s).entries]
        plan = decide(found.snapshot, self.ledger, self.settings)
        # Threads of the console read both versions of the snapshot at once. Versions with one index take turns with it:
        # a read of one changes what a read of the other is looking at.
        plan = plan._replace(started=plan.started.fork())
        in_line = InLine(plan, self.settings)
        longest = Longest(found.snapshot.cluster(), plan, self.settings)
        decision = Decision(found.snapshot, plan, found.problems, stopwatch() - began_s, waiting, in_line, longest)
        cluster = replace(self, decision=decision)
        # Computed here in the poller's thread, since the screen's thread must not wait for it.
        cluster.prepare()
        return cluster

    def prepare(self) -> None:
        """Compute the cached properties now instead of at their first use."""
        _ = self.job_ids, self.vnode_names, self.subjob_ids, self.idle_jobs, self.overdue_jobs
        _ = self.jobs_that_end_for_long
        _ = self.efficiency
        for attributes in (self.server_status.server, *self.server_status.queues.values()):
            for resource in resources_with_quotas(attributes):
                self.counts_of(resource)
        if self.decision is not None:
            decision = self.decision
            _ = decision.reasons, decision.starts, decision.preempts, decision.estimates, decision.snapshot.cluster()
            _ = decision.coming_free
            decision.more_of("")


def see(
    server_status: ServerStatus,
    settings: Settings,
    ledger: Ledger,
    poll_s: float,
    *,
    passes: Passes = NO_PASSES,
    finished: EndedJobs | None = None,
    used: Objects | None = None,
    before: ClusterView | None = None,
) -> ClusterView:
    """The cluster view of one server status, counted but without a decision. ``before`` is the last poll's view."""
    watched = ServerChanges(server_status.time_s)
    if (
        before is not None
        and before.server_status.time_s <= server_status.time_s
        and before.server_name == server_status.server.get(NAME)
    ):
        counts = before.ledger.preemptions, ledger.preemptions
        watched = before.watched.compared(before.server_status, server_status, *counts)
    return ClusterView(
        server_status,
        settings,
        ledger,
        count(server_status.jobs, server_status.vnodes, settings.quota.shown),
        read_modes(server_status, settings),
        poll_s,
        watched,
        passes,
        finished,
        forecast=passes.forecast,
        used=used or {},
    )


def execution_queues(cluster: ClusterView) -> list[str]:
    """The execution queues, those with the most jobs first."""
    names = [
        name for name, queue in cluster.server_status.queues.items() if queue.get("queue_type", "Execution")[:1] in "Ee"
    ]
    return sorted(names, key=lambda name: (-sum(cluster.counts.queue_states.get(name, {}).values()), name))


def in_plan_order(
    waiting: Sequence[str], queue_order: Sequence[str], classes: Mapping[str, int], promised: Container[str]
) -> list[str]:
    """Waiting jobs in the order in which the plan considers them: promised starts, then priority classes, then queue
    order. Jobs that the plan does not know come last, in their given order.

    ``queue_order`` has the policy's jobs in queue order, ``classes`` the jobs above the base class.
    """
    here = set(waiting)
    ordered = [job_id for job_id in queue_order if job_id in here]
    if len(ordered) < len(waiting):
        here.difference_update(ordered)
        ordered += [job_id for job_id in waiting if job_id in here]
    if classes:
        ordered.sort(key=lambda job_id: -classes.get(job_id, BASE))
    return [
        *(job_id for job_id in ordered if job_id in promised),
        *(job_id for job_id in ordered if job_id not in promised),
    ]


def is_still_current(decision: Decision, decided_on: ClusterView, cluster: ClusterView) -> bool:
    """Whether a new decision on ``cluster`` would equal the one made on ``decided_on``, so that an idle server needs
    none: only the time differs, and no time has passed that changes the decision, one named by the plan or the
    expected end of a run."""
    return (
        0 <= cluster.now_s - decision.snapshot.time_s < LASTS_S
        and cluster.now_s < _until_s(decision)
        and cluster.settings == decided_on.settings
        and cluster.ledger == decided_on.ledger
        and cluster.passes.closed == decided_on.passes.closed
        and cluster.passes.orders == decided_on.passes.orders
        and all(
            _is_same(getattr(cluster.server_status, part), getattr(decided_on.server_status, part))
            for part in _COMPARED
        )
    )


def _until_s(decision: Decision) -> float:
    """When time alone may change the decision; in the past if a run has exceeded its estimate."""
    runs: Mapping[str, Run] = decision.snapshot.cluster().runs
    ends_s = min((run.end_s for run in runs.values()), default=float("inf"))
    return ends_s if decision.plan.next_s is None else min(ends_s, decision.plan.next_s)


def _is_same(one: Any, other: Any) -> bool:
    """Equality; an unchanged part is mostly the same object, which makes this fast for 100,000 jobs too."""
    return one is other or bool(one == other)
