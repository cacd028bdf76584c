"""A job is submitted: refuse what can never run; in ``advise`` set the shrunk estimate and the striped chunks, and keep
a user's priority below that of beneficiaries.

The whole server waits for this hook: it reads two files if they have changed, and the vnodes only before it refuses a
job that none could hold, and the jobs that a ``depend`` names as only their owner may. In ``observe`` it refuses only
what would harm the server or other users' jobs: texts beyond the bounds, mail addresses that are options, line breaks
in texts that PBS logs, dependencies that PBS would carry out wrongly, and users' jobs that name a reservation.
"""

from __future__ import annotations

from typing import Any

from hooks.admission.submission.dependencies_on_other_jobs import refuse_dependencies
from hooks.admission.submission.impossible_requests_and_shrunk_soft_walltime import (
    find_impossible,
    find_nonsense,
    read_preemptibility,
    shrink_estimate,
)
from hooks.admission.submission.priority_below_beneficiaries import is_highest, lower_priority
from hooks.admission.submission.reread_vnodes_before_refusing_submission import reread_summary
from hooks.admission.submission.stripe_select import restripe
from hooks.admission.texts.overlong_job_texts import refuse_beyond_bounds
from hooks.pbs.custom_resources import OWN_SELECT, PLACE
from hooks.pbs.job_attributes.read_resource_list_value import read_value
from hooks.pbs.job_attributes.resource_list import (
    change_resource_list,
    read_resource_list,
    without_empty,
)
from hooks.pbs.job_attributes.select_before_striping import undo_stripe, without_stripe
from hooks.pbs.managers_and_operators import may_manage
from hooks.store.event_hook_summary import read_summary
from hooks.store.hook_settings import read_config
from hooks.store.state_folder import state_folder
from hooks.store.wake_up_fifo import wake

_NAMES_RESERVATION = "it names a reservation (reserve_ID): submit it to the reservation's queue instead, without that"
"""PBS writes the attribute itself for jobs of a reservation's queue. Where a user does, in any queue and with any text,
PBS never requeues the job, so no quota could take its cores back."""


def handle(pbs: Any) -> str | None:
    """Judge the submission of this event."""
    event = pbs.event()
    job = event.job
    settings = read_config(pbs.hook_config_filename)
    excess = refuse_beyond_bounds(job, settings.submission)
    excess = excess or refuse_dependencies(pbs, settings.submission.depend_servers)
    if excess:
        return excess
    if getattr(job, "reserve_ID", None) and not may_manage(pbs):
        return _NAMES_RESERVATION
    forged = [name for name in (OWN_SELECT, PLACE) if read_value(job.Resource_List, name)]
    if forged and not may_manage(pbs):
        # Where a queuejob hook is enabled PBS lets users set a resource that is read-only to them.
        change_resource_list(pbs, job.Resource_List, dict.fromkeys(forged))
    summary = read_summary(pbs.pbs_conf["PBS_HOME"])
    queue = (str(job.queue) if job.queue else "") or summary.default_queue
    mode = summary.mode(queue)
    # PBS makes an object of the whole server to say who may manage it, which takes longer than the rest of this.
    if summary.may_advise(queue) and is_highest(job) and not may_manage(pbs):
        lower_priority(job)
    if mode == "observe":
        if queue not in summary.queues and summary.drives_some:
            # The queue may be one that routes to a driven one.
            wake(str(state_folder(pbs.pbs_conf["PBS_HOME"])))
        return None
    resource_list = without_empty(read_resource_list(job.Resource_List))
    own = without_stripe(resource_list)
    refusal = find_impossible(own, queue, summary, settings, lambda: reread_summary(pbs, queue, summary))
    refusal = refusal or find_nonsense(own)
    if refusal:
        return refusal
    if mode == "drive":
        change_resource_list(pbs, job.Resource_List, undo_stripe(resource_list))
        wake(str(state_folder(pbs.pbs_conf["PBS_HOME"])))
        return None
    user = str(event.requestor)
    change_resource_list(
        pbs, job.Resource_List, restripe(resource_list, user, summary.queues[queue], summary, settings.for_queue(queue))
    )
    array = getattr(job, "array_indices_submitted", None) is not None
    preemptibility = read_preemptibility(
        getattr(job, "Rerunable", None), getattr(job, "Checkpoint", None), own, settings, array=array
    )
    estimate_s = shrink_estimate(own, user, summary.past, settings, preemptibility)
    if estimate_s is not None:
        change_resource_list(pbs, job.Resource_List, {"soft_walltime": estimate_s})
    return None
