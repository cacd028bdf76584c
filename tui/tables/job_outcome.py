"""What the console's plan says about one job, in a few words: it runs, starts, is preempted, or why it waits."""

from __future__ import annotations

import math

from tui.model.typed_attributes import (
    RUNNING_STATES,
    Attributes,
    is_array,
    moment,
    seconds,
    short_id,
    some_of,
    subjobs_waiting,
    vnodes_of,
)
from tui.state.cluster_view import World
from tui.state.ended_jobs import ended_at
from tui.state.mode_words import is_done
from tui.text.durations import day_and_time, short_span
from tui.text.lines import Line, Span, safe


def outcome_of(world: World, job_id: str) -> Line:
    """One cell's worth: the most useful thing to know about this job now."""
    attributes = world.job(job_id)
    if attributes is None:
        return (("no longer on the server", "dim"),)
    if attributes.get("job_state") == "F":
        return (ending(attributes, world.now_s),)
    decision = world.decision
    if decision is not None:
        preempt = decision.preempts.get(job_id)
        if preempt is not None:
            done = is_done(world, attributes.get("queue", ""), preemption=True)
            words = f"{'to' if done else 'would'} be preempted for {safe(short_id(preempt.beneficiary))}"
            return (words, "warn"), (" · ", "dim"), _seat(attributes)
        start = decision.starts.get(job_id)
        if start is not None:
            done = is_done(world, attributes.get("queue", ""), preemption=False)
            verb = "backfill" if start.backfilled else "start"
            how = f"{verb}s" if done else f"would {verb}"
            where = safe(some_of(start.placement.vnodes))
            return ((f"{how} in the next pass on {where}", "good"),)
        found = decision.reason_of(job_id)
        if found is not None:
            job, reason = found
            waits_for_victims = reason.code == "preempting"
            sentence = reason.sentence(job, world.now_s, decision.more_of(job_id))
            done = not waits_for_victims or is_done(world, attributes.get("queue", ""), preemption=True)
            return ((safe(("" if done else "not carried out: ") + sentence), ""),)
    if is_array(job_id):
        running, waiting = world.tally.subjobs_running[job_id], subjobs_waiting(attributes)
        return ((f"{running:,} subjobs run, {waiting:,} wait", "dim"),)
    return (_seat(attributes),)


def told_of(world: World, job_id: str) -> Line:
    """The same at length, with until when a running job may run by its walltime."""
    outcome = outcome_of(world, job_id)
    attributes = world.job(job_id) or {}
    began_s, walltime_s = moment(attributes, "stime"), seconds(attributes, "Resource_List.walltime")
    if attributes.get("job_state") not in RUNNING_STATES or began_s is None or walltime_s is None:
        return outcome
    ends_s = began_s + walltime_s
    left = f", in {short_span(ends_s - world.now_s)}" if ends_s > world.now_s else ", over by now"
    return *outcome, (f" · ends {day_and_time(ends_s, world.now_s)} at the latest{left}", "")


def ending(attributes: Attributes, now_s: float) -> Span:
    """How and when a job ended, and where it ran."""
    status = attributes.get("Exit_status", "")
    at_s = ended_at(attributes)
    when = "" if at_s is None else f" {day_and_time(at_s, now_s)}"
    where = some_of(vnodes_of(attributes.get("exec_vnode", "")))
    on = f" on {where}" if where else ""
    if not status:
        return f"deleted{when}{on}", "dim"
    return safe(f"ended{when}, exit {status}{on}"), "good" if status == "0" else "warn"


def _seat(attributes: Attributes) -> tuple[str, str]:
    exec_vnode = attributes.get("exec_vnode", "")
    if exec_vnode:
        return f"on {safe(some_of(vnodes_of(exec_vnode)))}", "dim"
    return safe(attributes.get("comment", "")), "dim"


def reserved_at(world: World, queue: str) -> float | None:
    """When the head of this queue is reserved to start, in seconds since 1970; None where nothing is reserved."""
    head = head_of(world, queue)
    at_s = None if head is None or world.decision is None else world.decision.estimates.get(head)
    return at_s if at_s is not None and math.isfinite(at_s) else None


def head_of(world: World, queue: str) -> str | None:
    """The job of this queue that a reservation is held for."""
    if world.decision is None:
        return None
    for estimate in world.decision.plan.estimates:
        if world.picture.jobs.get(estimate.id, {}).get("queue") == queue:
            return estimate.id
    return None
