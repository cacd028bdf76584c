"""A job is altered: refuse what could not have been submitted, and keep right what queuejob derived.

The pass alters jobs too, above all their comments, so an alteration of neither times nor chunks nor wishes is let
through at once; so is one that names the resource for the job's own select, which only pbsteer and managers may set. By
default PBS does not call the hook for its scheduler's alterations. A user may not make a running job one that could not
be preempted. In ``observe`` only a ``select`` or texts beyond the bounds and a name with a line break are refused.
"""

from __future__ import annotations

from typing import Any

from hooks.admission.alteration import Alteration, Fixing, follow_alteration, refuse_alteration, refuse_fixing
from hooks.admission.live_vnodes import look
from hooks.admission.submission import read_kept
from hooks.pbs.acl import may_manage
from hooks.pbs.resource_list import change_asked, read_asked, read_lengths, read_select, refuse_name, without_empty
from hooks.pbs.resources import OWN_SELECT, SAVE
from hooks.store.config import read_config
from hooks.store.summary import read_summary
from policy.eligibility.request_bounds import find_excess, find_long_texts

_SHORT = 200
"""Texts of up to so many characters are let through without reading the job's other ones."""


def _read_fixing(event: Any) -> Fixing | None:
    """The alteration's values for rerunning and checkpointing; None if it has neither."""
    rerunable, checkpoint = event.job.Rerunable, event.job.Checkpoint
    if rerunable is None and checkpoint is None:
        return None
    before = event.job_o
    return Fixing(
        None if rerunable is None else bool(rerunable),
        None if checkpoint is None else str(checkpoint),
        before.Rerunable is None or bool(before.Rerunable),
        str(before.Checkpoint or ""),
    )


def handle(pbs: Any) -> str | None:
    """Judge the alteration of this event."""
    event = pbs.event()
    changes = read_asked(event.job.Resource_List)
    settings = read_config(pbs.hook_config_filename)
    excess = find_excess(changes.get("select", "") or read_select(event.job.Resource_List), settings.submission)
    excess = excess or refuse_name(getattr(event.job, "Job_Name", None))
    if excess:
        return excess
    longer = read_lengths(event.job.Resource_List)
    if sum(longer.values()) > _SHORT:
        lengths = {**read_lengths(event.job_o.Resource_List), **longer}
        excess = find_long_texts(sum(lengths.values()), settings.submission)
        if excess:
            return excess
    fixing = _read_fixing(event)
    if (not changes or OWN_SELECT in changes) and fixing is None:
        return None
    summary = read_summary(pbs.pbs_conf["PBS_HOME"])
    before = event.job_o
    queue = str(before.queue) if before.queue else ""
    if summary.mode(queue) == "observe":
        return None
    waiting = (pbs.JOB_STATE_QUEUED, pbs.JOB_STATE_HELD, pbs.JOB_STATE_WAITING, pbs.JOB_STATE_BEGUN)
    waits = int(before.job_state) in waiting[:3] and not _has_running_subjobs(before)
    confines = settings.quota.confine_unpreemptible
    if confines and fixing is not None and not waits and not may_manage(pbs):
        refusal = refuse_fixing(fixing)
        if refusal:
            return refusal
    if OWN_SELECT in changes:
        return None
    own = without_empty({**read_asked(before.Resource_List), **changes})
    rerunable = before.Rerunable if event.job.Rerunable is None else event.job.Rerunable
    checkpoint = before.Checkpoint if event.job.Checkpoint is None else event.job.Checkpoint
    alteration = Alteration(
        without_empty(read_asked(before.Resource_List)),
        changes,
        queue,
        str(before.euser or before.Job_Owner).partition("@")[0],
        running=int(before.job_state) not in waiting,
        privileged=may_manage(pbs),
        kept=read_kept(rerunable, checkpoint, own, settings),
        keeps_otherwise=fixing is not None or SAVE in changes,
    )
    refusal = refuse_alteration(alteration, summary, settings, lambda: look(pbs, queue, summary)) if changes else None
    if refusal:
        return refusal
    change_asked(pbs, event.job.Resource_List, follow_alteration(alteration, summary, settings))
    return None


def _has_running_subjobs(job: Any) -> bool:
    """Whether subjobs run: those of an array that has begun go on while it is held."""
    counts = str(getattr(job, "array_state_count", None) or "").split()
    return any(count.startswith("Running:") and count != "Running:0" for count in counts)
