"""A job is altered: refuse what could not have been submitted, and keep right what queuejob had worked out.

The pass alters jobs too, their comments above all, so what concerns neither times nor chunks nor wishes is let through
at once; so is all that names the job's own select, which only pbsteer and managers may. PBS's scheduler is not asked
about at all. In ``observe`` nothing is done.
"""

from __future__ import annotations

from typing import Any

from hooks.alteration import Alteration, follow_alteration, refuse_alteration
from hooks.asked import change_asked, read_asked, without_empty
from hooks.config import read_config
from hooks.privileged import is_privileged
from hooks.resources import OWN_SELECT
from hooks.summary import read_summary


def handle(pbs: Any) -> str | None:
    """Judge the alteration of this event."""
    event = pbs.event()
    changes = read_asked(event.job.Resource_List)
    if not changes or OWN_SELECT in changes:
        return None
    summary = read_summary(pbs.pbs_conf["PBS_HOME"])
    before = event.job_o
    queue = str(before.queue) if before.queue else ""
    if summary.mode(queue) == "observe":
        return None
    server = pbs.server()
    waiting = (pbs.JOB_STATE_QUEUED, pbs.JOB_STATE_HELD, pbs.JOB_STATE_WAITING, pbs.JOB_STATE_BEGUN)
    alteration = Alteration(
        without_empty(read_asked(before.Resource_List)),
        changes,
        queue,
        str(before.euser or before.Job_Owner).partition("@")[0],
        running=int(before.job_state) not in waiting,
        privileged=is_privileged(
            str(event.requestor),
            str(event.requestor_host),
            str(server.server_host or ""),
            str(server.managers or ""),
            str(server.operators or ""),
        ),
    )
    settings = read_config(pbs.hook_config_filename)
    refusal = refuse_alteration(alteration, summary, settings)
    if refusal:
        return refusal
    change_asked(pbs, event.job.Resource_List, follow_alteration(alteration, summary, settings))
    return None
