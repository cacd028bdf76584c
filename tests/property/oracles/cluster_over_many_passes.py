"""A cluster that lives: jobs run as long as they really do, passes follow, and all that happened is written down.

A small event loop of its own over any cluster and any request, beside the simulator's replay, which knows single cores
only. A pass is decided whenever something ends, is submitted, is let go, or the pass before asked for it; victims let
go at once or after a while, and those that save go on where they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from policy import Changes, Finished, Job, Ledger, Plan, Run, Settings, Snapshot, decide
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.plan.plan_types import MovedPromise
from tests.property.oracles import unpreemptible_by_hand
from tests.property.strategies.change_strategies import finished_of
from tests.property.strategies.cluster_strategies import Parts, parts_of

PASSES = 500
PASSES_AT_ONCE = 50


@dataclass
class History:
    """``passes`` are the snapshot, ledger and plan of each; ``segments`` each id's runs as (start, end); ``charges_s``
    what saving and restarting has cost it; ``late`` the promised and the real start of heads that came too late;
    ``moved`` the promises that gave way to a better claim, ``lapsed`` the jobs whose promises ended as they may not be
    preempted and would exceed a quota by now."""

    passes: list[tuple[Snapshot, Ledger, Plan]] = field(default_factory=list)
    segments: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    charges_s: dict[str, float] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    preempted: list[tuple[str, str, float]] = field(default_factory=list)
    promised_s: dict[str, float] = field(default_factory=dict)
    late: dict[str, tuple[float, float]] = field(default_factory=dict)
    moved: list[MovedPromise] = field(default_factory=list)
    lapsed: list[str] = field(default_factory=list)
    waiting: Mapping[str, Job] = field(default_factory=dict)


def saves(job: Job, settings: Settings) -> bool:
    """Whether a preempted job goes on where it was. What one subjob has saved cannot be told of its array."""
    return job.subjobs is None and (settings.checkpoint.saves if job.saves is None else job.saves)


def live(
    parts: Parts,
    settings: Settings,
    run_s: Callable[[Job], float],
    *,
    coming: Iterable[Job] = (),
    letting_go_s: float = 0,
    watch: Callable[[Snapshot, Ledger, Plan], None] = lambda _snapshot, _ledger, _plan: None,
    ledger: Ledger = Ledger(),  # noqa: B008 - a frozen value
    until_s: float = UNLIMITED_S,
) -> History:
    """Let the cluster live until nothing happens any more, or until so late. ``run_s`` is how long a job runs in all,
    however often it is preempted."""
    life = _Life(parts, settings, run_s, letting_go_s, watch, ledger)
    later = sorted(coming, key=lambda job: (job.submit_s, job.id))
    life.decide(())
    for _ in range(PASSES):
        at_s = min([*life.next_events(), *(job.submit_s for job in later[:1])], default=None)
        if at_s is None or at_s > until_s or at_s == UNLIMITED_S:
            life.history.waiting = life.snapshot.jobs
            return life.history
        life.advance(at_s)
        arrived = [job for job in later if job.submit_s <= at_s]
        later = later[len(arrived) :]
        life.decide(arrived)
    raise AssertionError(f"still busy after {PASSES} passes: it never comes to rest")


class _Life:
    def __init__(
        self,
        parts: Parts,
        settings: Settings,
        run_s: Callable[[Job], float],
        letting_go_s: float,
        watch: Callable[[Snapshot, Ledger, Plan], None],
        ledger: Ledger,
    ) -> None:
        self.snapshot = parts.snapshot()
        self.history = History()
        self._settings = settings
        self._run_s = run_s
        self._letting_go_s = letting_go_s
        self._watch = watch
        self._ledger = ledger
        self._now_s = parts.time_s
        self._ends = {run.id: max(parts.time_s, run.start_s + self._left_s(run.job)) for run in parts.runs}
        self._going: dict[str, float] = {}
        self._gone: list[str] = []
        self._finished: list[Finished] = []
        self._wake_s: float | None = None

    def _left_s(self, job: Job) -> float:
        return max(0.0, self._run_s(job) - job.saved_s)

    def next_events(self) -> list[float]:
        ends = [at_s for job, at_s in self._ends.items() if job not in self._going]
        return [*ends, *self._going.values(), *([] if self._wake_s is None else [self._wake_s])]

    def advance(self, at_s: float) -> None:
        """To a later moment: what ends until then has ended, and victims whose time is over have let go."""
        self._now_s = at_s
        runs = self.snapshot.runs
        for run_id in sorted(self._ends):
            if run_id in self._going:
                if self._going[run_id] <= at_s:
                    self._requeue(runs[run_id])
            elif self._ends[run_id] <= at_s:
                self._note_segment(runs[run_id], self._ends.pop(run_id))
                self.history.ended.add(run_id)
                self._gone.append(run_id)
                self._finished.append(finished_of(runs[run_id], at_s))

    def decide(self, arrived: Iterable[Job]) -> None:
        """Pass, and pass again while cores change hands at once."""
        gone, self._gone = self._gone, []
        finished, self._finished = self._finished, []
        self.snapshot = self.snapshot.apply(Changes(self._now_s, list(arrived), gone=gone, finished=finished))
        for _ in range(PASSES_AT_ONCE):
            plan = decide(self.snapshot, self._ledger, self._settings)
            self.history.passes.append((self.snapshot, self._ledger, plan))
            self._watch(self.snapshot, self._ledger, plan)
            self._note(plan)
            self._note_lapsed(plan)
            self._ledger = plan.ledger
            self.snapshot = plan.started
            if self._letting_go_s or (not plan.preempts and not plan.again):
                self._wake_s = plan.next_s
                assert plan.next_s is None or plan.next_s > self._now_s, "a pass asks to be repeated at once"
                return
            runs = self.snapshot.runs
            for preempt in plan.preempts:
                self._requeue(runs[preempt.id])
        raise AssertionError(f"cores changed hands {PASSES_AT_ONCE} times at {self._now_s}")

    def _note(self, plan: Plan) -> None:
        history = self.history
        for moved in plan.moved:
            history.promised_s.pop(moved.id, None)
            history.moved.append(moved)
        for estimate in plan.estimates:
            history.promised_s.setdefault(estimate.id, estimate.promised_s)
        for start in plan.starts:
            self._ends[start.id] = self._now_s + self._left_s(start.job)
            promised_s = history.promised_s.pop(start.job.id, None)
            if promised_s is not None and self._now_s > promised_s:
                history.late[start.id] = (promised_s, self._now_s)
        for preempt in plan.preempts:
            if not preempt.again:
                history.preempted.append((preempt.id, preempt.beneficiary, self._now_s))
                if self._letting_go_s:
                    self._going[preempt.id] = self._now_s + self._letting_go_s

    def _note_lapsed(self, plan: Plan) -> None:
        """The promises that the plan no longer keeps, where it says of the job that it may not be preempted: whether it
        really may not, and would exceed a quota, is checked by hand."""
        for job_id in self._ledger.promises.keys() - plan.ledger.promises.keys():
            reason = plan.reason_of(job_id)
            if reason is not None and reason.code == "unpreemptible":
                self.history.promised_s.pop(job_id, None)
                self.history.lapsed.append(job_id)
                unpreemptible_by_hand.check_reasons(parts_of(self.snapshot), self._ledger, plan, self._settings)

    def _requeue(self, run: Run) -> None:
        """The job waits again, with its submit time; a subjob goes back among those of its array that wait."""
        self._note_segment(run, self._now_s)
        self._ends.pop(run.id)
        self._going.pop(run.id, None)
        job, ran_s = run.job, self._now_s - run.start_s
        if run.subjob is not None:
            waiting = self.snapshot.jobs.get(job.id)
            subjobs = waiting.subjobs or () if waiting is not None else ()
            job = job._replace(subjobs=tuple(sorted((*subjobs, run.subjob))))
        elif saves(job, self._settings) and ran_s:
            charge_s = self._settings.checkpoint.charge_s(job.cores)
            self.history.charges_s[run.id] = self.history.charges_s.get(run.id, 0) + charge_s
            job = job._replace(saved_s=job.saved_s + ran_s - charge_s)
        self.snapshot = self.snapshot.apply(Changes(self._now_s, [job], gone=[run.id], finished=self.snapshot.finished))

    def _note_segment(self, run: Run, end_s: float) -> None:
        self.history.segments.setdefault(run.id, []).append((run.start_s, end_s))
