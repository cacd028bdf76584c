"""A job is about to start: refuse the start if a vnode would get more than it has, by whatever request.

The planned start of a job that was altered or held since is refused too. Starts by PBS's scheduler or a pass are also
tested for the job's requirements, other stripes and the scheduler's cycle for reservations (docs/hooks.md); in
``observe`` nothing is refused.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from hooks.admission.start.arrays_found_unaltered import is_found_unaltered, note_unaltered
from hooks.admission.start.readings_required_by_job_at_start import has_requirements, refuse_unmet
from hooks.admission.start.refuse_overcommitting_start import (
    VnodeUse,
    refuse_kept,
    refuse_overcommit,
    refuse_unavailable,
)
from hooks.admission.start.refuse_striped_starts_too_close import is_stripe, note_start, read_starts, refuse_too_soon
from hooks.checkpoint.save_method.copy_queue_save_method_to_job import find_method_to_write
from hooks.checkpoint.save_method.read_save_method_job_asked_for import read_asked_method
from hooks.pbs.custom_resources_on_hosts import READING, SAVE
from hooks.pbs.job_attributes.job_altered_since_plan import ALTERED, HELD, digest_of_job
from hooks.pbs.job_attributes.job_ids_and_states import is_subjob, parent_of
from hooks.pbs.job_attributes.resource_list import read_resource_list, without_empty
from hooks.pbs.reservation_queue_names import is_reservation_queue
from hooks.store.event_hook_summary import LONGEST_CYCLE_S, Summary, read_summary
from hooks.store.hook_settings import read_config
from policy.model.allocation import AllocationError, parse_exec_vnode
from policy.model.lists_for_programs import VARIABLE
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.site_settings import Settings

_SCHEDULER = "Scheduler"
_RANKED_BY = ("ncpus", "mem", "host", "speed", READING)
_AWAY = {
    "offline": "ND_OFFLINE", "down": "ND_DOWN", "stale": "ND_STALE", "sleeping": "ND_SLEEP",
    "being provisioned": "ND_PROV", "about to be provisioned": "ND_WAIT_PROV", "in maintenance": "ND_STATE_MAINTENANCE",
    "in an unknown state": "ND_STATE_UNKNOWN",
}  # fmt: skip


def handle(pbs: Any) -> str | None:
    """Judge the start of this event."""
    event = pbs.event()
    job = event.job
    queue = str(job.queue) if job.queue else ""
    home = pbs.pbs_conf["PBS_HOME"]
    summary = read_summary(home)
    if summary.mode(queue) == "observe" or is_reservation_queue(queue):
        return None
    is_of_scheduler = str(event.requestor) == _SCHEDULER
    if is_of_scheduler and queue in summary.in_cycle and 0 <= time.time() - summary.planned_s < LONGEST_CYCLE_S:
        return "pbsteer drives its queue: in this cycle the scheduler serves only reservations and resumed jobs there"
    try:
        allocation = parse_exec_vnode(str(job.exec_vnode or ""))
    except AllocationError:
        return None
    server = pbs.server()
    resources = sorted({name for spot in allocation.spots for name, _ in spot.amounts} | {"ncpus"})
    away = {word: getattr(pbs, name, 0) for word, name in _AWAY.items()}
    found = ((name, server.vnode(name)) for name in allocation.vnodes)
    vnodes = {name: vnode for name, vnode in found if vnode is not None}
    vnode_uses = {name: _read_vnode_use(pbs, vnode, resources, away) for name, vnode in vnodes.items()}
    refusal = refuse_overcommit(allocation, vnode_uses, lambda job_id: _read_allocation(pbs, server, job_id))
    if refusal:
        return refusal
    settings = read_config(pbs.hook_config_filename)
    kept = summary.kept_at(time.time(), settings.schedule.interval_s) if is_of_scheduler else {}
    refusal = refuse_kept(allocation, vnode_uses, kept) if kept else None
    if refusal:
        return refusal
    striped = summary.starting.get(str(job.id))
    by_hand = striped is None and not is_of_scheduler
    refusal = _judge_change(pbs, server, job, summary) if not is_of_scheduler else None
    if refusal:
        return refusal
    if not by_hand:
        refusal = refuse_unavailable(vnode_uses) or _judge_requirements(pbs, job, vnodes, summary, settings.ranking)
    refusal = refusal or _stagger(home, job, vnode_uses, settings, striped, by_hand=by_hand)
    of_queue = summary.queues[queue].save
    if of_queue and not refusal:
        to_write = find_method_to_write(read_asked_method(job), of_queue, settings.checkpoint.method)
        if to_write:
            job.Resource_List[SAVE] = to_write
    if settings.ranking.lists != "none" and not refusal:
        _hand_list(job, summary.lists.get(str(job.id), ""))
    return refusal


def _hand_list(job: Any, text: str) -> None:
    """Give the job the list of its sockets and cores. One of an earlier run, or of the job's own, is emptied."""
    variables = job.Variable_List
    if text or (variables is not None and VARIABLE in variables):
        variables[VARIABLE] = text


