"""Incremental pass: if only new jobs arrived, reuse the last plan and classify just those.

While one head is reserved and all other jobs wait, time alone starts no job before the reserved time, so a new job
waits for the same reason as others, or could start and the whole pass is decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Callable, Final

from policy.backfill.head_reservation import Reservation
from policy.backfill.queues_sharing_vnodes import Region
from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates
from policy.cycle.backfill_attempt import idle_cores_decide
from policy.cycle.preempt_long_run_for_short_job import waits_until_s
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job
from policy.model.ledger_between_passes import Ledger
from policy.plan.correct_idle_cores_in_reasons import with_idle
from policy.plan.pass_context import Context
from policy.plan.plan_builder import PlanBuilder
from policy.plan.plan_types import Plan, Waits
from policy.reasons.reason import Reason
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot


class Memo:
    """The memo of a pass: its outcome, how long that holds by itself, and what new jobs are compared with."""

    __slots__ = (
        "_arrived", "_region", "_waiting", "estimates", "exact", "idle", "ledger", "next_s", "plain", "reservation",
        "settings", "total", "until_s",
    )  # fmt: skip

    def __init__(
        self,
        context: Context,
        region: Region,
        reservation: Reservation,
        waiting: Mapping[Reason, list[Job]],
        plan: Plan,
        until_s: float,
        *,
        exact: bool,
    ) -> None:
        self.ledger = plan.ledger
        self.settings = context.settings
        self.until_s = until_s
        self.reservation = reservation
        self.idle = region.idle
        self.exact = exact
        self.plain = context.plain
        self.total = region.total
        self.estimates = plan.estimates
        self.next_s = plan.next_s
        self._waiting = waiting
        self._region = region if plan.starts else None
        self._arrived: list[tuple[Reason, Job]] = []

    def note(self, arrived: Sequence[tuple[Reason, Job]], next_s: float) -> None:
        """Add jobs that have arrived since, each with its reason. ``next_s``: when one of them needs the next pass."""
        self._arrived += arrived
        self.until_s = min(self.until_s, next_s)
        if next_s < (UNLIMITED_S if self.next_s is None else self.next_s):
            self.next_s = next_s

    def waits(self) -> Waits:
        """The reasons as they are after the pass, and those of the jobs that have arrived since. They are worked out
        once they are read: a replay reads those of few passes."""
        left = partial(_as_left, region=self._region, reservation=self.reservation, plain=self.plain)
        return Waits(self._waiting, partial(_with_arrived, left=left, arrived=self._arrived, count=len(self._arrived)))


_LASTING: Final = frozenset(
    {
        "reserved", "too-few-idle", "backfill-window", "fragmented", "never-fits", "never-arranged", "held-elsewhere",
        "vnode-run-limit",
    }
)  # fmt: skip
"""Reasons that time alone does not end before the head's reserved time."""


def keep_memo(context: Context, builder: PlanBuilder, region: Region, plan: Plan) -> None:
    """Keep the memo of a pass, if it left a promised head and no job whose reason may end by itself."""
    reservation = region.reservation
    if reservation is None or reservation.head.id not in plan.ledger.promises or context.classes is not None:
        return
    if context.cluster.has_site_order:
        # A formula may change with time, and fair share with every run.
        return
    if plan.preempts or builder.earmarks:
        return
    for reason in builder.waits:
        if reason.code not in _LASTING:
            return
    until_s = min(reservation.at_s, reservation.until_s, UNLIMITED_S if plan.next_s is None else plan.next_s)
    if context.shrinks:
        # A run that outlasts its shrunk estimate changes what the head can be promised.
        now_s = context.now_s
        for run in builder.backfilled().values():
            if run.cuttable and now_s < run.end_s < until_s:
                until_s = run.end_s
    if plan.starts and context.settings.rescue.enabled:
        # More may be spare beside the head than was left in this pass, so that a run can be cut for a short job.
        return
    exact = idle_cores_decide(context)
    if plan.starts and (context.cluster.has_shapes or not exact):
        return
    context.cluster.keep(Memo(context, region, reservation, builder.waits, plan, until_s, exact=exact))


def _with_arrived(
    waiting: Mapping[Reason, list[Job]],
    left: Callable[[Mapping[Reason, list[Job]]], Mapping[Reason, list[Job]]],
    arrived: Sequence[tuple[Reason, Job]],
    count: int,
) -> Mapping[Reason, list[Job]]:
    """The jobs that were left waiting, reason by reason, and the first ``count`` that have arrived since."""
    waits = dict(left(waiting))
    new: dict[Reason, list[Job]] = {}
    for reason, job in arrived[:count]:
        new.setdefault(reason, []).append(job)
    for reason, jobs in new.items():
        waits[reason] = [*waits.get(reason, ()), *jobs]
    return waits


def _as_left(
    waiting: Mapping[Reason, list[Job]], region: Region | None, reservation: Reservation, *, plain: bool
) -> Mapping[Reason, list[Job]]:
    """The reasons of the waiting jobs with the numbers at the end of the pass, which later starts have changed.
    ``region``: None if nothing has started."""
    if region is None:
        return waiting
    too_few = Reason("too-few-idle", (("idle", region.idle),))
    left: dict[Reason, list[Job]] = {}
    for reason, jobs in waiting.items():
        if reason.code == "backfill-window":
            not_beside = reservation.why_not_beside(only_head=plain)
            for job in jobs:
                left.setdefault(too_few if job.request.cores > region.idle else not_beside, []).append(job)
            continue
        left.setdefault(with_idle(reason, region.idle), []).extend(jobs)
    return left


def reuse_memo(snapshot: Snapshot, ledger: Ledger, settings: Settings) -> Plan | None:
    """The plan of a pass in which only arrivals need a reason; None if the whole pass is to be decided."""
    cluster = snapshot.cluster()
    memo = cluster.memo
    if not isinstance(memo, Memo) or memo.ledger is not ledger or memo.settings is not settings:
        return None
    now_s = snapshot.time_s
    if now_s >= memo.until_s or snapshot.finished or not cluster.no_gate_applies():
        return None
    if cluster.arrivals:
        reservation = memo.reservation
        window_s = reservation.until_s - now_s
        shrinks = settings.backfill.kind == "checkpoint"
        rescues = settings.rescue.enabled
        next_s = UNLIMITED_S
        arrived: list[tuple[Reason, Job]] = []
        for job in cluster.arrivals:
            cores = job.request.cores
            if not job.request.only_cores or cores > memo.total or job.subjobs is not None:
                return None
            if cores > memo.idle:
                reason = Reason("too-few-idle", (("idle", memo.idle),))
            elif memo.exact and cores > reservation.most_beside and job.left_s > window_s and not shrinks:
                reason = reservation.why_not_beside(only_head=memo.plain)
            else:
                return None
            if rescues:
                next_s = min(next_s, _rescued_from_s(job, settings, ledger, now_s))
                if next_s <= now_s:
                    return None
            arrived.append((reason, job))
        memo.note(arrived, next_s)
        cluster.arrivals = []
    return Plan(now_s, (), (), memo.estimates, memo.waits(), ledger, snapshot, memo.next_s)


def _rescued_from_s(job: Job, settings: Settings, ledger: Ledger, now_s: float) -> float:
    """From when the job may be rescued, by its length and its wait; infinite if it is not short."""
    short_s = Estimates(settings, ledger, now_s).short_s(job)
    if short_s > settings.rescue.short_s:
        return UNLIMITED_S
    return waits_until_s(job, short_s, settings.rescue, ledger.cuts)
