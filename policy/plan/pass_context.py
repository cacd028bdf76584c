"""What one pass is decided from, and the parts that are computed from it.

A part (gates, quotas, classes, ...) is made on first use: most passes of a quiet cluster need few, and a replay has a
pass for every submission and every end.
"""

from __future__ import annotations

from functools import cached_property

from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates
from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.order_as_pbs_scheduler_would import Line, queue_line
from policy.eligibility.soft_quotas import Quotas
from policy.eligibility.start_gates import Gates
from policy.eligibility.unpreemptible_only_within_quota import Confined
from policy.fit.core_binding import CoreBook
from policy.model.ledger_between_passes import Ledger
from policy.plan.job_placer import Placer
from policy.preemption.precedence_over_head import Claims
from policy.preemption.preempt_for_job import Preemption
from policy.preemption.victim_candidates_and_gain_bounds import Basis
from policy.settings.site_settings import Settings
from policy.state.closure_windows import Windows, windows_of
from policy.state.cluster_snapshot import Snapshot


class Context:
    """The snapshot with its cluster index, the ledger and the settings of one pass.

    ``windows`` is None if nothing is ever closed. ``shrinks``: jobs are tested with shrunk estimates. ``plain``: the
    site's settings neither lay out jobs nor rank vnodes.
    """

    def __init__(self, snapshot: Snapshot, ledger: Ledger, settings: Settings) -> None:
        self.snapshot = snapshot
        self.ledger = ledger
        self.settings = settings
        self.now_s = snapshot.time_s
        self.cluster = cluster = snapshot.cluster()
        self.capacity = cluster.capacity
        self.windows: Windows | None = None
        if cluster.has_windows:
            slack_s = settings.schedule.interval_s + settings.checkpoint.grace_s
            self.windows = windows_of(cluster, self.now_s, slack_s)
        self.shrinks = settings.backfill.kind == "checkpoint"
        self.plain = settings.stripe.layout == "none" and settings.ranking.mode == "none"

    @cached_property
    def quotas(self) -> Quotas:
        """The use of the quotas (P1)."""
        return Quotas(self.cluster, self.settings.quota.counted)

    @cached_property
    def classes(self) -> Classes | None:
        """The classes of jobs and runs (P2); None if no queue has priorities."""
        if not self.cluster.has_priorities:
            return None
        return Classes(self.cluster, self.ledger, self.quotas, self.now_s, self.settings.priority.compare_queues)

    @cached_property
    def preemption(self) -> Preemption | None:
        """Rules A and B; None if neither is on."""
        settings = self.settings
        rule_a = settings.quota.preempt and self.cluster.has_quotas
        rule_b = settings.priority.preempt and self.cluster.has_priorities
        if not rule_a and not rule_b:
            return None
        return Preemption(Basis(self.cluster, self.ledger, self.quotas, self.classes, settings, self.now_s))

    @cached_property
    def claims(self) -> Claims:
        """Which job has a better claim than another."""
        return Claims(self.quotas, self.classes, self.settings)

    @cached_property
    def confined(self) -> Confined | None:
        """The jobs that start only within quota; None if no job preempts, or if the setting is off."""
        if self.preemption is None or not self.settings.quota.confine_unpreemptible:
            return None
        return Confined(self.ledger, self.quotas, self.classes, self.settings.quota)

    @cached_property
    def line(self) -> Line:
        """The waiting jobs in queue order, as they were when it was first asked for."""
        return queue_line(self.cluster, self.now_s)

    def renew_line(self) -> None:
        """Sort the waiting jobs again, as some have started since."""
        self.__dict__.pop("line", None)

    @cached_property
    def gates(self) -> Gates:
        """What keeps a job from starting whatever is free."""
        return Gates(self.cluster, self.now_s, self.confined, self.line.refused)

    @cached_property
    def estimates(self) -> Estimates:
        """What jobs behind a head are tested with (P3)."""
        return Estimates(self.settings, self.ledger, self.now_s)

    @cached_property
    def placer(self) -> Placer:
        """Finds the vnodes of a start (P4, P5)."""
        return Placer(self.cluster, self.settings, self.ledger, self.now_s)

    @cached_property
    def core_book(self) -> CoreBook:
        """The core lists of the runs that have not ended."""
        runs = self.cluster.runs
        return CoreBook(self.cluster.vnodes, {run: cores for run, cores in self.ledger.cores.items() if run in runs})

    @property
    def used_placer(self) -> Placer | None:
        """The placer if this pass has needed it so far. Only then has it to be updated."""
        placer: Placer | None = self.__dict__.get("placer")
        return placer

    @property
    def used_core_book(self) -> CoreBook | None:
        """The core lists if this pass has needed them so far."""
        core_book: CoreBook | None = self.__dict__.get("core_book")
        return core_book
