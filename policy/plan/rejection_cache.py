"""Cache of rejections: jobs that cannot start now and may not preempt are left with one look-up each.

Until something starts or is preempted, all jobs alike in owner and in what they need of the quota share one reason and
one list.
"""

from __future__ import annotations

from typing import Final, Union

from policy.backfill.head_reservation import Reservation
from policy.backfill.queues_sharing_vnodes import Region
from policy.eligibility.quota_headroom import NO_ENTRY, QuotaHeadroom
from policy.fit.best_fit import fits, fits_where_open
from policy.fit.split_chunk_within_host import count_pieces
from policy.model.job_preferences import Layout, RankPreference
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.priority_class import BASE
from policy.model.vnode_bitsets import count_vnodes
from policy.plan.pass_context import Context
from policy.plan.plan_builder import PlanBuilder
from policy.reasons.reason import Reason
from policy.state.closure_windows import NOTHING_CLOSED, Closed

_Kind = tuple[str, object, Union[tuple[str, str], None], int, object]
_Shape = tuple[Request, str, "RankPreference | None", "Layout | None", tuple[int, ...]]
_Closed = tuple[Request, str, tuple[int, ...]]
_OF_THE_JOB: Final = frozenset({"into-window", "pinned", "vnode-run-limit"})
"""Main reasons with numbers of the job itself instead of its region."""