def _judge_change(pbs: Any, server: Any, job: Any, summary: Summary) -> str | None:
    """Refuse a planned start if the job was altered or held since; for a subjob, if its array was, since the event of a
    subjob shows only some attributes of the array. What other hooks of the server change in the job at its start is not
    the owner's alteration, so the server's own job has to differ too. It must also have been modified since the pass
    read it: otherwise a job that only looks different would never start."""
    job_id = str(job.id)
    planned = summary.planned.get(job_id, "")
    if not planned:
        return None
    if _is_held(pbs, job):
        return HELD
    of_event, parent = digest_of_job(job), parent_of(job_id)
    if not is_subjob(job_id) and of_event == planned:
        return None
    if is_subjob(job_id) and is_found_unaltered(parent, of_event, planned, summary.planned_s):
        return None
    own = server.job(parent)
    if own is not None and _is_held(pbs, own):
        return HELD
    if own is None or digest_of_job(own) == planned or int(own.mtime or 0) < int(summary.planned_s):
        if parent != job_id:
            note_unaltered(parent, of_event, planned, summary.planned_s)
        return None
    return ALTERED


def _is_held(pbs: Any, job: Any) -> bool:
    state = getattr(job, "job_state", None)
    return state is not None and state in (pbs.JOB_STATE_HELD, pbs.JOB_STATE_WAITING)


def _judge_requirements(
    pbs: Any, job: Any, vnodes: Mapping[str, Any], summary: Summary, ranking: RankingSettings
) -> str | None:
    resource_list = without_empty(read_resource_list(job.Resource_List))
    if not has_requirements(resource_list, ranking):
        return None
    texts = {
        name: {
            f"{kind}.{resource}": text
            for kind, amounts in (
                ("resources_available", vnode.resources_available),
                ("resources_assigned", vnode.resources_assigned),
            )
            for resource, text in _read_texts(amounts, _RANKED_BY).items()
        }
        for name, vnode in vnodes.items()
    }
    return refuse_unmet(resource_list, texts, summary.consumables, summary.several, time.time(), ranking)


def _stagger(
    home: str, job: Any, vnode_uses: Mapping[str, VnodeUse], settings: Settings, striped: bool | None, *, by_hand: bool
) -> str | None:
    """Refuse a stripe that starts too soon after another, or record its start; ``striped`` is whether the pass that
    starts the job has it as a stripe (None: not started by a pass)."""
    stagger_s, now_s = settings.stripe.stagger_s, time.time()
    nodes = {room.host or name for name, room in vnode_uses.items()}
    if not stagger_s or striped is False:
        return None
    if striped is None and not is_stripe(
        without_empty(read_resource_list(job.Resource_List)), len(nodes), settings.stripe.for_queue(str(job.queue))
    ):
        return None
    starts = read_starts(home)
    # A pass counts from its decision, and acts up to its budget later.
    leeway_s = settings.schedule.budget_s if striped else 0.0
    refusal = None if by_hand else refuse_too_soon(nodes, starts, now_s, stagger_s - leeway_s)
    if refusal is None:
        note_start(home, nodes, starts, now_s, stagger_s)
    return refusal


def _read_vnode_use(pbs: Any, vnode: Any, resources: list[str], away: Mapping[str, int]) -> VnodeUse:
    state = int(vnode.state or 0)
    available = vnode.resources_available
    return VnodeUse(
        _read_texts(available, resources),
        _read_texts(vnode.resources_assigned, resources),
        str(vnode.jobs or ""),
        alone=bool(state & (pbs.ND_JOB_EXCLUSIVE | pbs.ND_RESV_EXCLUSIVE)),
        away=", ".join(word for word, bit in away.items() if state & bit) if state else "",
        host=str(available["host"] or ""),
    )


def _read_texts(amounts: Any, resources: Sequence[str]) -> dict[str, str]:
    texts = {}
    for resource in resources:
        try:
            value = amounts[resource]
        except Exception:  # noqa: BLE001, S112 - how PBS says that it does not know a resource differs by version
            continue
        if value is not None:
            texts[resource] = str(value)
    return texts


def _read_allocation(pbs: Any, server: Any, job_id: str) -> str:
    """The allocation of a job in a vnode's list; empty for one that is gone, or is suspended and so holds nothing."""
    job = server.job(job_id)
    if job is None or job.job_state == pbs.JOB_STATE_SUSPEND:
        return ""
    return str(job.exec_vnode or "")
