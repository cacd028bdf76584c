"""What one pass is decided from, and the parts that are computed from it.

A part that a pass may not need (gates, quotas, the placer, ...) is made on first use: most passes of a quiet cluster
need few, and a replay has a pass for every submission and every end.
"""

from __future__ import annotations

from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates
from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.order_as_pbs_scheduler_would import Line, queue_line
from policy.eligibility.soft_quotas import Quotas
from policy.eligibility.start_gates import Gates
from policy.eligibility.unpreemptible_only_within_quota import Confined
from policy.fit.core_binding import CoreBook
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.ledger_between_passes import Ledger
from policy.plan.job_placer import Placer
from policy.preemption.precedence_over_head import Claims
from policy.preemption.preempt_for_job import Preemption
from policy.preemption.victim_candidates_and_gain_bounds import Basis
from policy.reasons.reason import Reason
from policy.settings.site_settings import Settings
from policy.state.closure_windows import Windows, windows_of
from policy.state.cluster_snapshot import Snapshot


class Context:
    """The snapshot with its cluster index, the ledger and the settings of one pass.

    ``windows`` is None if nothing is ever closed. ``shrinks``: jobs are tested with shrunk estimates. ``plain``: the
    site's settings neither lay out jobs nor rank vnodes. ``used_placer`` and ``used_core_book`` are there
    if this pass has needed them so far: only then do they have to be updated. ``queues_without_gates``: those of the
    cluster index before the first start.

    ``classes``: those of jobs and runs (P2); None if no queue has priorities or is an express queue. ``preemption``:
    rules A and B; None if neither is on, or nothing waits. ``confined``: the jobs that start only within quota; None if
    no job preempts, or if the setting is off.
    """

    windows: Windows | None = None
    classes: Classes | None = None
    preemption: Preemption | None = None
    confined: Confined | None = None
    used_placer: Placer | None = None
    used_core_book: CoreBook | None = None
    _quotas: Quotas | None = None
    _claims: Claims | None = None
    _line: Line | None = None
    _gates: Gates | None = None
    _estimates: Estimates | None = None
    _ungated: frozenset[str] = frozenset()

    def __init__(self, snapshot: Snapshot, ledger: Ledger, settings: Settings) -> None:
        self.snapshot = snapshot
        self.ledger = ledger
        self.settings = settings
        self.now_s = snapshot.time_s
        self.cluster = cluster = snapshot.cluster()
        self.capacity = cluster.capacity
        if cluster.has_windows:
            slack_s = settings.schedule.interval_s + settings.checkpoint.grace_s
            self.windows = windows_of(cluster, self.now_s, slack_s)
        self.shrinks = settings.backfill.kind == "checkpoint"
        self.plain = not settings.stripe.lays_out and settings.ranking.mode == "none"
        if cluster.has_classes:
            self.classes = Classes(cluster, ledger, self.quotas, self.now_s, settings.priority.compare_queues)
        preempts = (settings.quota.preempt and cluster.has_quotas) or (
            settings.priority.preempt and cluster.has_classes
        )
        if preempts and (cluster.jobs or ledger.earmarks):
            self.preemption = Preemption(Basis(cluster, ledger, self.quotas, self.classes, settings, self.now_s))
            if settings.quota.confine_unpreemptible:
                self.confined = Confined(ledger, self.quotas, self.classes, settings.quota)
        self.queues_without_gates = cluster.queues_without_gates()
        # Nothing but what is in the job itself, or that it may not be preempted, keeps a job of these queues from
        # starting.
        if not cluster.has_site_order:
            self._ungated = self.queues_without_gates

    @property
    def quotas(self) -> Quotas:
        """The use of the quotas (P1)."""
        if self._quotas is None:
            self._quotas = Quotas(self.cluster, self.settings.quota.counted)
        return self._quotas

    @property
    def claims(self) -> Claims:
        """Which job has a better claim than another."""
        if self._claims is None:
            self._claims = Claims(self.quotas, self.classes, self.settings)
        return self._claims

    @property
    def line(self) -> Line:
        """The waiting jobs in queue order, as they were when it was first asked for."""
        if self._line is None:
            self._line = queue_line(self.cluster, self.now_s)
        return self._line

    def renew_line(self) -> None:
        """Sort the waiting jobs again, as some have started since."""
        self._line = None

    @property
    def gates(self) -> Gates:
        """What keeps a job from starting whatever is free."""
        if self._gates is None:
            self._gates = Gates(self.cluster, self.now_s, self.confined, self.line.refused)
        return self._gates

    def blocking_reason(self, job: Job) -> Reason | None:
        """What keeps the job from starting now whatever is free; None if no gate does. Most passes need not make the
        gates for that."""
        if job.queue in self._ungated and not job.blocked and job.not_before_s is None:
            confined = self.confined
            if confined is None or (job.rerunable and job.id not in confined.capped):
                return None
        return self.gates.blocking_reason(job)

    @property
    def estimates(self) -> Estimates:
        """What jobs behind a head are tested with (P3)."""
        if self._estimates is None:
            self._estimates = Estimates(self.settings, self.ledger, self.now_s)
        return self._estimates

    @property
    def placer(self) -> Placer:
        """Finds the vnodes of a start (P4, P5)."""
        if self.used_placer is None:
            self.used_placer = Placer(self.cluster, self.settings, self.ledger, self.now_s)
        return self.used_placer

    @property
    def core_book(self) -> CoreBook:
        """The core lists of the runs that have not ended."""
        if self.used_core_book is None:
            runs = self.cluster.runs
            lists = {run: cores for run, cores in self.ledger.cores.items() if run in runs}
            self.used_core_book = CoreBook(self.cluster.vnodes, lists)
        return self.used_core_book
