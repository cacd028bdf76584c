"""Which backfilled runs are cut so that a head starts when it was promised (docs/policies.md, P3).

Only runs that were let in on that condition are, and only those that save or have little to repeat at that time. Where
a run could not be cut then, its full estimate is planned with. What a cut frees is :mod:`policy.backfill.promise`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from policy.backfill.promise import NO_PROMISE, Promise, cut_for, cut_order
from policy.cycle.start_places import StartPlaces
from policy.model.cluster import UNLIMITED_S, Job, Run
from policy.model.ledger import Backfilled
from policy.plan.context import Scene
from policy.plan.plan_builder import Draft
from policy.preemption.victim_search import Room

NOTHING_EXPECTED: Mapping[str, float] = MappingProxyType({})
"""No run is expected to end before its full estimate."""


class PromisedCuts:
    """The cuts that promises may ask for in one pass in which jobs are tested with shrunk estimates."""

    __slots__ = ("_draft", "_places", "_scene")

    def __init__(self, scene: Scene, draft: Draft, places: StartPlaces) -> None:
        self._scene = scene
        self._draft = draft
        self._places = places

    def promise_to(self, job: Job, allowed: int) -> Promise:
        """What was promised to the job, to be kept by cuts."""
        at_s = self._scene.ledger.promises.get(job.id, UNLIMITED_S)
        return NO_PROMISE if at_s == UNLIMITED_S else Promise(at_s, lambda: self._cuttable(at_s, allowed))

    def expected_ends(self) -> Mapping[str, float]:
        """The ends of backfilled runs that are expected before their full estimates: those that have not outlived the
        estimates they were tested with. Those that have are planned with their full estimates again, and so are runs
        that would have had to be asked to save before they started, had a head been promised their expected end."""
        runs, now_s, backfilled = self._scene.world.runs, self._scene.now_s, self._draft.backfilled()
        if not backfilled:
            return NOTHING_EXPECTED
        grace_s = self._scene.settings.checkpoint.grace_s
        return {
            run_id: entry.end_s
            for run_id, entry in backfilled.items()
            if entry.cuttable
            and entry.end_s > now_s
            and run_id in runs
            and runs[run_id].start_s + grace_s < entry.end_s < runs[run_id].end_s
        }

    def too_dear(self, expected: Mapping[str, float], at_s: float) -> set[str]:
        """The runs expected to end before their estimates say that could not be cut at that time if they did not."""
        runs, estimates = self._scene.world.runs, self._scene.estimates
        return {run_id for run_id in expected if not estimates.may_be_cut_at(runs[run_id], at_s)}

    def room_at_promise(self, job: Job, allowed: int) -> Room | None:
        """The runs to cut now for a head whose promised time has come; None where that is not so, or no help."""
        return self.room_by(self._scene.ledger.promises.get(job.id, UNLIMITED_S), job, allowed)

    def room_by(self, at_s: float, job: Job, allowed: int) -> Room | None:
        """The runs to cut now so that the job starts at that time; None where the time to ask them has not come, where
        none has to go, or where all of them would not be enough."""
        if self._scene.now_s < at_s - self._scene.settings.checkpoint.grace_s:
            return None
        cuttable = self._cuttable(at_s, allowed)
        closed = self._places.closed_to(job, late=True)
        return cut_for(self._scene.world, job, allowed, at_s, cuttable, self._draft.pending, closed)

    def tested_at_promise(self, job: Job) -> Backfilled:
        """What a rescued job is noted with: it gives way to whoever is promised a start."""
        times = self._scene.ledger.promises.values()
        tested = self._scene.estimates.tested(job, min(times, default=UNLIMITED_S), max(times, default=UNLIMITED_S))
        return Backfilled(self._scene.now_s + tested.estimate_s, tested.cuttable)

    def _cuttable(self, at_s: float, allowed: int) -> list[Run]:
        """The runs on these vnodes that may be cut at that promised time, in the order in which they go."""
        estimates = self._scene.estimates
        order = cut_order(self._scene.world, self._draft.backfilled(), allowed)
        return [run for run in order if estimates.may_be_cut_at(run, at_s)]
