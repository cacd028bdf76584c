"""Backfilling: a job behind a head starts beside it, or inside its window (docs/policies.md, P3).

A job is tested with the estimate that :mod:`policy.backfill.runtime_estimates` gives it, and starts only where its
region's head keeps its start. What is found out about one shape of jobs holds for the others until cores come free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, NamedTuple

from policy.backfill.regions import Region
from policy.backfill.reservation import Reservation
from policy.backfill.runtime_estimates import Tested
from policy.cycle.start_places import StartPlaces
from policy.model.allocation import Placement
from policy.model.cluster import Job
from policy.model.ledger import Backfilled
from policy.plan.context import Scene
from policy.plan.plan_builder import Draft
from policy.plan.rejections import Refusals, why_pinned
from policy.reasons.reason import Reason
from policy.state.windows import NOTHING_CLOSED, Closed


class Placed(NamedTuple):
    """A job has started; ``left`` is what is left of an array."""

    left: Job | None


class Left(NamedTuple):
    """A job does not backfill for this reason; ``final`` where it is not to preempt either."""

    reason: Reason
    final: bool = False


class Backfilling:
    """The jobs behind heads in one pass."""

    __slots__ = ("_draft", "_now_s", "_places", "_refusals", "_scene", "_settings", "_world")

    def __init__(self, scene: Scene, draft: Draft, places: StartPlaces, refusals: Refusals) -> None:
        self._scene = scene
        self._draft = draft
        self._places = places
        self._refusals = refusals
        self._settings = scene.settings
        self._now_s = scene.now_s
        self._world = scene.world

    def start(self, job: Job, region: Region, reservation: Reservation) -> Placed | Left:
        """Start the job beside the head or inside its window; else why not."""
        allowed = self._world.vnodes_of(job.queue)
        if self._settings.backfill.kind == "none":
            if not self._refusals.fits_now(job, allowed, NOTHING_CLOSED, region):
                return Left(why_pinned(job) if job.pinned else self._refusals.fragmented(region))
            return Left(Reason("behind-head", (("head", reservation.head.id),)), final=True)
        closed = self._places.closed_to(job)
        if self._refusals.lacks_room(job, allowed):
            return Left(why_pinned(job) if job.pinned else self._refusals.fragmented(region))
        in_the_way = self._refusals.window_in_the_way(job, closed)
        if in_the_way is not None:
            return Left(in_the_way)
        reason = self._scene.gates.shut(job)
        if reason is not None:
            return Left(reason, final=True)
        left_s, cuttable = job.left_s, False
        if self._scene.shrinks:
            left_s, cuttable = _tested(self._scene, job, region, reservation)
        end_s = self._now_s + left_s
        passes = end_s > reservation.until_s
        if reservation.counts_out(job, end_s, allowed & ~closed.vnodes) or (
            passes and self._refusals.delays_head(job, closed)
        ):
            if not self._refusals.fits_now(job, allowed, closed, region):
                return Left(self._lacks(job, allowed, closed, region))
            return Left(_not_beside(self._scene, reservation, self._draft))
        # Asked with the full estimate: whoever is cut then still holds its limits and licences when the head is asked
        # for its own.
        reason = self._draft.shut_beside_heads(job, self._now_s + job.left_s)
        if reason is not None:
            return Left(reason, final=True)
        if len(self._draft.starts) >= self._settings.schedule.max_starts:
            return Left(self._refusals.beyond_limit(), final=True)
        placement = self._places.place(job, allowed, closed)
        if placement is None:
            return Left(self._lacks(job, allowed, closed, region))
        if not isinstance(placement, Reason) and not reservation.admits(placement, end_s, job.request):
            placement = self._places.place(job, allowed & ~reservation.head_vnodes(), closed)
            if placement is None or (
                isinstance(placement, Placement) and not reservation.admits(placement, end_s, job.request)
            ):
                self._refusals.note_delay(job, closed)
                return Left(_not_beside(self._scene, reservation, self._draft))
        if isinstance(placement, Reason):
            return Left(placement, final=True)
        left = self._draft.start(job, placement, Backfilled(end_s, cuttable))
        if cuttable and not passes:
            reservation.note_inside(self._draft.starts[-1].id)
        return Placed(left)

    def _lacks(self, job: Job, allowed: int, closed: Closed, region: Region) -> Reason:
        """Why a job finds no place now, and others of its shape neither: a window is in the way, or there is none."""
        in_the_way = self._places.window_in_the_way(job, allowed, closed)
        if in_the_way is not None:
            self._refusals.note_window(job, closed, in_the_way)
            return in_the_way
        self._refusals.note_lack(job)
        return why_pinned(job) if job.pinned else self._refusals.fragmented(region)


def wait_behind(
    scene: Scene, draft: Draft, jobs: Sequence[Job], region: Region, behind: Callable[[Job, Region], None]
) -> None:
    """Jobs behind a head of which idle cores alone do not tell that they cannot start: most pass the window, and that
    needs no more than a comparison. The others have their turns ``behind`` it."""
    reservation = region.reservation
    assert reservation is not None  # noqa: S101 - they are behind a head
    window_s = reservation.until_s - scene.now_s
    shrinks = scene.shrinks
    exact = idle_cores_tell(scene, region)
    passing: list[Job] = []
    spare = -1
    for job in jobs:
        request = job.request
        cores = request.cores
        if not request.only_cores:
            behind(job, region)
        elif cores > region.idle:
            draft.waiting_for(Reason("too-few-idle", (("idle", region.idle),))).append(job)
        elif (
            exact
            and cores > reservation.spare_cores
            and job.left_s > window_s
            and not (shrinks and _tested(scene, job, region, reservation).estimate_s <= window_s)
        ):
            if spare != reservation.spare_cores:
                spare = reservation.spare_cores
                passing = draft.waiting_for(_not_beside(scene, reservation, draft))
            passing.append(job)
        else:
            behind(job, region)


def idle_cores_tell(scene: Scene, region: Region) -> bool:
    """Whether every job of single cores fits now where so many are idle: all queues have all vnodes of the region, and
    no vnode gives itself to one job alone."""
    if scene.capacity.sharing.has_lone_vnodes:
        return False
    return all(scene.world.vnodes_of(queue) == region.vnodes for queue in scene.world.queues)


def _tested(scene: Scene, job: Job, region: Region, reservation: Reservation) -> Tested:
    """What a job behind the head is tested with."""
    return scene.estimates.tested(job, reservation.until_s, region.promised_s)


def _not_beside(scene: Scene, reservation: Reservation, draft: Draft) -> Reason:
    """Why a job that would fit now, but passes the window, does not start."""
    may_start = len(draft.starts) < scene.settings.schedule.max_starts
    return reservation.why_not_beside(only_head=scene.windows is None and scene.plain and may_start)
