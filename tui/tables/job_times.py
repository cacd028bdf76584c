"""When a job starts, is expected to end, and has ended: seconds since 1970, None where nothing is known.

A start to come is the console's own plan's, else PBS's estimate (``estimated.start_time``, which its scheduler writes
where it is told to). An expected end is the start and the estimate by which the policy reckons: ``soft_walltime``,
else ``walltime``, which PBS has shrunk where the job allowed it.
"""

from __future__ import annotations

from tui.model.typed_attributes import RUNNING_STATES, Attributes, moment, seconds
from tui.state.cluster_view import World
from tui.state.ended_jobs import ended_at

_PLANNED_BY_PBS = "estimated.start_time"


def started_at(attributes: Attributes) -> float | None:
    """When a job started that runs or has ended; None for one that waits, also after it was requeued."""
    state = attributes.get("job_state", "")
    return moment(attributes, "stime") if state in RUNNING_STATES or state == "F" else None


def due_at(world: World, job_id: str) -> float | None:
    """When a job that waits is expected to start; of an array, its next subjob."""
    attributes = world.job(job_id) or {}
    state = attributes.get("job_state", "")
    if state in RUNNING_STATES or state == "F":
        return None
    if world.decision is not None:
        if job_id in world.decision.starts:
            return world.now_s
        if job_id in world.decision.estimates:
            return world.decision.estimates[job_id]
    return moment(attributes, _PLANNED_BY_PBS)


def expected_end(world: World, job_id: str) -> float | None:
    """When a job that runs, or whose start is known, is expected to end; None for arrays, which have no one end."""
    attributes = world.job(job_id) or {}
    if attributes.get("job_state") in ("F", "B") or "array_indices_remaining" in attributes:
        return None
    began_s = started_at(attributes)
    begins_s = due_at(world, job_id) if began_s is None else began_s
    length_s = seconds(attributes, "Resource_List.soft_walltime") or seconds(attributes, "Resource_List.walltime")
    return None if begins_s is None or length_s is None else begins_s + length_s


def real_end(world: World, job_id: str) -> float | None:
    """When a job ended; None for one that has not."""
    attributes = world.job(job_id) or {}
    return ended_at(attributes) if attributes.get("job_state") == "F" else None
