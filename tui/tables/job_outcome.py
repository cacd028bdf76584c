"""One job's outcome in the console's plan, in a few words: it runs, starts, is preempted, or why it waits."""

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
from tui.state.cluster_view import ClusterView
from tui.state.ended_jobs import ended_at
from tui.state.mode_words import is_done
from tui.text.durations import day_and_time, short_span
from tui.text.lines import Line, Span, safe


def outcome_of(cluster: ClusterView, job_id: str) -> Line:
    """The most useful fact about this job now, short enough for a cell."""
    attributes = cluster.job(job_id)
    if attributes is None:
        return (("no longer on the server", "dim"),)
    if attributes.get("job_state") == "F":
        return (ending(attributes, cluster.now_s),)
    decision = cluster.decision
    if decision is not None:
        preempt = decision.preempts.get(job_id)
        if preempt is not None:
            done = is_done(cluster, attributes.get("queue", ""), preemption=True)
            words = f"{'to' if done else 'would'} be preempted for {safe(short_id(preempt.beneficiary))}"
            return (words, "warn"), (" · ", "dim"), _seat(attributes)
        start = decision.starts.get(job_id)
        if start is not None:
            done = is_done(cluster, attributes.get("queue", ""), preemption=False)
            verb = "backfill" if start.backfilled else "start"
            how = f"{verb}s" if done else f"would {verb}"
            where = safe(some_of(start.allocation.vnodes))
            return ((f"{how} in the next pass on {where}", "good"),)
        found = decision.reason_of(job_id)
        if found is not None:
            job, reason = found
            waits_for_victims = reason.code == "preempting"
            sentence = reason.sentence(job, cluster.now_s, decision.more_of(job_id))
            done = not waits_for_victims or is_done(cluster, attributes.get("queue", ""), preemption=True)
            return ((safe(("" if done else "not carried out: ") + sentence), ""),)
    if is_array(job_id):
        running, waiting = cluster.counts.subjobs_running[job_id], subjobs_waiting(attributes)
        return ((f"{running:,} subjobs run, {waiting:,} wait", "dim"),)
    return (_seat(attributes),)


def told_of(cluster: ClusterView, job_id: str) -> Line:
    """The outcome, and for a running job the end of its walltime."""
    outcome = outcome_of(cluster, job_id)
    attributes = cluster.job(job_id) or {}
    began_s, walltime_s = moment(attributes, "stime"), seconds(attributes, "Resource_List.walltime")
    if attributes.get("job_state") not in RUNNING_STATES or began_s is None or walltime_s is None:
        return outcome
    ends_s = began_s + walltime_s
    left = f", in {short_span(ends_s - cluster.now_s)}" if ends_s > cluster.now_s else ", over by now"
    return *outcome, (f" · ends {day_and_time(ends_s, cluster.now_s)} at the latest{left}", "")


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


def reserved_at(cluster: ClusterView, queue: str) -> float | None:
    """The reserved start of this queue's head, in seconds since 1970; None if nothing is reserved."""
    head = head_of(cluster, queue)
    at_s = None if head is None or cluster.decision is None else cluster.decision.estimates.get(head)
    return at_s if at_s is not None and math.isfinite(at_s) else None


def head_of(cluster: ClusterView, queue: str) -> str | None:
    """This queue's head: the first of its jobs that has a reservation; None if there is none."""
    if cluster.decision is None:
        return None
    for estimate in cluster.decision.plan.estimates:
        if cluster.server_status.jobs.get(estimate.id, {}).get("queue") == queue:
            return estimate.id
    return None
