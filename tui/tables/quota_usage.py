"""What users, groups and projects use and wait for, as quotas count it.

A job with exclusive vnodes counts with all of their cores.
"""

from __future__ import annotations

from dataclasses import replace

from tui.model.counts import Use, UserKey, count
from tui.state.cluster_view import ClusterView
from tui.state.quota_scope import QuotaScope

Uses = dict[str, Use]


def uses_in(cluster: ClusterView, scope: QuotaScope) -> tuple[Uses, Uses, Uses]:
    """The use of users, of groups and of projects, by name."""
    counts = cluster.counts
    if scope.resource != cluster.counted:
        counts = count(cluster.server_status.jobs, cluster.server_status.vnodes, scope.resource)
    kept = {}
    if cluster.decision is not None and (counts is not cluster.counts or _has_alone(cluster)):
        kept = cluster.decision.snapshot.use(scope.queue, scope.resource)
    found = []
    for kind, uses in (("u", counts.users), ("g", counts.groups), ("p", counts.projects)):
        summed = _summed(uses, scope.queue)
        found.append({name: replace(use, cores=kept.get((kind, name), use.cores)) for name, use in summed.items()})
    users, groups, projects = found
    return users, groups, projects


def _summed(uses: dict[UserKey, Use], queue: str) -> Uses:
    """Each entity's use in a queue; in all queues if it is empty."""
    if queue:
        return {name: use for (where, name), use in uses.items() if where == queue}
    summed: Uses = {}
    for (_, name), use in uses.items():
        old = summed.get(name, Use())
        summed[name] = Use(
            old.cores + use.cores,
            old.running + use.running,
            old.waiting + use.waiting,
            old.waiting_cores + use.waiting_cores,
        )
    return summed


def _has_alone(cluster: ClusterView) -> bool:
    """Whether a run has exclusive vnodes."""
    if cluster.decision is None:
        return False
    snapshot = cluster.decision.snapshot
    return snapshot.cluster().capacity.sharing.has_lone_vnodes or any(
        run.job.request.exclusive for run in snapshot.runs.values()
    )
