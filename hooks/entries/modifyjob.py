"""A job is altered: refuse what could not have been submitted, and derive anew what queuejob derived.

Most alterations are the passes' own, above all of comments, so one that touches neither times nor chunks nor
preferences is let through at once. In ``observe`` it refuses only what would harm the server or other users' jobs:
texts beyond the bounds, mail addresses that are options, line breaks in texts that PBS logs, and dependencies that PBS
would carry out wrongly.
"""

from __future__ import annotations

import time
from typing import Any

from hooks.admission.start.arrays_found_unaltered import forget_arrays
from hooks.admission.submission.dependencies_on_other_jobs import (
    has_running_subjobs,
    refuse_dependencies,
)
from hooks.admission.submission.impossible_requests_and_shrunk_soft_walltime import read_preemptibility
from hooks.admission.submission.job_about_to_start import refuse_before_start
from hooks.admission.submission.job_alteration import (
    Alteration,
    PreemptibilityChange,
    follow_alteration,
    refuse_alteration,
    refuse_unpreemptible,
)
from hooks.admission.submission.priority_below_beneficiaries import is_highest, lower_priority
from hooks.admission.submission.reread_vnodes_before_refusing_submission import reread_summary
from hooks.admission.texts.line_breaks_in_texts import refuse_line_breaks_of_variables
from hooks.admission.texts.overlong_job_texts import refuse_beyond_bounds
from hooks.pbs.custom_resources import OWN_SELECT
from hooks.pbs.custom_resources_on_hosts import SAVE
from hooks.pbs.job_attributes.resource_list import change_resource_list, read_all, read_resource_list, without_empty
from hooks.pbs.managers_and_operators import may_manage
from hooks.store.event_hook_summary import read_summary
from hooks.store.hook_settings import read_config
from policy.settings.settings_of_server_and_passes import SubmissionSettings
from policy.settings.site_settings import Settings


def _read_preemptibility_change(event: Any) -> PreemptibilityChange | None:
    """The alteration's values for rerunning and checkpointing; None if it has neither."""
    rerunable, checkpoint = event.job.Rerunable, event.job.Checkpoint
    if rerunable is None and checkpoint is None:
        return None
    before = event.job_o
    return PreemptibilityChange(
        None if rerunable is None else bool(rerunable),
        None if checkpoint is None else str(checkpoint),
        bool(before.Rerunable),
        str(before.Checkpoint or ""),
    )


def handle(pbs: Any) -> str | None:
    """Judge the alteration of this event.

    Only a pass or a manager may set the resource for the job's own select, so what names it is let through. By default
    PBS does not call the hook for its scheduler's alterations.
    """
    forget_arrays()
    event = pbs.event()
    if event.job_o is None:
        return _refuse_unreadable(pbs, str(event.job.id), read_config(pbs.hook_config_filename).submission)
    changes = read_resource_list(event.job.Resource_List)
    settings = read_config(pbs.hook_config_filename)
    excess = refuse_beyond_bounds(event.job, settings.submission, event.job_o)
    excess = excess or refuse_dependencies(pbs, settings.submission.depend_servers, event.job_o)
    if excess:
        return excess
    if is_highest(event.job) and not may_manage(pbs):
        _keep_below_beneficiaries(pbs, event)
    altered = _read_preemptibility_change(event)
    refusal = _refuse_before_start(pbs, event, settings, touches_request=bool(changes) or altered is not None)
    if refusal:
        return refusal
    if (not changes or OWN_SELECT in changes) and altered is None:
        return None
    summary = read_summary(pbs.pbs_conf["PBS_HOME"])
    before = event.job_o
    queue = str(before.queue) if before.queue else ""
    if summary.mode(queue) == "observe":
        return None
    waiting = (pbs.JOB_STATE_QUEUED, pbs.JOB_STATE_HELD, pbs.JOB_STATE_WAITING, pbs.JOB_STATE_BEGUN)
    waits = int(before.job_state) in waiting[:3] and not has_running_subjobs(before)
    confines = settings.quota.confine_unpreemptible
    if confines and altered is not None and not waits and not may_manage(pbs):
        refusal = refuse_unpreemptible(altered)
        if refusal:
            return refusal
    if OWN_SELECT in changes:
        return None
    own = without_empty({**read_resource_list(before.Resource_List), **changes})
    rerunable = before.Rerunable if event.job.Rerunable is None else event.job.Rerunable
    checkpoint = before.Checkpoint if event.job.Checkpoint is None else event.job.Checkpoint
    alteration = Alteration(
        without_empty(read_resource_list(before.Resource_List)),
        changes,
        queue,
        str(before.euser or before.Job_Owner).partition("@")[0],
        running=int(before.job_state) not in waiting,
        is_privileged=lambda: may_manage(pbs),
        preemptibility=read_preemptibility(rerunable, checkpoint, own, settings),
        keeps_otherwise=altered is not None or SAVE in changes,
    )
    refusal = (
        refuse_alteration(alteration, summary, settings, lambda: reread_summary(pbs, queue, summary))
        if changes
        else None
    )
    if refusal:
        return refusal
    change_resource_list(pbs, event.job.Resource_List, follow_alteration(alteration, summary, settings))
    return None


def _refuse_unreadable(pbs: Any, job_id: str, settings: SubmissionSettings) -> str | None:
    """Refuse an alteration for which PBS gave the hook no original job: the alteration has text that is not UTF-8, and
    PBS would carry out the rest of it unjudged. If there is no such job, PBS itself refuses the alteration."""
    job = pbs.server().job(job_id)
    if job is None or may_manage(pbs):
        return None
    altered = pbs.event().job
    refusal = refuse_beyond_bounds(altered, settings, job) or refuse_line_breaks_of_variables(altered)
    refusal = refusal or refuse_dependencies(pbs, settings.depend_servers, job)
    if refusal:
        return refusal
    summary = read_summary(pbs.pbs_conf["PBS_HOME"])
    if job.queue and summary.mode(str(job.queue)) == "observe":
        return None
    return "the alteration has text that is not UTF-8"


def _refuse_before_start(pbs: Any, event: Any, settings: Settings, *, touches_request: bool) -> str | None:
    """Refuse an alteration that comes between the decision on a start and the start. What touches neither the request
    nor the user, group or project that the job counts for is let through."""
    summary = read_summary(pbs.pbs_conf["PBS_HOME"])
    before, job = event.job_o, event.job
    # Held jobs too: their owner could hold a job, alter it and release it before it starts.
    waiting = (pbs.JOB_STATE_QUEUED, pbs.JOB_STATE_HELD, pbs.JOB_STATE_WAITING, pbs.JOB_STATE_BEGUN)
    if not summary.unguarded or int(before.job_state) not in waiting:
        return None
    counts_for_another = any(getattr(job, name, None) is not None for name in ("project", "group_list", "User_List"))
    # Amounts for the whole job, such as licences, are none of the resources that requests are judged by.
    if not (touches_request or counts_for_another or read_all(job.Resource_List)):
        return None
    refusal = refuse_before_start(str(before.id), summary, time.time(), settings.schedule.budget_s)
    return refusal if refusal and not may_manage(pbs) else None


def _keep_below_beneficiaries(pbs: Any, event: Any) -> None:
    before = event.job_o
    if read_summary(pbs.pbs_conf["PBS_HOME"]).may_advise(str(before.queue) if before.queue else ""):
        lower_priority(event.job)
