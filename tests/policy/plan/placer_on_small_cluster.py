"""A placer on four nodes, and jobs that ask for a layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from policy import Job, Ledger, Run, Settings, Snapshot, Vnode
from policy.model.allocation import Allocation
from policy.model.job_preferences import Layout
from policy.model.jobs_runs_vnodes_queues import Reading
from policy.plan.job_placer import Placer
from policy.reasons.reason import Reason
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from tests.policy.clusters import job, vnode

NOW_S = 1000


FOUR = tuple(vnode(f"n{number}", 32) for number in range(1, 5))


class Pass:
    """A placer over a cluster, and starts as the engine carries them out."""

    def __init__(
        self,
        vnodes: Sequence[Vnode] = FOUR,
        runs: Sequence[Run] = (),
        ledger: Ledger = Ledger(),  # noqa: B008 - a frozen value
        ranking: str = "none",
        readings: Mapping[str, Reading] | None = None,
        now_s: float = NOW_S,
        **stripe: Any,
    ) -> None:
        self.now_s = now_s
        self.snapshot = Snapshot.build(now_s, vnodes, [], [], runs, readings=readings or {})
        self.cluster = self.snapshot.cluster()
        self.all = (1 << len(vnodes)) - 1
        settings = Settings(ranking=RankingSettings(mode=ranking), stripe=StripeSettings(**stripe))
        self.placer = Placer(self.cluster, settings, ledger, now_s)

    def place(self, of: Job, allowed: int | None = None) -> Allocation | Reason | None:
        return self.placer.place(of, self.all if allowed is None else allowed)

    def where(self, of: Job, allowed: int | None = None) -> str | None:
        """Pieces by vnode; the sentence of a reason; None where there is no room."""
        found = self.place(of, allowed)
        if isinstance(found, Reason):
            return found.sentence(of, self.now_s)
        return None if found is None else shown(found)

    def start(self, of: Job, allowed: int | None = None) -> str:
        found = self.place(of, allowed)
        assert isinstance(found, Allocation)
        self.cluster.set_run(of.id, Run(of.id, of, self.now_s, found, self.now_s + of.estimate_s))
        self.placer.started(of, found)
        return shown(found)

    def why(self, of: Job) -> str:
        reason = self.placer.why_layout(of)
        return "" if reason is None else reason.sentence(of, self.now_s)

    def tried(self, of: Job) -> list[object]:
        reason = self.placer.why_layout(of)
        return [] if reason is None else [tried.number("width") for tried in reason.tried]


def shown(allocation: Allocation) -> str:
    pieces: dict[str, int] = {}
    for spot in allocation.spots:
        pieces[spot.vnode] = pieces.get(spot.vnode, 0) + spot.chunks
    return " ".join(f"{name}={count}" for name, count in sorted(pieces.items()))


def job_with_layout(job_id: str, select: str, kind: str = "stripe", *layout: int, **more: Any) -> Job:
    return job(job_id, select=select, layout=Layout(kind, *layout), **more)
