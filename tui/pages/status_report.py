"""One look at the cluster for the command line: the overview's numbers as data, and as lines."""

from __future__ import annotations

from typing import Any

from tui.backends.idle_history import IdleHistory
from tui.model.typed_attributes import soft_limits
from tui.pages.attention import attention
from tui.pages.moved_promises import moved_data, moved_lines
from tui.pages.overview import overview_lines
from tui.state.cluster_view import World, execution_queues
from tui.state.quota_scope import scope_of
from tui.tables.job_outcome import head_of
from tui.tables.quota_columns import quota_rows
from tui.text.lines import plain


def status_data(world: World, *, simulated: bool) -> dict[str, Any]:
    """The state of the cluster as plain data; times in seconds, cores as the counted resource."""
    vnodes, states = world.tally.vnodes, world.tally.states
    decision = world.decision
    return {
        "server": world.server_name,
        "simulated": simulated,
        "pbs_version": world.picture.server.get("pbs_version", ""),
        "time_s": world.now_s,
        "poll_s": round(world.poll_s, 3),
        "modes": dict(world.modes),
        "cores": {"used": vnodes.used, "total": vnodes.total},
        "vnodes": {
            "busy": vnodes.busy,
            "free": vnodes.free,
            "not_up": {state: sorted(names) for state, names in vnodes.not_up.items()},
        },
        "jobs": {state: count for state, count in sorted(states.items()) if count},
        "queues": {name: _queue(world, name) for name in execution_queues(world)},
        "moved_promises": moved_data(world),
        "attention": [plain(line) for line in attention(world)],
        "plan": {
            "starts": [start.id for start in decision.plan.starts],
            "preempts": [preempt.id for preempt in decision.plan.preempts],
            "problems": list(decision.problems),
        }
        if decision is not None
        else None,
    }


def _queue(world: World, name: str) -> dict[str, Any]:
    head = head_of(world, name)
    at_s = None
    if world.decision is not None and head is not None:
        at_s = next((estimate.at_s for estimate in world.decision.plan.estimates if estimate.id == head), None)
    return {
        "jobs": {state: count for state, count in sorted(world.tally.queue_states.get(name, {}).items()) if count},
        "head": head,
        "reserved_s": None if at_s == float("inf") else at_s,
        "quotas": quota_data(world, name),
    }


def quota_data(world: World, queue: str) -> list[dict[str, Any]]:
    """Use beside quota, most over quota first."""
    scope = scope_of(world, queue)
    entries = soft_limits(scope.attributes(world.picture), scope.resource).entries
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
        }
        for row in quota_rows(world, queue).values()
    ]


def status_lines(world: World, cells: int) -> list[str]:
    """The overview as text."""
    history = IdleHistory().sampled(
        world.now_s, world.tally.vnodes.total - world.tally.vnodes.used, world.tally.vnodes.total
    )
    return [plain(line).rstrip() for line in [*overview_lines(world, history, cells), *moved_lines(world)]]
