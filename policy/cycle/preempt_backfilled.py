"""Decides which backfilled runs are cut so that a head starts at its promised time (docs/policies.md, P3).

Only runs started on that condition are cut, if they save or have little to repeat by then; a run that could not be cut
is planned with its full estimate from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from policy.backfill.cut_backfilled_for_promise import NO_PROMISE, Promise, cut_for, cut_order
from policy.cycle.where_job_can_start_now import StartPlaces
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.model.ledger_between_passes import Backfilled
from policy.plan.pass_context import Context
from policy.plan.plan_builder import PlanBuilder
from policy.preemption.victim_search import Slot

NOTHING_EXPECTED: Final[Mapping[str, float]] = MappingProxyType({})
"""No run is expected to end before its full estimate."""


class PromisedCuts:
    """The cuts for promises in one pass that tests jobs with shrunk estimates."""

    __slots__ = ("_builder", "_context", "_places")

    def __init__(self, context: Context, builder: PlanBuilder, places: StartPlaces) -> None:
        self._context = context
        self._builder = builder
        self._places = places

    def promise_to(self, job: Job, allowed: int) -> Promise:
        """The promise given to the job, with the runs that may be cut to keep it."""
        at_s = self._builder.promises.get(job.id, UNLIMITED_S)
        return NO_PROMISE if at_s == UNLIMITED_S else Promise(at_s, lambda: self._cuttable(at_s, job, allowed))

    def expected_ends(self) -> Mapping[str, float]:
        """Run id to the expected end of each backfilled run that is expected to end before its full estimate.

        Left out, and so planned with their full estimates, are runs past the estimate that they were tested with, and
        runs whose expected end is within the grace of their start: a head promised that end would have them asked to
        save before they started.
        """
        runs, now_s, backfilled = self._context.cluster.runs, self._context.now_s, self._builder.backfilled()
        if not backfilled:
            return NOTHING_EXPECTED
        grace_s = self._context.settings.checkpoint.grace_s
        expected: dict[str, float] = {}
        for run_id, entry in backfilled.items():
            end_s = entry.end_s
            if entry.cuttable and end_s > now_s:
                run = runs.get(run_id)
                if run is not None and run.start_s + grace_s < end_s < run.end_s:
                    expected[run_id] = end_s
        return expected

    def too_dear(self, expected: Mapping[str, float], at_s: float) -> set[str]:
        """The runs expected to end early that could not be cut at that time if they did not."""
        runs, estimates = self._context.cluster.runs, self._context.estimates
        return {run_id for run_id in expected if not estimates.may_be_cut_at(runs[run_id], at_s)}

    def room_at_promise(self, job: Job, allowed: int) -> Slot | None:
        """The runs to cut now for a head whose promised time has come; None if it has not, or if cuts do not help."""
        return self.room_by(self._builder.promises.get(job.id, UNLIMITED_S), job, allowed)

    def room_by(self, at_s: float, job: Job, allowed: int) -> Slot | None:
        """The runs to cut now so that the job starts at that time; None if it is too early to ask them to save, if none
        is needed, or if all of them would not be enough."""
        if self._context.now_s < at_s - self._context.settings.checkpoint.grace_s:
            return None
        allowed = self._places.worth_clearing(job, allowed)
        cuttable = self._cuttable(at_s, job, allowed)
        closed = self._places.closed_to(job, late=True)
        return cut_for(self._context.cluster, job, allowed, at_s, cuttable, self._builder.pending, closed)

    def tested_at_promise(self, job: Job) -> Backfilled:
        """The ledger's entry for the run of a rescued job: it is cuttable at promised times like a backfilled run."""
        times = self._context.ledger.promises.values()
        tested = self._context.estimates.tested(job, min(times, default=UNLIMITED_S), max(times, default=UNLIMITED_S))
        return Backfilled(self._context.now_s + tested.estimate_s, tested.cuttable)

    def _cuttable(self, at_s: float, job: Job, allowed: int) -> list[Run]:
        """The runs that may be cut at that promised time for a job that may use these vnodes, in the order of cuts."""
        cluster, estimates = self._context.cluster, self._context.estimates
        vnodes = cluster.capacity.sharing.reach(allowed, job.request)
        order = cut_order(cluster, self._builder.backfilled(), vnodes)
        return [run for run in order if estimates.may_be_cut_at(run, at_s)]
