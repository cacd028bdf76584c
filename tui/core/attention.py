"""What needs an administrator: vnodes that are not up, users over quota, stopped queues, data that cannot be read."""

from __future__ import annotations

from tui.core.facts import short_id
from tui.core.lines import Line, safe
from tui.core.names import folded_names
from tui.core.queue_rows import execution_queues
from tui.core.quota_rows import quota_rows, show_name
from tui.core.world import World

_MOST_USERS = 3


def attention(world: World) -> list[Line]:
    """One line for each thing, the worst first; empty where all is well."""
    return [*_vnodes(world), *_queues(world), *_problems(world), *_over_quota(world)]


def _vnodes(world: World) -> list[Line]:
    return [
        ((f"{safe(folded_names(names))} ", ""), (safe(state), "bad" if "down" in state else "warn"))
        for state, names in sorted(world.tally.vnodes.not_up.items(), key=lambda item: -len(item[1]))
    ]


def _queues(world: World) -> list[Line]:
    lines: list[Line] = []
    for name in execution_queues(world):
        queue = world.picture.queues[name]
        waiting = world.tally.queue_states[name]["Q"] if name in world.tally.queue_states else 0
        if queue.get("started", "True").lower() != "true" and waiting:
            lines.append(((f"queue {safe(name)} is ", ""), ("stopped", "warn"), (f", {waiting:,} jobs wait in it", "")))
    return lines


def _problems(world: World) -> list[Line]:
    problems = world.decision.problems if world.decision else ()
    if not problems:
        return []
    more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
    return [(("cannot read: ", "warn"), (safe(problems[0]) + more, ""))]


def _over_quota(world: World) -> list[Line]:
    lines: list[Line] = []
    for queue in execution_queues(world):
        over = [row for row in quota_rows(world, queue).values() if (row.over or 0) > 0]
        lines += [
            (
                (f"{show_name(row.entity)} ", "bold"),
                (f"{row.use.cores:,} of {row.quota or 0:,} in {safe(queue)}", ""),
                (f", {row.use.running:,} jobs run, {row.use.waiting:,} wait", "dim"),
            )
            for row in over[:_MOST_USERS]
        ]
        if len(over) > _MOST_USERS:
            lines.append(((f"and {len(over) - _MOST_USERS:,} more users over quota in {safe(queue)}", ""),))
    return lines


def in_short(world: World) -> str:
    """This pass in one line: what starts, what is backfilled, and who is preempted for whom."""
    if world.decision is None:
        return "deciding"
    plan = world.decision.plan
    backfilled = sum(start.backfilled for start in plan.starts)
    parts = [f"starts {len(plan.starts):,}"]
    if backfilled:
        parts.append(f"of them backfilled {backfilled:,}")
    if plan.preempts:
        first = plan.preempts[0]
        parts.append(
            f"preempts {len(plan.preempts):,}: {safe(short_id(first.id))} {safe(first.run.job.user)}"
            f" {first.run.job.cores:,}c, for {safe(short_id(first.beneficiary))}"
        )
    return " · ".join(parts)
