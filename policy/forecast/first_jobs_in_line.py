"""The waiting jobs by their claims: those that a pass would start first, if it had room for them, come first.

By class, then those with a promise, then those that their quotas cover with all before them, then in queue order
(docs/policies.md, "Together, in one pass" and "A head has no veto").
"""

from __future__ import annotations

from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.order_as_pbs_scheduler_would import queue_line
from policy.eligibility.soft_quotas import Quotas
from policy.model.ledger_between_passes import Ledger
from policy.model.priority_class import BASE
from policy.settings.site_settings import Settings
from policy.state.cluster_index import Entry
from policy.state.cluster_snapshot import Snapshot


def jobs_by_claim(snapshot: Snapshot, ledger: Ledger, settings: Settings) -> list[str]:
    """The ids of all waiting jobs, those with the best claims first."""
    cluster, promises = snapshot.cluster(), ledger.promises
    quotas = Quotas(cluster, settings.quota.counted)
    line = list(queue_line(cluster, snapshot.time_s).entries)
    classes: dict[str, int] = {}
    if cluster.has_classes:
        of_pass = Classes(cluster, ledger, quotas, snapshot.time_s, settings.priority.compare_queues)
        line, classes = of_pass.order(line), of_pass.of_jobs
    within: set[str] = set()
    if settings.quota.preempt and cluster.has_quotas:
        for entry in line:
            job = entry[5]
            if not job.blocked and quotas.bounds(job) and quotas.exceeded_by(job) is None:
                within.add(job.id)
                quotas.shift(job, 1)
    rule_b = settings.priority.preempt

    def place(entry: Entry) -> tuple[int, bool, int, bool]:
        job_id = entry[3]
        of_job = -classes.get(job_id, BASE)
        # A higher class comes before a promise only if rule B is on.
        return (of_job if rule_b else 0, job_id not in promises, of_job, job_id not in within)

    return [entry[3] for entry in sorted(line, key=place)]
