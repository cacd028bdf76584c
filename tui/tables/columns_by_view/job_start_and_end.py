"""When a job starts, is expected to end, and ended: seconds since 1970, None if unknown.

The expected start is that of the console's plan, else PBS's estimate (``estimated.start_time``); the expected end is
the start plus the estimate that the policy uses, ``soft_walltime``, else ``walltime``.
"""

from __future__ import annotations

from tui.model.typed_attributes import MAY_START_STATES, RUNNING_STATES, SUSPENDED_STATES, Attributes, moment, seconds
from tui.state.cluster_view import ClusterView
from tui.state.ended_jobs import ended_at

_PLANNED_BY_PBS = "estimated.start_time"


def started_at(attributes: Attributes) -> float | None:
    """The start of a running or ended job; None for a waiting one, even after it was requeued."""
    state = attributes.get("job_state", "")
    return moment(attributes, "stime") if state in RUNNING_STATES or state == "F" else None


def due_at(cluster: ClusterView, job_id: str) -> float | None:
    """The expected start of a waiting job; for an array, that of its next subjob."""
    attributes = cluster.job(job_id) or {}
    state = attributes.get("job_state", "")
    if state in RUNNING_STATES or state == "F":
        return None
    if cluster.decision is not None:
        if job_id in cluster.decision.starts:
            return cluster.now_s
        if job_id in cluster.decision.estimates:
            return cluster.decision.estimates[job_id]
    return moment(attributes, _PLANNED_BY_PBS)


def likely_start(cluster: ClusterView, job_id: str, *, nine_tenths: bool = False) -> float | None:
    """When a waiting job starts, by the forecast: before it in half of the cases, or in nine of ten. Now for one that
    the plan starts; without a forecast of it, its expected start."""
    due_s = due_at(cluster, job_id)
    if due_s is not None and due_s <= cluster.now_s:
        return due_s
    estimate = cluster.forecast.of(job_id) if cluster.forecast is not None else None
    if estimate is None or (cluster.job(job_id) or {}).get("job_state", "") not in MAY_START_STATES:
        return due_s
    at_s = estimate.nine_tenths_s if nine_tenths else estimate.half_s
    # The forecast may be older than what is shown: a moment that has passed says that the start may come any time.
    return None if at_s is None else max(at_s, cluster.now_s)


def expected_end(cluster: ClusterView, job_id: str) -> float | None:
    """The expected end of a job that runs or has an expected start; None for arrays, which have no single end, and for
    suspended jobs, whose walltime stands still."""
    attributes = cluster.job(job_id) or {}
    if attributes.get("job_state") in ("F", "B", *SUSPENDED_STATES) or "array_indices_remaining" in attributes:
        return None
    began_s = started_at(attributes)
    begins_s = due_at(cluster, job_id) if began_s is None else began_s
    length_s = seconds(attributes, "Resource_List.soft_walltime") or seconds(attributes, "Resource_List.walltime")
    return None if begins_s is None or length_s is None else begins_s + length_s


def real_end(cluster: ClusterView, job_id: str) -> float | None:
    """When a job ended; None if it has not."""
    attributes = cluster.job(job_id) or {}
    return ended_at(attributes) if attributes.get("job_state") == "F" else None
