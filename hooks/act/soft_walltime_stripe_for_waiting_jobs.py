"""Advice on jobs that already wait when their queue's mode changes: the same resource lists as at a submission.

In ``advise`` a waiting job gets the shrunk estimate and the striped chunks that queuejob would have given it; in
``observe`` a striped job gets its own chunks back. An estimate stays, since it looks the same as one that a manager has
set.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from hooks.act.start_jobs import CHECKED_TOGETHER
from hooks.admission.submission.impossible_requests_and_shrunk_soft_walltime import Preemptibility, shrink_estimate
from hooks.admission.submission.stripe_select import restripe
from hooks.pbs.custom_resources import LAYOUT, OWN_SELECT, STRIPE_NODES, WIDTH
from hooks.pbs.job_attributes.resource_list import ASKED, Changes
from hooks.pbs.job_attributes.select_before_striping import undo_stripe, without_stripe

if TYPE_CHECKING:
    from hooks.pbs.client.pbs_ifl_client import Connection
    from hooks.pbs.client.requests_within_time_budget import Requests
    from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
    from hooks.store.event_hook_summary import Summary
    from hooks.translate.snapshot import Translation
    from policy.model.jobs_runs_vnodes_queues import Job
    from policy.settings.site_settings import Settings

ResourceChanges = Mapping[str, Mapping[str, str]]
"""Job to resource to the value to set; an empty text unsets."""

_PREFIX = "Resource_List."
_STRIPES = tuple(_PREFIX + name for name in (LAYOUT, WIDTH, STRIPE_NODES, OWN_SELECT))
_ALTERABLE = "QHW"


def find_resource_changes(
    translation: Translation, server_status: ServerStatus, summary: Summary, settings: Settings
) -> dict[str, dict[str, str]]:
    """The changes to the resource lists of waiting jobs. ``summary`` is what submissions are judged by now."""
    shrinks = settings.backfill.kind == "checkpoint"
    stripes = settings.stripe.lays_out
    resource_changes: dict[str, dict[str, str]] = {}
    if all(mode == "drive" for mode in translation.modes.values()):
        return resource_changes
    for job in translation.snapshot.cluster().jobs.values():
        texts = server_status.jobs[job.id]
        mode = translation.modes.get(job.queue, "")
        if mode == "drive" or texts.get("job_state", "") not in _ALTERABLE:
            continue
        asked_for = any(name in texts for name in _STRIPES)
        changes: Changes = {}
        if mode == "observe" and asked_for:
            changes = undo_stripe(_read_asked(texts))
        elif mode == "advise" and (shrinks or stripes or asked_for):
            changes = _advise(_read_asked(texts), job, summary, settings)
        wanted = {name: "" if value is None else str(value) for name, value in changes.items()}
        wanted = {name: text for name, text in wanted.items() if texts.get(_PREFIX + name, "") != text}
        if wanted:
            resource_changes[job.id] = wanted
    return resource_changes


def write_resource_changes(
    connection: Connection, resource_changes: ResourceChanges, server_status: ServerStatus, pending_work: Requests
) -> None:
    """Write the changes to the server, but for jobs whose request was altered since ``server_status``: it would be
    replaced by the earlier one. The next pass finds again what is left undone."""
    jobs = [*resource_changes]
    for first in range(0, len(jobs), CHECKED_TOGETHER):
        together = jobs[first : first + CHECKED_TOGETHER]
        now: dict[str, dict[str, str]] = pending_work.read(
            partial(connection.read_these_jobs, together, ("Resource_List",)), {}
        )
        for job_id in together:
            if job_id in now and _read_asked(now[job_id]) == _read_asked(server_status.jobs[job_id]):
                pending_work.run(partial(connection.set_chunks, job_id, resource_changes[job_id]))


def _advise(resource_list: Mapping[str, str], job: Job, summary: Summary, settings: Settings) -> Changes:
    user, preemptibility = job.user, Preemptibility(job.rerunable, job.saves)
    changes: dict[str, str | int | None] = dict(
        restripe(resource_list, user, summary.queues[job.queue], summary, settings.for_queue(job.queue))
    )
    estimate_s = shrink_estimate(without_stripe(resource_list), user, summary.past, settings, preemptibility)
    return changes if estimate_s is None else {**changes, "soft_walltime": estimate_s}


def _read_asked(texts: Attributes) -> dict[str, str]:
    return {name: texts[_PREFIX + name] for name in ASKED if texts.get(_PREFIX + name)}
