"""One job's outcome in the console's plan, in a few words: it runs, starts, is preempted, or why it waits."""

from __future__ import annotations

import math

from hooks.pbs.job_attributes.job_ids_and_states import is_array
from policy import Reason
from policy.model.pbs_units import show_count, show_job
from tui.model.job_state_and_exit_status_words import exit_words, state_words, substate_words
from tui.model.typed_attributes import (
    MAY_START_STATES,
    RUNNING_STATES,
    SUSPENDED_STATES,
    Attributes,
    amount,
    moment,
    seconds,
    subjobs_waiting,
    vnodes_of,
)
from tui.state.cluster_view import ClusterView
from tui.state.ended_jobs import ended_at
from tui.state.wording_by_queue_mode import preemptions_in, starts_in
from tui.tables.columns_by_view.job_start_and_end import likely_start
from tui.tables.columns_by_view.reason_in_short import group_title, in_short
from tui.text.memory_amount_as_text import in_bytes
from tui.text.name_ranges import few_names
from tui.text.screen_line import Line, Span, safe
from tui.text.times_and_durations import day_and_time, short_span


def outcome_of(cluster: ClusterView, job_id: str, *, briefly: bool = False) -> Line:
    """The most useful fact about this job now; ``briefly``, in a few words for a cell, else in a whole sentence."""
    attributes = cluster.job(job_id)
    if attributes is None:
        return (("no longer on the server", "dim"),)
    if attributes.get("job_state") == "F":
        return (ending(attributes, cluster.now_s),)
    decision, queue = cluster.decision, attributes.get("queue", "")
    if decision is not None:
        preempt = decision.preempts.get(job_id)
        if preempt is not None:
            words = preemptions_in(cluster, queue).is_to_be("preempted")
            return (f"{words} for {safe(show_job(preempt.beneficiary))}", "warn"), (" · ", "dim"), _seat(attributes)
        start = decision.starts.get(job_id)
        if start is not None:
            kept = _kept_by_pass(cluster, job_id, briefly=briefly)
            if kept:
                return ((safe(kept), ""),)
            how = starts_in(cluster, queue).does("backfill" if start.backfilled else "start")
            where = safe(few_names(start.allocation.vnodes))
            return ((f"{how} in the next pass on {where}", "good"),)
        found = decision.reason_of(job_id)
        if found is not None:
            job, reason = found
            say = in_short if briefly else Reason.sentence
            sentence = say(reason, job, cluster.now_s, decision.more_of(job_id))
            if reason.code == "preempting":
                sentence = preemptions_in(cluster, queue).of_plan(sentence)
            return ((safe(sentence), ""),)
    if is_array(job_id):
        return ((_subjobs(cluster, job_id, attributes), "dim"),)
    return (_seat(attributes),)


_KNOWN_TO_PASSES = frozenset({"under-threshold", "no-fair-share", "queue-closed", "into-window", "server-resource"})
"""Reasons that come from the scheduler's files and programs, which the console does not read."""


def _kept_by_pass(cluster: ClusterView, job_id: str, *, briefly: bool) -> str:
    """Why the last pass did not start a job that this console's plan would start; empty if it had no such reason."""
    reason = cluster.passes.reasons.of(job_id)
    if reason is None or reason.code not in _KNOWN_TO_PASSES:
        return ""
    return group_title(reason.code) if briefly or not reason.text else reason.text


def describe_job(cluster: ClusterView, job_id: str) -> Line:
    """The state in words, the outcome, and for a job that runs and is not suspended the end of its walltime."""
    attributes = cluster.job(job_id) or {}
    outcome = (*_state(cluster, job_id, attributes), *outcome_of(cluster, job_id))
    began_s, walltime_s = moment(attributes, "stime"), seconds(attributes, "Resource_List.walltime")
    if attributes.get("job_state") not in RUNNING_STATES - SUSPENDED_STATES or began_s is None or walltime_s is None:
        return outcome
    ends_s = began_s + walltime_s
    left = f", in {short_span(ends_s - cluster.now_s)}" if ends_s > cluster.now_s else ", over by now"
    return *outcome, (f" · ends {day_and_time(ends_s, cluster.now_s)} at the latest{left}", "")