class Rejections:
    """What was rejected in this pass, as long as it holds."""

    def __init__(self, context: Context, builder: PlanBuilder) -> None:
        self._context = context
        self._capacity = context.capacity
        self._builder = builder
        self._preemption = context.preemption
        self._moves = -1
        self._lists: dict[_Kind, list[Job] | None] = {}
        # The jobs over quota by queue and main reason, where that alone keeps them from preempting.
        self._over_quota: dict[tuple[str, object], list[Job]] = {}
        self._needs_quota = context.preemption is not None and context.preemption.needs_quota
        # What quotas leave in a queue: nothing is booked between two moves, so it holds as long as the lists.
        self._headroom: dict[str, QuotaHeadroom] = {}
        self._spent: Reason | None = None
        # The last reason with the number of idle cores that it names.
        self._too_few: tuple[int, Reason] | None = None
        self._fragmented: tuple[int, Reason] | None = None
        self._beyond_limit = Reason("limit-of-pass", (("limit", context.settings.schedule.max_starts),))
        self._classed = None if context.classes is None else context.classes.of_jobs
        self._holdable: set[tuple[Request, str]] = set()
        # Free resources only shrink within a pass, unless a start is cancelled.
        self._lacking: set[tuple[Request, str]] = set()
        self._lacking_at = 0
        # Why requests have no room although enough cores are idle, if only run limits of vnodes are in the way.
        self._limited: dict[_Closed, Reason | None] = {}
        self._limited_at = -1
        # Requests that have room, by count of pieces, until something is taken.
        self._roomy: set[tuple[Request, str]] = set()
        self._roomy_at = -1
        # Requests that fit in their arrangement, until something is taken.
        self._fitting: set[_Closed] = set()
        self._fitting_at = -1
        # By shape: the reservation beside which a job of that shape does not fit.
        self._beside_head: dict[_Shape, Reservation] = {}
        self._windows: dict[_Shape, Reason] = {}
        self._windows_at = 0

    def too_few(self, region: Region) -> Reason:
        """The reason of jobs that need more cores than are idle."""
        if self._too_few is None or self._too_few[0] != region.idle:
            self._too_few = (region.idle, Reason("too-few-idle", (("idle", region.idle),)))
        return self._too_few[1]

    def fragmented(self, region: Region) -> Reason:
        """The reason of jobs for which enough cores are idle, but not on vnodes that suit them."""
        if self._fragmented is None or self._fragmented[0] != region.idle:
            self._fragmented = (region.idle, Reason("fragmented", (("idle", region.idle),)))
        return self._fragmented[1]

    def no_room(self, job: Job, allowed: int, region: Region) -> Reason:
        """The reason of a job for which enough cores are idle, but not on vnodes that may take it."""
        if job.pinned:
            return why_pinned(job)
        return self.limited_vnodes(job, allowed) or self.fragmented(region)

    def limited_vnodes(self, job: Job, allowed: int) -> Reason | None:
        """The reason of a job that would fit now if vnodes did not limit how many jobs run on them; else None."""
        if job.request.owner is None or job.pinned:
            return None
        if self._limited_at != self._builder.moves:
            self._limited_at = self._builder.moves
            self._limited.clear()
        windows = self._context.windows
        closed = NOTHING_CLOSED if windows is None else windows.closed_to(job, self._context.now_s)
        key = (job.request, job.queue, closed.key)
        if key not in self._limited:
            self._limited[key] = self._why_limited(job.request, allowed, closed)
        return self._limited[key]

    def _why_limited(self, request: Request, allowed: int, closed: Closed) -> Reason | None:
        counts, owner = self._capacity.run_counts, request.owner
        if counts is None or owner is None:
            return None
        ever, allowed = allowed, allowed & ~closed.vnodes
        with closed.applied_to(self._capacity):
            if not fits(self._capacity, request.of_owner(None), allowed, ever):
                return None
        wanted = 0
        for chunk in request.chunks:
            wanted |= allowed & self._capacity.inventory.matching(chunk)
        full = counts.closed_to(owner) & wanted & self._capacity.usable
        what = ", ".join(counts.in_the_way(owner, wanted))
        if not full or not what:
            return None
        return Reason("vnode-run-limit", (("vnodes", count_vnodes(full)), ("what", what)))

    def beyond_limit(self) -> Reason:
        """The reason of jobs that are not started or not attempted because the pass reached its limit of starts."""
        return self._beyond_limit

    def is_holdable(self, job: Job) -> bool:
        """Whether the job's vnodes are known to hold it if all were idle."""
        return (job.request, job.queue) in self._holdable

    def note_holdable(self, job: Job) -> None:
        """Note that the job's vnodes could hold it if all were idle."""
        self._holdable.add((job.request, job.queue))

    def lacks_room(self, job: Job, allowed: int) -> bool:
        """Whether no vnodes have room for the job, as found before or by counting its pieces."""
        request = job.request
        if request.only_cores:
            return False
        if self._lacking_at != self._builder.taken_back:
            self._lacking_at = self._builder.taken_back
            self._lacking.clear()
        key = (request, job.queue)
        if key in self._lacking:
            return True
        if self._roomy_at != self._builder.moves:
            self._roomy_at = self._builder.moves
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
        """Whether vnodes that are not closed to the job have room for it in the arrangement that it requests."""
        lone = self._capacity.sharing.has_lone_vnodes
        if job.request.only_cores and allowed == region.vnodes and not closed.key and not lone:
            return job.request.cores <= region.idle
        if self._fitting_at != self._builder.moves:
            self._fitting_at = self._builder.moves
            self._fitting.clear()
        key = (job.request, job.queue, closed.key)
        if key in self._fitting:
            return True
        found = fits_where_open(self._capacity, job.request, allowed, closed)
        if found:
            self._fitting.add(key)
        return found

    def note_lack(self, job: Job) -> None:
        """Note that there is no room for the job."""
        self._lacking.add((job.request, job.queue))

    def delays_head(self, job: Job, closed: Closed, reservation: Reservation) -> bool:
        """Whether a job of this shape was found to fit now, but not beside the head. That holds on until the head gets
        another reservation: the room beside it only shrinks."""
        return self._beside_head.get((job.request, job.queue, job.rank, job.layout, closed.key)) is reservation

    def note_delay(self, job: Job, closed: Closed, reservation: Reservation) -> None:
        """Note that a job of this shape fits now, but not beside the head."""
        self._beside_head[job.request, job.queue, job.rank, job.layout, closed.key] = reservation

    def window_in_the_way(self, job: Job, closed: Closed) -> Reason | None:
        """The window found to keep out a job of this shape with the same vnodes closed; None if none was found."""
        if not closed.key or not self._windows:
            return None
        if self._windows_at != self._builder.taken_back:
            self._windows_at = self._builder.taken_back
            self._windows.clear()
        return self._windows.get((job.request, job.queue, job.rank, job.layout, closed.key))

    def note_window(self, job: Job, closed: Closed, reason: Reason) -> None:
        """Note that a job of this shape would fit now, but for a window."""
        self._windows[job.request, job.queue, job.rank, job.layout, closed.key] = reason

    def leave(self, job: Job, region: Region, main: Reason) -> bool:
        """Leave a job that cannot start for the main reason; False if it may preempt or might never fit and so must be
        attempted."""
        request = job.request
        if request.cores > region.total:
            return False
        if not request.only_cores and (request, job.queue) not in self._holdable:
            return False
        preemption = self._preemption
        if preemption is None:
            self._builder.waiting_for(main).append(job)
            return True
        if self._moves != self._builder.moves:
            self._moves = self._builder.moves
            self._lists.clear()
            self._over_quota.clear()
            self._headroom.clear()
            self._spent = preemption.spent()
        headroom = self._headroom.get(job.queue)
        if headroom is None:
            headroom = self._headroom[job.queue] = self._context.quotas.headroom(job.queue)
        # The numbers of such a reason are those of the queue's region; they stay until a start or a preemption.
        # Beside a head other numbers of cores help a job that has its vnodes alone.
        reason = main if main.code in _OF_THE_JOB else (main.code, request.exclusive)
        is_over = self._needs_quota and headroom.exceeds_own(job)
        exceeded = None if is_over else headroom.first_exceeded(job)
        if is_over or (self._needs_quota and exceeded and exceeded != NO_ENTRY and headroom.counts_cores(request)):
            over = self._over_quota.get((job.queue, reason))
            if over is None:
                over = self._builder.waiting_over_quota(main, job.queue, headroom, preemption.going)
                self._over_quota[job.queue, reason] = over
            over.append(job)
            return True
        classed = self._classed
        kind = (
            job.queue,
            exceeded,
            # Without an entry, or in the base class, the reason depends on the user or the group.
            (job.user, job.group) if exceeded == NO_ENTRY or classed is not None else None,
            BASE if classed is None else classed.get(job.id, BASE),
            reason,
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
            jobs = None if rights is not None else self._builder.waiting_for(Reason(main.code, main.numbers, refused))
            lists[kind] = jobs
        if jobs is None:
            return False
        jobs.append(job)
        return True


def why_pinned(job: Job) -> Reason:
    """Why a job waits that PBS's own checkpoint keeps to its vnodes."""
    return Reason("pinned", (("vnodes", ", ".join(job.pinned)),))
