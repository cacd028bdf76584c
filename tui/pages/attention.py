"""What needs an administrator: hooks that fail or no longer run, vnodes that are not up, what keeps a queue from being
driven, jobs held for others, stopped queues, unreadable data, quotas that add up to too much, users over quota."""

from __future__ import annotations

from collections import defaultdict

from hooks.pbs.resources import PAUSED_ATTRIBUTE
from policy.model.limits import EntityKey
from policy.model.units import show_count
from tui.model.overcommitted_quotas import overcommitted
from tui.model.typed_attributes import moment, short_id
from tui.state.cluster_view import World, execution_queues
from tui.state.mode_words import is_done
from tui.state.paused import pause_of
from tui.state.quota_scope import quota_scopes, scope_of
from tui.tables.quota_columns import quota_rows, show_name
from tui.text.durations import day_and_time, short_span
from tui.text.lines import Line, safe
from tui.text.names import folded_names

_MOST_USERS = 3
_MOST_VNODES = 6
_MOST_NOTES = 4
_LATE_PASSES = 4
"""A last pass that is older than so many intervals, and than a minute, is worth a look."""


def attention(world: World) -> list[Line]:
    """One line for each thing, the worst first; empty where all is well."""
    return [
        *_pause(world),
        *_passes(world),
        *_vnodes(world),
        *_queues(world),
        *_problems(world),
        *_held(world),
        *_overcommitted(world),
        *_over_quota(world),
    ]


def _pause(world: World) -> list[Line]:
    """That pbsteer is paused by name, also before a pass has seen it."""
    reason = world.picture.server.get(PAUSED_ATTRIBUTE, "")
    return [(("paused", "bad"), (safe(f": {reason}; pbsteer resume ends it"), ""))] if reason else []


def _passes(world: World) -> list[Line]:
    """What the last pass of the hooks complained of, and whether it is long ago."""
    last = world.passes.last
    if last is None:
        return []
    lines: list[Line] = []
    age_s = world.now_s - last.time_s
    if age_s > max(60.0, _LATE_PASSES * world.settings.schedule.interval_s):
        lines.append(
            (("no pass", "bad"), (f" of the hooks for {short_span(age_s)}: pbsteer hooks status says why", ""))
        )
    sentences = [*((text, "bad") for text in last.texts("failures")), *((text, "warn") for text in last.texts("notes"))]
    lines += [((safe(text), role),) for text, role in sentences[:_MOST_NOTES]]
    if len(sentences) > _MOST_NOTES:
        lines.append(((f"and {len(sentences) - _MOST_NOTES:,} more: in the plan view, left", "dim"),))
    return lines


