"""The cluster's status for the command line: the overview's numbers as data, and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui.backends.idle_core_history import IdleHistory
from tui.model.typed_attributes import soft_limits
from tui.pages.cluster.needs_attention import attention
from tui.pages.cluster.status_command_lines import cluster_lines
from tui.pages.plan.moved_promises import moved_data, moved_lines
from tui.state.cluster_view import ClusterView, execution_queues
from tui.state.typed_quota_scope_and_resource import scope_of
from tui.tables.columns_by_view.planned_job_outcome import head_of
from tui.tables.columns_by_view.quota_rows_and_columns import quota_rows
from tui.text.screen_line import plain, wrapped

if TYPE_CHECKING:
    from tui.model.migrating_jobs import Migration


def status_data(cluster: ClusterView, *, simulated: bool, migration: Migration | None = None) -> dict[str, Any]:
    """The cluster's status as plain data; times in seconds, cores in units of the counted resource. ``migration`` is
    there only where the site has other clusters."""
    vnodes, states = cluster.counts.vnodes, cluster.counts.states
    decision = cluster.decision
    return {
        "server": cluster.server_name,
        "simulated": simulated,
        "pbs_version": cluster.server_status.server.get("pbs_version", ""),
        "time_s": cluster.now_s,
        "poll_s": round(cluster.poll_s, 3),
        "modes": dict(cluster.modes),
        "cores": {"used": vnodes.used, "total": vnodes.total, "used_not_up": vnodes.used_not_up},
        "vnodes": {
            "busy": vnodes.busy,
            "part_used": vnodes.part,
            "free": vnodes.free,
            "not_up": {state: sorted(names) for state, names in vnodes.not_up.items()},
        },
        "jobs": {state: count for state, count in sorted(states.items()) if count},
        "queues": {name: _queue(cluster, name) for name in execution_queues(cluster)},
        "moved_promises": moved_data(cluster),
        "attention": [plain(line) for line in attention(cluster)],
        "plan": {
            "starts": [start.id for start in decision.plan.starts],
            "preempts": [preempt.id for preempt in decision.plan.preempts],
            "problems": list(decision.problems),
        }
        if decision is not None
        else None,
        **_migration(migration),
    }


def _migration(migration: Migration | None) -> dict[str, Any]:
    if migration is None:
        return {}
    from tui.pages.cluster.other_clusters import migration_data  # noqa: PLC0415 - only where there are other clusters

    return {"migration": migration_data(migration)}


def _queue(cluster: ClusterView, name: str) -> dict[str, Any]:
    head = head_of(cluster, name)
    at_s = None
    if cluster.decision is not None and head is not None:
        at_s = next((estimate.at_s for estimate in cluster.decision.plan.estimates if estimate.id == head), None)
    return {
        "jobs": {state: count for state, count in sorted(cluster.counts.queue_states.get(name, {}).items()) if count},
        "head": head,
        "reserved_s": None if at_s == float("inf") else at_s,
        "quotas": quota_data(cluster, name),
    }


def quota_data(cluster: ClusterView, queue: str) -> list[dict[str, Any]]:
    """Use and quota of each entity, the most over quota first."""
    scope = scope_of(cluster, queue)
    entries = soft_limits(scope.attributes(cluster.server_status), scope.resource).entries
    return [
        {
            "kind": row.entity[0],
            "name": row.entity[1],
            "quota": row.quota,
            "own_entry": row.entity in entries,
            "used": row.use.cores,
            "running_jobs": row.use.running,
            "waiting_jobs": row.use.waiting,
            "priority": row.priority,
            **({"planned": [each.to_data() for each in row.planned]} if row.planned else {}),
        }
        for row in quota_rows(cluster, queue).values()
    ]


def status_lines(cluster: ClusterView, cells: int, migration: Migration | None = None) -> list[str]:
    """The overview, the moved promises and the migrating jobs as text. Idle cores of the last day are the journal's;
    without one there is no figure, since one sample is no mean."""
    history = IdleHistory().with_passes(cluster.passes.idle, cluster.counts.vnodes.total)
    lines = [*cluster_lines(cluster, history, cells), *wrapped(moved_lines(cluster), cells)]
    if migration is not None:
        from tui.pages.cluster.other_clusters import migration_line  # noqa: PLC0415 - only where there are other clusters

        lines += wrapped([(("migration  ", ""), *migration_line(migration))], cells)
    return [plain(line).rstrip() for line in lines]
