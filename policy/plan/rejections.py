"""The many jobs that cannot start now and may preempt nobody, each left alone at the price of a look-up.

Why nobody is preempted for a job depends on whose it is and what it needs of the quota; until something starts or is
preempted all such jobs share one reason and one list.
"""

from __future__ import annotations

from typing import Union

from policy.backfill.regions import Region
from policy.eligibility.priority_classes import BASE
from policy.eligibility.quota_headroom import NO_ENTRY
from policy.fit.fit import fits
from policy.fit.host_chunks import count_pieces
from policy.model.cluster import Job
from policy.model.preferences import Layout, RankWish
from policy.model.request import Request
from policy.plan.context import Scene
from policy.plan.plan_builder import Draft
from policy.reasons.reason import Reason
from policy.state.windows import Closed

_Kind = tuple[str, object, Union[tuple[str, str], None], int, object]
_Shape = tuple[Request, str, "RankWish | None", "Layout | None", tuple[int, ...]]
_Closed = tuple[Request, str, tuple[int, ...]]
_OF_THE_JOB = frozenset({"into-window", "pinned"})
"""The main reasons whose numbers are not those of the region."""


class Refusals:
    """What was refused in this pass, as long as it holds."""

    def __init__(self, scene: Scene, draft: Draft) -> None:
        self._scene = scene
        self._capacity = scene.capacity
        self._draft = draft
        self._preemption = scene.preemption
        self._moves = -1
        self._lists: dict[_Kind, list[Job] | None] = {}
        self._spent: Reason | None = None
        self._too_few = (-1, Reason("too-few-idle"))
        self._fragmented = (-1, Reason("fragmented"))
        self._beyond_limit = (-1, Reason("limit-of-pass"))
        self._classed = None if scene.classes is None else scene.classes.of_jobs
        self._holdable: set[tuple[Request, str]] = set()
        # What is free only shrinks within a pass, unless a start is taken back.
        self._lacking: set[tuple[Request, str]] = set()
        self._lacking_at = 0
        # There is room for these as long as nothing is taken.
        self._roomy: set[tuple[Request, str]] = set()
        self._roomy_at = -1
        # These fit as they ask for it, as long as nothing is taken.
        self._fitting: set[_Closed] = set()
        self._fitting_at = -1
        self._beside_head: set[_Shape] = set()
        self._windows: dict[_Shape, Reason] = {}
        self._windows_at = 0

    def too_few(self, region: Region) -> Reason:
        """The reason of jobs that need more cores than are idle."""
        if self._too_few[0] != region.idle:
            self._too_few = (region.idle, Reason("too-few-idle", (("idle", region.idle),)))
        return self._too_few[1]

    def fragmented(self, region: Region) -> Reason:
        """The reason of jobs for which enough cores are idle, but not where they want them."""
        if self._fragmented[0] != region.idle:
            self._fragmented = (region.idle, Reason("fragmented", (("idle", region.idle),)))
        return self._fragmented[1]

    def beyond_limit(self) -> Reason:
        """The reason of jobs that could start, or are not looked at any more, as the pass has started so many."""
        starts = len(self._draft.starts)
        if self._beyond_limit[0] != starts:
            self._beyond_limit = (starts, Reason("limit-of-pass", (("limit", starts),)))
        return self._beyond_limit[1]

    def is_holdable(self, job: Job) -> bool:
        """Whether the job's vnodes are known to hold it if all were idle."""
        return (job.request, job.queue) in self._holdable

    def note_holdable(self, job: Job) -> None:
        """The job's vnodes could hold it if all were idle."""
        self._holdable.add((job.request, job.queue))

    def lacks_room(self, job: Job, allowed: int) -> bool:
        """Whether no vnodes have room for the job, as was found before or as counting its pieces tells."""
        request = job.request
        if request.only_cores:
            return False
        if self._lacking_at != self._draft.taken_back:
            self._lacking_at = self._draft.taken_back
            self._lacking.clear()
        key = (request, job.queue)
        if key in self._lacking:
            return True
        if self._roomy_at != self._draft.moves:
            self._roomy_at = self._draft.moves
            self._roomy.clear()
        elif key in self._roomy:
            return False
        open_now = allowed & self._capacity.open_to(request)
        for chunk in request.chunks:
            there = open_now & self._capacity.inventory.matching(chunk)
            if count_pieces(self._capacity, chunk, there, chunk.pieces) < chunk.pieces:
                self._lacking.add(key)
                return True
        self._roomy.add(key)
        return False

    def fits_now(self, job: Job, allowed: int, closed: Closed, region: Region) -> bool:
        """Whether vnodes that are not closed to the job have room for it in the arrangement that it asks for."""
        lone = self._capacity.sharing.has_lone_vnodes
        if job.request.only_cores and allowed == region.vnodes and not closed.key and not lone:
            return job.request.cores <= region.idle
        if self._fitting_at != self._draft.moves:
            self._fitting_at = self._draft.moves
            self._fitting.clear()
        key = (job.request, job.queue, closed.key)
        if key in self._fitting:
            return True
        with closed.applied_to(self._capacity):
            found = fits(self._capacity, job.request, allowed & ~closed.vnodes, allowed)
        if found:
            self._fitting.add(key)
        return found

    def note_lack(self, job: Job) -> None:
        """No room was found for the job."""
        self._lacking.add((job.request, job.queue))

    def delays_head(self, job: Job, closed: Closed) -> bool:
        """Whether a job of this shape was found to fit now, but not beside the head: its room only shrinks."""
        return (job.request, job.queue, job.rank, job.layout, closed.key) in self._beside_head

    def note_delay(self, job: Job, closed: Closed) -> None:
        """A job of this shape fits now, but not beside the head."""
        self._beside_head.add((job.request, job.queue, job.rank, job.layout, closed.key))

    def window_in_the_way(self, job: Job, closed: Closed) -> Reason | None:
        """Why a job of this shape, to which the same is closed, was found not to fit now; None where it was not."""
        if not closed.key or not self._windows:
            return None
        if self._windows_at != self._draft.taken_back:
            self._windows_at = self._draft.taken_back
            self._windows.clear()
        return self._windows.get((job.request, job.queue, job.rank, job.layout, closed.key))

    def note_window(self, job: Job, closed: Closed, reason: Reason) -> None:
        """A job of this shape would fit now, but for a window."""
        self._windows[job.request, job.queue, job.rank, job.layout, closed.key] = reason

    def leave(self, job: Job, region: Region, main: Reason) -> bool:
        """Leave alone a job that cannot start for the main reason; False where it may preempt, or could never fit:
        that must be looked at."""
        request = job.request
        if request.cores > region.total:
            return False
        if not request.only_cores and (request, job.queue) not in self._holdable:
            return False
        preemption = self._preemption
        if preemption is None:
            self._draft.waiting_for(main).append(job)
            return True
        if self._moves != self._draft.moves:
            self._moves = self._draft.moves
            self._lists.clear()
            self._spent = preemption.spent()
        exceeded = self._scene.quotas.lefts(job.queue).first_exceeded(job)
        classed = self._classed
        kind = (
            job.queue,
            exceeded,
            # Without an entry, or in the base class, the reason is of the user or the group.
            (job.user, job.group) if exceeded == NO_ENTRY or classed is not None else None,
            BASE if classed is None else classed.get(job.id, BASE),
            # The numbers of a reason are those of the queue's region, which stay until somebody moves.
            main.code if main.code not in _OF_THE_JOB else main,
        )
        lists = self._lists
        if kind in lists:
            jobs = lists[kind]
        else:
            rights, refused = preemption.rights(job)
            if rights is None and refused[0].code == "preempt-delay":
                return False
            if rights is not None and self._spent is not None:
                rights, refused = None, (self._spent,)
            jobs = None if rights is not None else self._draft.waiting_for(main._replace(tried=refused))
            lists[kind] = jobs
        if jobs is None:
            return False
        jobs.append(job)
        return True


def why_pinned(job: Job) -> Reason:
    """Why a job that PBS's own checkpoint keeps to its vnodes waits."""
    return Reason("pinned", (("vnodes", ", ".join(job.pinned)),))
