"""A job is moved to another queue: refuse users those of other servers, in every mode, and in ``advise`` a job with the
priority of beneficiaries.

The whole server waits for this hook, so it reads nothing unless the request names a server or the job has that
priority.
"""

from __future__ import annotations

from typing import Any

from hooks.admission.submission.moves_to_other_servers import refuse_other_server
from hooks.admission.submission.priority_below_beneficiaries import is_highest
from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.managers_and_operators import may_manage
from hooks.store.event_hook_summary import read_summary
from hooks.store.hook_settings import read_config

_HIGHEST = "its priority is that of jobs that others are preempted for in that queue: lower it first (qalter -p 1022)"


def handle(pbs: Any) -> str | None:
    """Judge the move of this event. If there is no such job, the event has none, and PBS itself refuses the move."""
    job = pbs.event().job
    destination = read_attribute(job, "queue")
    if is_highest(job):
        summary = read_summary(pbs.pbs_conf["PBS_HOME"])
        queue = destination.partition("@")[0] or summary.default_queue
        if summary.may_advise(queue) and not may_manage(pbs):
            return _HIGHEST
    if "@" not in destination or read_config(pbs.hook_config_filename).submission.depend_servers == "any":
        return None
    return refuse_other_server(pbs, destination) or None
