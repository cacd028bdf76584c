"""Where a job can start now, and what keeps it from there (docs/policies.md, P4 and P5).

Vnodes that a window closes to the job are left out. Where the job has a better claim than the head of its region, a
place at which the head keeps its start is looked for first.
"""

from __future__ import annotations

from policy.backfill.regions import Region
from policy.fit.fit import fit
from policy.model.allocation import Placement
from policy.model.cluster import Job
from policy.plan.context import Scene
from policy.reasons.reason import Reason
from policy.state.windows import NOTHING_CLOSED, Closed


class StartPlaces:
    """The places for starts in one pass, as the world stands when they are asked for."""

    __slots__ = ("_scene",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def closed_to(self, job: Job, *, late: bool = False) -> Closed:
        """What windows close to the job if it starts now, or, where others have to make room first, somewhat late."""
        windows = self._scene.windows
        if windows is None:
            return NOTHING_CLOSED
        return windows.closed_to(job, self._scene.now_s, windows.slack_s if late else 0.0)

    def window_in_the_way(self, job: Job, allowed: int, closed: Closed) -> Reason | None:
        """The window but for which the job would fit now; None where there is none."""
        windows = self._scene.windows
        if windows is None or not closed.key:
            return None
        placement = fit(self._scene.capacity, job.request, allowed)
        return None if placement is None else windows.why(job, self._scene.now_s, placement)

    def place(self, job: Job, allowed: int, closed: Closed) -> Placement | Reason | None:
        """Where the job can start now; a reason where it would fit but is not to start (P4, P5)."""
        if closed is NOTHING_CLOSED:
            placement = self._place_on(job, allowed)
        else:
            with closed.applied_to(self._scene.capacity):
                placement = self._place_on(job, allowed & ~closed.vnodes)
        confined = self._scene.confined
        if confined is not None and isinstance(placement, Placement):
            # Only where it is does an exclusive job show what it keeps.
            return confined.why(job, placement) or placement
        return placement

    def place_beside(self, job: Job, allowed: int, closed: Closed, region: Region) -> Placement | Reason | None:
        """Where a job with a better claim than the head can start now: where the head loses nothing by it, if there is
        such a place, else anywhere, and the head gives way."""
        placement = self.place(job, allowed, closed)
        reservation = region.reservation
        if region.moved_for is not None or reservation is None or not isinstance(placement, Placement):
            return placement
        end_s = self._scene.now_s + job.left_s
        if reservation.admits(placement, end_s, job.request):
            return placement
        elsewhere = self.place(job, allowed & ~reservation.head_vnodes(), closed)
        if isinstance(elsewhere, Placement) and reservation.admits(elsewhere, end_s, job.request):
            return elsewhere
        region.moved_for = job
        return placement

    def _place_on(self, job: Job, vnodes: int) -> Placement | Reason | None:
        scene = self._scene
        if job.pinned or (scene.plain and job.layout is None and job.rank is None):
            return fit(scene.capacity, job.request, vnodes, self._scene.world.vnodes_of(job.queue))
        return scene.placer.place(job, vnodes)
