"""The settings that `pbsteer tune` tries: EASY, the baseline, and the alternatives for backfilling.

Each is a Settings of the one engine and can be written as the TOML file that the simulator and the hooks read. What
varies is P3's (docs/policies.md): factor, threshold, order of the candidates, predictor, and the rescue with its cap;
and, where the quotas are given, P1's: the delay before a job within quota preempts, and how often a run is preempted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from policy.model.jobs_runs_vnodes_queues import Queue
from policy.model.limit_attributes import show_limits
from policy.model.pbs_units import show_duration
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, QuotaSettings, RescueSettings, Settings
from sim.replay.named_policies import QUEUE, Policy

_ORDERS = ("first-come", "shortest-first")
_RESCUE = RescueSettings()
_NO_QUOTAS = QuotaSettings(preempt=False)
_SIMULATED = Settings(quota=_NO_QUOTAS, schedule=ScheduleSettings(max_starts=1_000_000))


@dataclass(frozen=True)
class Candidate:
    """One way to backfill, with its cost of cutting a job, and whether and how short jobs are rescued; and whether and
    how jobs preempt for the quotas of ``queue``, which is the same in all candidates that do."""

    backfill: BackfillSettings
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    rescue: RescueSettings = field(default_factory=RescueSettings)
    quota: QuotaSettings = _NO_QUOTAS
    queue: Queue = field(default=Queue(QUEUE), compare=False)

    @property
    def cuts(self) -> bool:
        """True if backfilled jobs may be cut."""
        return self.backfill.kind == "checkpoint"

    @property
    def is_shortest_first_easy(self) -> bool:
        """True for EASY that backfills the shortest estimate first."""
        return self.backfill == BackfillSettings(kind="easy", order="shortest-first") and not self.quota.preempt

    @property
    def name(self) -> str:
        """The name in tables: `easy`, `easy-sjbf`, `p 0.2 above 1 h 00, last-two, sjbf`; `sjbf` where the shortest are
        backfilled first, `rescue` where short jobs are rescued, `quotas` where quotas preempt, with what differs from
        the defaults."""
        backfill = self.backfill
        if self.is_shortest_first_easy:
            return "easy-sjbf"
        parts = [self.backfill.kind]
        if self.quota.preempt:
            delay_s, cap = self.quota.delay_s, self.quota.max_preemptions
            parts = ["quotas", *([f"delay {show_duration(delay_s)}"] if delay_s else [])]
            parts += [] if cap is None else ["once" if cap == 1 else f"{cap} times"]
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
        settings = replace(
            _SIMULATED, backfill=self.backfill, checkpoint=self.checkpoint, rescue=self.rescue, quota=self.quota
        )
        return Policy(self.name, settings, self.queue)

    def to_data(self) -> dict[str, dict[str, object]]:
        """The candidate as settings tables, with every key, even at its default; without the queue and its quotas."""
        backfill = self.backfill
        if not self.cuts:
            plain: dict[str, dict[str, object]] = {"backfill": {"kind": backfill.kind, "order": backfill.order}}
            if self.quota.preempt:
                plain["quota"] = {"preempt": True, "delay_s": self.quota.delay_s}
                if self.quota.max_preemptions is not None:
                    plain["quota"]["max_preemptions"] = self.quota.max_preemptions
            return plain
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

    def quotas_toml(self) -> str:
        """The quotas that a replay of this candidate needs, as TOML text; on a real cluster PBS holds them. Empty for
        candidates without quotas."""
        if not self.quota.preempt:
            return ""
        texts = {"ncpus": self.queue.quotas, **self.queue.other_quotas}
        quotas = ", ".join(f"{json.dumps(name)} = {json.dumps(show_limits(limits))}" for name, limits in texts.items())
        return f"[[queue]]\nname = {json.dumps(self.queue.name)}\nquotas = {{{quotas}}}\n"


def grid(cost_s: float, *, thorough: bool = False, quotas: Queue | None = None) -> list[Candidate]:
    """EASY first, then EASY shortest first, then the others: 10 in all, or 68 if thorough; with the queue that has the
    quotas 4 more, or 9 if thorough. Cutting a job costs `cost_s` seconds.
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
    if quotas is not None:
        delays_s, caps = ((0.0, 600.0, 3600.0), (None, 3, 1)) if thorough else ((0.0, 600.0), (None, 1))
        candidates += [
            Candidate(
                BackfillSettings(kind="easy", order="shortest-first"),
                quota=QuotaSettings(preempt=True, delay_s=delay_s, max_preemptions=cap),
                queue=quotas,
            )
            for delay_s in delays_s
            for cap in caps
        ]
    return candidates


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return f'"{value}"'
