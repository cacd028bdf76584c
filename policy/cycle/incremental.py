"""A pass after which nothing but arrivals has changed: only the new jobs need a look.

Where one head is reserved and everybody else waits, time alone lets nobody start before the reserved time: the window
only shrinks. So until a run starts or ends, or anything else changes, a new job either could start (then the whole pass
is decided) or waits for the same reason as the others. The outcome is that of the whole pass; the world forgets what
had settled at any other change.
"""

from __future__ import annotations

from policy.backfill.regions import Region
from policy.backfill.reservation import Reservation
from policy.cycle.backfill_attempt import idle_cores_tell
from policy.model.cluster import UNLIMITED_S, Job
from policy.model.ledger import Ledger
from policy.plan.context import Scene
from policy.plan.idle_cores import with_idle
from policy.plan.plan import Plan, Waits
from policy.plan.plan_builder import Draft
from policy.reasons.reason import Reason
from policy.settings.site_settings import Settings
from policy.state.snapshot import Snapshot


class Settled:
    """What the last pass came to, how long it holds by itself, and the jobs that have come since."""

    __slots__ = (
        "estimates", "exact", "idle", "ledger", "next_s", "plain", "reservation", "settings", "total",
        "until_s", "waits",
    )  # fmt: skip

    def __init__(
        self, scene: Scene, region: Region, reservation: Reservation, plan: Plan, until_s: float, *, exact: bool
    ) -> None:
        self.ledger = plan.ledger
        self.settings = scene.settings
        self.until_s = until_s
        self.reservation = reservation
        self.idle = region.idle
        self.exact = exact
        self.plain = scene.plain
        self.total = region.total
        self.estimates = plan.estimates
        self.waits = _as_left(plan.waits, region, reservation, plain=scene.plain) if plan.starts else plan.waits
        self.next_s = plan.next_s


_LASTING = frozenset({"reserved", "too-few-idle", "backfill-window", "fragmented", "never-fits", "never-arranged"})
"""The reasons that time alone does not take away before the head's time."""


def settle(scene: Scene, draft: Draft, region: Region, plan: Plan) -> None:
    """Note what a pass came to, if it left a promised head and nobody who has to be looked at again by itself."""
    reservation = region.reservation
    if reservation is None or reservation.head.id not in plan.ledger.promises or scene.classes is not None:
        return
    waits = draft.waits
    if plan.preempts or draft.holds or scene.settings.rescue.enabled or any(r.code not in _LASTING for r in waits):
        return
    until_s = min(reservation.at_s, reservation.until_s, UNLIMITED_S if plan.next_s is None else plan.next_s)
    if scene.shrinks:
        # A run that outlives its shrunk estimate changes what the head can be promised.
        until_s = min(
            [until_s, *(e.end_s for e in draft.backfilled().values() if e.cuttable and e.end_s > scene.now_s)]
        )
    exact = idle_cores_tell(scene, region)
    if plan.starts and (scene.world.has_shapes or not exact):
        return
    scene.world.keep(Settled(scene, region, reservation, plan, until_s, exact=exact))


def _as_left(waits: Waits, region: Region, reservation: Reservation, *, plain: bool) -> Waits:
    """Why jobs of single cores wait, with the numbers that the pass has left: what it started later changes them."""
    too_few = Reason("too-few-idle", (("idle", region.idle),))
    left: dict[Reason, list[Job]] = {}
    for reason, jobs in waits.by_reason().items():
        if reason.code == "backfill-window":
            not_beside = reservation.why_not_beside(only_head=plain)
            for job in jobs:
                left.setdefault(too_few if job.request.cores > region.idle else not_beside, []).append(job)
            continue
        left.setdefault(with_idle(reason, region.idle), []).extend(jobs)
    return Waits(left)


def still_settled(snapshot: Snapshot, ledger: Ledger, settings: Settings) -> Plan | None:
    """The plan where only arrivals have to be told why they wait; None where the whole pass is to be decided."""
    world = snapshot.world()
    settled = world.memo
    if not isinstance(settled, Settled) or settled.ledger is not ledger or settled.settings is not settings:
        return None
    now_s = snapshot.time_s
    if now_s >= settled.until_s or snapshot.finished or not world.nothing_shut():
        return None
    if world.arrivals:
        reservation = settled.reservation
        window_s = reservation.until_s - now_s
        shrinks = settings.backfill.kind == "checkpoint"
        waits = settled.waits.by_reason()
        for job in world.arrivals:
            cores = job.request.cores
            if not job.request.only_cores or cores > settled.total or job.subjobs is not None:
                return None
            if cores > settled.idle:
                reason = Reason("too-few-idle", (("idle", settled.idle),))
            elif settled.exact and cores > reservation.spare_cores and job.left_s > window_s and not shrinks:
                reason = reservation.why_not_beside(only_head=settled.plain)
            else:
                return None
            waits[reason] = [*waits.get(reason, ()), job]
        settled.waits = Waits(waits)
        world.arrivals = []
    return Plan(now_s, (), (), settled.estimates, settled.waits, ledger, snapshot, settled.next_s)
