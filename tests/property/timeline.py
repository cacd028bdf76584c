"""A cluster that lives: jobs run as long as they really do, passes follow, and all that happened is written down.

A small event loop of its own over any cluster and any request, beside the simulator's replay, which knows single cores
only. A pass is decided whenever something ends, is submitted, or is let go; victims let go at once or after a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from policy import Changes, Job, Ledger, Plan, Run, Settings, Snapshot, decide
from tests.property.strategies import Parts

PASSES = 3000


@dataclass
class History:
    """``passes`` are the snapshot, ledger and plan of each; ``segments`` each id's runs as (start, end)."""

    passes: list[tuple[Snapshot, Ledger, Plan]] = field(default_factory=list)
    segments: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    preempted: list[tuple[str, str, float]] = field(default_factory=list)
    promised_s: dict[str, float] = field(default_factory=dict)
    late: dict[str, tuple[float, float]] = field(default_factory=dict)
    waiting: Mapping[str, Job] = field(default_factory=dict)


def live(
    parts: Parts,
    settings: Settings,
    run_s: Callable[[Job], float],
    *,
    coming: Iterable[Job] = (),
    letting_go_s: float = 0,
    watch: Callable[[Snapshot, Ledger, Plan], None] = lambda _snapshot, _ledger, _plan: None,
) -> History:
    """Let the cluster live until nothing happens any more. ``run_s`` is how long a job really runs."""
    life = _Life(parts, settings, run_s, letting_go_s, watch)
    later = sorted(coming, key=lambda job: (job.submit_s, job.id))
    life.decide(())
    for _ in range(PASSES):
        at_s = min([*life.next_events(), *(job.submit_s for job in later[:1])], default=None)
        if at_s is None:
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
    ) -> None:
        self.snapshot = parts.snapshot()
        self.history = History()
        self._settings = settings
        self._run_s = run_s
        self._letting_go_s = letting_go_s
        self._watch = watch
        self._ledger = Ledger()
        self._now_s = parts.time_s
        self._ends = {run.id: max(parts.time_s, run.start_s + run_s(run.job)) for run in parts.runs}
        self._going: dict[str, float] = {}
        self._gone: list[str] = []
        self._wake_s: float | None = None

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

    def decide(self, arrived: Iterable[Job]) -> None:
        """Pass, and pass again while cores change hands at once."""
        gone, self._gone = self._gone, []
        self.snapshot = self.snapshot.apply(Changes(self._now_s, list(arrived), gone=gone))
        while True:
            plan = decide(self.snapshot, self._ledger, self._settings)
            self.history.passes.append((self.snapshot, self._ledger, plan))
            self._watch(self.snapshot, self._ledger, plan)
            self._note(plan)
            self._ledger = plan.ledger
            self.snapshot = plan.started
            if self._letting_go_s or (not plan.preempts and all(w.reason.code != "passed-over" for w in plan.waits)):
                break
            runs = self.snapshot.runs
            for preempt in plan.preempts:
                self._requeue(runs[preempt.id])
        self._wake_s = _wake_s(plan)

    def _note(self, plan: Plan) -> None:
        history = self.history
        for estimate in plan.estimates:
            history.promised_s.setdefault(estimate.id, estimate.promised_s)
        for start in plan.starts:
            self._ends[start.id] = self._now_s + self._run_s(start.job)
            promised_s = history.promised_s.pop(start.job.id, None)
            if promised_s is not None and self._now_s > promised_s:
                history.late[start.id] = (promised_s, self._now_s)
        for preempt in plan.preempts:
            if not preempt.again:
                history.preempted.append((preempt.id, preempt.beneficiary, self._now_s))
                if self._letting_go_s:
                    self._going[preempt.id] = self._now_s + self._letting_go_s

    def _requeue(self, run: Run) -> None:
        """The job waits again, with its submit time; a subjob goes back among those of its array that wait."""
        self._note_segment(run, self._now_s)
        self._ends.pop(run.id)
        self._going.pop(run.id, None)
        job = run.job
        if run.subjob is not None:
            waiting = self.snapshot.jobs.get(job.id)
            subjobs = waiting.subjobs or () if waiting is not None else ()
            job = replace(job, subjobs=tuple(sorted((*subjobs, run.subjob))))
        self.snapshot = self.snapshot.apply(Changes(self._now_s, [job], gone=[run.id]))

    def _note_segment(self, run: Run, end_s: float) -> None:
        self.history.segments.setdefault(run.id, []).append((run.start_s, end_s))


def _wake_s(plan: Plan) -> float | None:
    """When waiting alone lets something be decided anew: a set start time, a delay or an exempt time is over."""
    times = [
        told.number("at_s")
        for wait in plan.waits
        for told in (wait.reason, *wait.reason.tried)
        if told.code in ("preempt-delay", "exempt-victims", "not-before")
    ]
    return min((float(at_s) for at_s in times if float(at_s) > plan.time_s), default=None)