def _vnodes(world: World) -> list[Line]:
    """Vnodes that are not up, those that went together in one line."""
    groups: dict[tuple[str, float], list[str]] = defaultdict(list)
    for state, names in world.tally.vnodes.not_up.items():
        for name in names:
            since_s = moment(world.picture.vnodes[name], "last_state_change_time") or 0.0
            groups[state, since_s // 60 * 60].append(name)
    lines: list[Line] = []
    for (state, since_s), names in sorted(groups.items(), key=lambda item: ("down" not in item[0][0], -len(item[1]))):
        comment = world.picture.vnodes[names[0]].get("comment", "") if len(names) == 1 else ""
        lines.append(
            (
                (f"{safe(folded_names(names))} ", ""),
                (safe(state), "bad" if "down" in state else "warn"),
                (f" since {day_and_time(since_s, world.now_s)}" if since_s else "", ""),
                (f": {safe(comment)}" if comment else "", "dim"),
            )
        )
    more = len(lines) - _MOST_VNODES
    return [*lines[:_MOST_VNODES], (((f"and {more:,} more groups of vnodes", "dim"),))] if more > 0 else lines


def _held(world: World) -> list[Line]:
    """What is kept free for a job whose victims have to let go, and which of these are held; where passes only watch,
    nobody lets go."""
    lines: list[Line] = []
    acted_for = [
        (beneficiary, hold)
        for beneficiary, hold in world.ledger.holds.items()
        if world.modes.get(world.picture.jobs.get(beneficiary, {}).get("queue", "")) != "observe"
    ]
    for beneficiary, hold in acted_for[:_MOST_NOTES]:
        held = [victim for victim in hold.victims if "s" in world.picture.jobs.get(victim, {}).get("Hold_Types", "")]
        victims = " ".join(safe(short_id(victim)) for victim in hold.victims)
        lines.append(
            (
                (f"{safe(short_id(beneficiary))} ", "bold"),
                (f"gets what {victims} let go, since {day_and_time(hold.since_s, world.now_s)}", ""),
                (f"; {len(held):,} of them held by pbsteer" if held else "", "warn"),
            )
        )
    return lines


def _queues(world: World) -> list[Line]:
    lines: list[Line] = []
    for name in execution_queues(world):
        queue = world.picture.queues[name]
        waiting = world.tally.queue_states[name]["Q"] if name in world.tally.queue_states else 0
        if queue.get("started", "True").lower() != "true" and waiting:
            wait = f", {show_count(waiting, 'job')} {'waits' if waiting == 1 else 'wait'} in it"
            lines.append(((f"queue {safe(name)} is ", ""), ("stopped", "warn"), (wait, "")))
    return lines


def _problems(world: World) -> list[Line]:
    problems = world.decision.problems if world.decision else ()
    if not problems:
        return []
    more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
    return [(("cannot read: ", "warn"), (safe(problems[0]) + more, ""))]


def _overcommitted(world: World) -> list[Line]:
    scopes = [scope_of(world, text) for text in quota_scopes(world)]
    return [line for scope in scopes for line in overcommitted(world.picture, scope.queue, scope.resource)]


def _over_quota(world: World) -> list[Line]:
    lines: list[Line] = []
    preemptible = preemptible_jobs(world)
    for queue in execution_queues(world):
        over = [row for row in quota_rows(world, queue).values() if (row.over or 0) > 0]
        lines += [
            (
                (f"{show_name(row.entity)} ", "bold"),
                (f"{row.use.cores:,} of {row.quota or 0:,} in {safe(queue)}", ""),
                (_preemptible(preemptible.get((queue, row.entity), 0), row.use.running), "dim"),
            )
            for row in over[:_MOST_USERS]
        ]
        if len(over) > _MOST_USERS:
            lines.append(((f"and {len(over) - _MOST_USERS:,} more users over quota in {safe(queue)}", ""),))
    return lines


def _preemptible(jobs: int, running: int) -> str:
    if not jobs:
        return f", {show_count(running, 'job')} {'runs' if running == 1 else 'run'}"
    return f", {jobs:,} of {show_count(running, 'running job')} preemptible"


def preemptible_jobs(world: World) -> dict[tuple[str, EntityKey], int]:
    """How many running jobs of each user over quota could be preempted by the rules (docs/policies.md, P1): they may be
    rerun, have run their exempt time, are below the cap, and leave their owner at or above the quota; none where the
    settings preempt by no quota."""
    settings = world.settings.quota
    if world.decision is None or not settings.preempt:
        return {}
    over: dict[tuple[str, str], int] = {}
    for queue in execution_queues(world):
        for (kind, name), row in quota_rows(world, queue).items():
            if kind == "u" and (row.over or 0) > 0:
                over[queue, name] = row.over or 0
    found: dict[tuple[str, EntityKey], int] = defaultdict(int)
    if not over:
        return found
    for run in world.decision.snapshot.runs.values():
        job = run.job
        if (
            job.request.amount(settings.shown) <= over.get((job.queue, job.user), 0)
            and job.rerunable
            and world.now_s - run.start_s >= settings.exempt_s
            and world.ledger.preemptions.get(run.id, 0) < settings.cap
        ):
            found[job.queue, ("u", job.user)] += 1
    return found


def in_short(world: World) -> str:
    """This pass in one line: what starts, what is backfilled, and who is preempted for whom."""
    if world.decision is None:
        return "deciding"
    plan = world.decision.plan
    backfilled = sum(start.backfilled for start in plan.starts)
    parts = [f"{_verb(world, 'start', preemption=False)} {len(plan.starts):,}"]
    if backfilled:
        parts.append(f"of them backfilled {backfilled:,}")
    if plan.preempts:
        first = plan.preempts[0]
        victim = f"{safe(short_id(first.id))} {safe(first.run.job.user)} {first.run.job.cores:,}c"
        preempts = _verb(world, "preempt", preemption=True)
        parts.append(f"{preempts} {len(plan.preempts):,}: {victim}, for {safe(short_id(first.beneficiary))}")
    pause = pause_of(world)
    return " · ".join([*([safe(pause)] if pause else []), *parts])


def _verb(world: World, verb: str, *, preemption: bool) -> str:
    return f"{verb}s" if is_done(world, "", preemption=preemption) else f"would {verb}"
