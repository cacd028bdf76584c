"""The settings that `pbsteer tune` tries: EASY, the baseline, and the alternatives for backfilling.

Each is a Settings of the one engine and can be written as the TOML file that the simulator and the hooks read. What
varies is P3's (docs/policies.md): factor, threshold, order of the candidates, predictor, and the rescue with its cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from policy.model.jobs_runs_vnodes_queues import Queue
from policy.model.pbs_units import show_duration
from policy.settings.site_settings import (
    BackfillSettings,
    CheckpointSettings,
    QuotaSettings,
    RescueSettings,
    ScheduleSettings,
    Settings,
)
from sim.replay.named_policies import QUEUE, Policy

_ORDERS = ("first-come", "shortest-first")
_RESCUE = RescueSettings()
_SIMULATED = Settings(quota=QuotaSettings(preempt=False), schedule=ScheduleSettings(max_starts=1_000_000))


@dataclass(frozen=True)
class Candidate:
    """One way to backfill, with its cost of cutting a job, and whether and how short jobs are rescued."""

    backfill: BackfillSettings
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    rescue: RescueSettings = field(default_factory=RescueSettings)

    @property
    def cuts(self) -> bool:
        """True if backfilled jobs may be cut."""
        return self.backfill.kind == "checkpoint"

    @property
    def is_shortest_first_easy(self) -> bool:
        """True for EASY that backfills the shortest estimate first."""
        return self.backfill == BackfillSettings(kind="easy", order="shortest-first")

    @property
    def name(self) -> str:
        """The name in tables: `easy`, `easy-sjbf`, `p 0.2 above 1 h 00, last-two, sjbf`; `sjbf` where the shortest are
        backfilled first, `rescue` where short jobs are rescued, with what differs from its defaults."""
        backfill = self.backfill
        if self.is_shortest_first_easy:
            return "easy-sjbf"
        parts = [self.backfill.kind]
        if self.cuts:
            parts = [f"p {backfill.shrink_factor:g} above {show_duration(backfill.shrink_threshold_s)}"]
            parts += [] if backfill.predictor == "none" else [backfill.predictor]
        parts += [] if backfill.order == "first-come" else ["sjbf"]
        if self.rescue.enabled:
            short_s, cuts = self.rescue.short_s, self.rescue.max_cuts
            parts.append(
                "rescue"
                + ("" if short_s == _RESCUE.short_s else f" up to {show_duration(short_s)}")
                + ("" if cuts == _RESCUE.max_cuts else " once" if cuts == 1 else f" {cuts} times")
            )
        return ", ".join(parts)

    def policy(self) -> Policy:
        """The policy for a replay; candidates differ in nothing else."""
        settings = replace(_SIMULATED, backfill=self.backfill, checkpoint=self.checkpoint, rescue=self.rescue)
        return Policy(self.name, settings, Queue(QUEUE))

    def to_data(self) -> dict[str, dict[str, object]]:
        """The candidate as settings tables, with every key, even at its default."""
        backfill = self.backfill
        if not self.cuts:
            return {"backfill": {"kind": backfill.kind, "order": backfill.order}}
        rescue = self.rescue
        data: dict[str, dict[str, object]] = {
            "backfill": {
                "kind": backfill.kind,
                "order": backfill.order,
                "shrink_factor": backfill.shrink_factor,
                "shrink_threshold_s": backfill.shrink_threshold_s,
                "predictor": backfill.predictor,
            },
            "checkpoint": {"saves": self.checkpoint.saves, "cost_s": self.checkpoint.cost_s},
        }
        if rescue.enabled:
            data["rescue"] = {"enabled": True, "short_s": rescue.short_s, "max_cuts": rescue.max_cuts}
        return data

    def to_toml(self) -> str:
        """The same as TOML text. All values are numbers, truth values or our own words."""
        lines = []
        for table, values in self.to_data().items():
            lines += [f"[{table}]", *(f"{key} = {_toml(value)}" for key, value in values.items()), ""]
        return "\n".join(lines)


def grid(cost_s: float, *, thorough: bool = False) -> list[Candidate]:
    """EASY first, then EASY shortest first, then the others: 10 in all, or 68 if thorough. Cutting a job costs `cost_s`
    seconds.
    """
    factors: Sequence[float] = (0.1, 0.2, 0.35, 0.5, 0.7) if thorough else (0.2, 0.5)
    thresholds_s = (1800.0, 3600.0, 7200.0) if thorough else (3600.0,)
    fallbacks = (0.2, 0.5) if thorough else (0.2,)
    predicted_orders = _ORDERS if thorough else ("shortest-first",)
    checkpoint = CheckpointSettings(saves=True, cost_s=cost_s)
    candidates = [Candidate(BackfillSettings(kind="easy", order=order)) for order in _ORDERS]
    tried = [("none", factor, order) for factor in factors for order in _ORDERS] + [
        (predictor, factor, order)
        for predictor in ("last-two", "ratio")
        for factor in fallbacks
        for order in predicted_orders
    ]
    for predictor, factor, order in tried:
        for threshold_s in thresholds_s:
            backfill = BackfillSettings(
                kind="checkpoint",
                order=order,
                shrink_factor=factor,
                shrink_threshold_s=threshold_s,
                predictor=predictor,
            )
            candidates.append(Candidate(backfill, checkpoint))
    rescues = [RescueSettings(enabled=True), RescueSettings(enabled=True, max_cuts=1)]
    if thorough:
        rescues = [
            RescueSettings(enabled=True, short_s=short_s, max_cuts=cuts)
            for short_s in (900.0, 1800.0, 3600.0)
            for cuts in (1, 3)
        ]
    for factor in (0.2, 0.5) if thorough else (0.2,):
        backfill = BackfillSettings(kind="checkpoint", order="shortest-first", shrink_factor=factor)
        candidates += [Candidate(backfill, checkpoint, rescue) for rescue in rescues]
    return candidates


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return f'"{value}"'
