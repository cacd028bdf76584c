"""Which runs a job within quota may preempt, each by itself (docs/policies.md, P1): for explanations and counts."""

from __future__ import annotations

from policy.eligibility.soft_quotas import Quotas, Standing
from policy.model.jobs_runs_vnodes_queues import Run
from policy.model.ledger_between_passes import Ledger
from policy.preemption.victim_candidates_and_gain_bounds import qualifies
from policy.settings.site_settings import QuotaSettings
from policy.state.cluster_index import ClusterIndex


class PreemptibleByQuota:
    """Tests runs of one snapshot as a pass does that has no victim yet."""

    def __init__(
        self, cluster: ClusterIndex, quotas: Quotas, ledger: Ledger, settings: QuotaSettings, now_s: float
    ) -> None:
        self._cluster = cluster
        self._quotas = quotas
        self._counts = ledger.preemptions
        self._settings = settings
        self._now_s = now_s
        self._managed = {queue.name for queue in cluster.queues.values() if queue.managed}

    def standing(self, run: Run) -> Standing | None:
        """The quota entry by which the run may be preempted; None if it may not be by rule A."""
        settings = self._settings
        if (
            not settings.preempt
            or not qualifies(run, self._counts, settings.cap, self._managed)
            or run.start_s + settings.exempt_s > self._now_s
            or not self._gives_usable(run)
        ):
            return None
        return self._quotas.surplus(run.job, run.allocation)

    def _gives_usable(self, run: Run) -> bool:
        """Whether some vnode of the run takes jobs: the cores of the others help no beneficiary."""
        capacity = self._cluster.capacity
        return any(share.mask & capacity.usable for share in run.allocation.shares(capacity.directory))
