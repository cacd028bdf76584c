"""The longest walltime with which a job that outlasts the window would be backfilled, where estimates are shrunk (P3).

A job that can be cut is tested with less than its walltime, so walltimes longer than the window pass. Those up to the
threshold are not shrunk, so some may be too long although longer ones pass.
"""

from __future__ import annotations

from policy.backfill.queues_sharing_vnodes import parts_with_one_head
from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job
from policy.model.ledger_between_passes import Ledger
from policy.plan.plan_types import Plan
from policy.reasons.reason import Reason
from policy.reasons.reason_names import MoreNumbers
from policy.settings.site_settings import Settings
from policy.state.cluster_index import ClusterIndex


class Longest:
    """The longest walltimes for the jobs of one plan."""

    def __init__(self, cluster: ClusterIndex, plan: Plan, settings: Settings) -> None:
        self._now_s = plan.time_s
        self._threshold_s = settings.backfill.shrink_threshold_s
        self._shortest_first = settings.backfill.order == "shortest-first"
        self._estimates = Estimates(settings, plan.ledger, plan.time_s)
        self._promised_s = _last_promises(cluster, plan.ledger) if self._estimates.shrinks else {}

    def promised_s(self, job: Job) -> float:
        """The last time promised to a job of the region in which this job waits; 0 if none is."""
        return self._promised_s.get(job.queue, 0.0)

    def numbers(self, job: Job, reason: Reason) -> MoreNumbers:
        """The numbers for :meth:`policy.reasons.reason.Reason.sentence`, if the walltime may be longer than the window:
        ``most_left_s`` (infinite if any will do), and ``above_s`` if walltimes up to it that outlast the window would
        not do."""
        before_s = dict(reason.numbers).get("before_s", 0.0)
        if reason.code != "backfill-window" or not self._estimates.shrinks or not isinstance(before_s, (int, float)):
            return {}
        window_s = before_s - self._now_s
        longest_s = max(before_s, self.promised_s(job)) - self._now_s
        if before_s == UNLIMITED_S or window_s <= 0 or self._estimates.why_not_cut(job, window_s, longest_s):
            return {}
        most_s = self._estimates.longest_expected(job, window_s)
        if most_s <= max(self._threshold_s, window_s):
            # Without this number the sentence leaves saved work out, which counts for a job that can be cut.
            return {"most_left_s": window_s} if job.saved_s > 0 else {}
        if self._shortest_first and job.left_s <= self._threshold_s:
            # Only longer walltimes than its own are shrunk, and with these it would be tried behind other jobs.
            return {}
        above: MoreNumbers = {"above_s": self._threshold_s} if self._threshold_s > window_s else {}
        return {"most_left_s": most_s, **above}


def _last_promises(cluster: ClusterIndex, ledger: Ledger) -> dict[str, float]:
    """By queue, the last promise to a waiting job of the queues that share a head."""
    last: dict[str, float] = {}
    for _, queues, _ in parts_with_one_head(cluster, ledger.promises):
        promised = [at_s for job_id, at_s in ledger.promises.items() if _queue_of(cluster, job_id) in queues]
        last.update(dict.fromkeys(queues, max(promised, default=0.0)))
    return last


def _queue_of(cluster: ClusterIndex, job_id: str) -> str:
    job = cluster.jobs.get(job_id)
    return "" if job is None else job.queue