def describe_use_and_start(cluster: ClusterView, job_id: str) -> list[Line]:
    """What a job asks for, beside what it uses if it runs, and its likely start if it waits; a line each."""
    attributes = cluster.job(job_id) or {}
    amounts = ((amount(attributes, f"Resource_List.{resource}"), name) for name, resource in _COUNTED)
    memory = amount(attributes, "Resource_List.mem")
    asks = [show_count(count, name) for count, name in amounts if count]
    asks += [in_bytes(memory)] if memory else []
    asks.append(safe(attributes.get("Resource_List.walltime", "no walltime")))
    lines: list[Line] = [(("asks for ", "dim"), (", ".join(asks), ""))]
    state = attributes.get("job_state", "")
    if state in RUNNING_STATES:
        shares = cluster.shares(job_id)
        parts = (("its cores", shares.cpu), ("its memory", shares.memory), ("its GPUs", shares.gpu))
        used = [f"{share:.0%} of {name}" for name, share in parts if share is not None]
        lines.append((("uses     ", "dim"), (", ".join(used) or "no figures yet", "warn" if shares.is_idle else "")))
    elif state in MAY_START_STATES:
        starts = _likely(cluster, job_id)
        lines += [(("starts   ", "dim"), (starts, ""))] if starts else []
    return lines


_COUNTED = (("core", "ncpus"), ("GPU", "ngpus"))


def _likely(cluster: ClusterView, job_id: str) -> str:
    """When a waiting job starts, in half of the cases and in nine of ten; empty where nothing is known."""
    half_s, most_s = likely_start(cluster, job_id), likely_start(cluster, job_id, nine_tenths=True)
    if half_s is None or not math.isfinite(half_s):
        return ""
    if most_s is None or not math.isfinite(most_s) or most_s == half_s:
        return f"about {day_and_time(half_s, cluster.now_s)}"
    by, at_most = day_and_time(half_s, cluster.now_s), day_and_time(most_s, cluster.now_s)
    return f"in half of the cases by {by}, in nine of ten by {at_most}"


def _state(cluster: ClusterView, job_id: str, attributes: Attributes) -> Line:
    """``B array, running: 8 subjobs run, 12 wait · ``; empty for a job that is no longer there."""
    letter = attributes.get("job_state", "")
    if not letter:
        return ()
    words = [f"{safe(letter)} {state_words(letter)}"]
    if is_array(job_id) and letter != "F":
        words[0] += f": {_subjobs(cluster, job_id, attributes)}"
    words += filter(None, [substate_words(attributes)])
    return ((f"{', '.join(words)} · ", "dim"),)


def _subjobs(cluster: ClusterView, array_id: str, attributes: Attributes) -> str:
    running, waiting = cluster.counts.subjobs_running[array_id], subjobs_waiting(attributes)
    return f"{show_count(running, 'subjob')} {'runs' if running == 1 else 'run'}, {waiting:,} wait"


def ending(attributes: Attributes, now_s: float) -> Span:
    """How and when a job ended, and where it ran."""
    status = attributes.get("Exit_status", "")
    at_s = ended_at(attributes)
    when = "" if at_s is None else f" {day_and_time(at_s, now_s)}"
    where = few_names(vnodes_of(attributes.get("exec_vnode", "")))
    on = f" on {where}" if where else ""
    if not status:
        return f"deleted{when}{on}", "dim"
    words = exit_words(status)
    why = f" ({words})" if words else ""
    return safe(f"ended{when}, exit {status}{why}{on}"), "good" if status == "0" else "warn"


def _seat(attributes: Attributes) -> tuple[str, str]:
    exec_vnode = attributes.get("exec_vnode", "")
    if exec_vnode:
        return f"on {safe(few_names(vnodes_of(exec_vnode)))}", "dim"
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
