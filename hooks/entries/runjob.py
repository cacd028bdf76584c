"""A job is about to start: refuse where a vnode would get more than it has, whoever asked for the start.

Jobs in reservations are left to PBS, which has set their vnodes aside. In ``observe``, and before the first pass has
told the modes, nothing is refused.
"""

from __future__ import annotations

from typing import Any

from hooks.guard import Room, refuse_overcommit
from hooks.queues import is_reservation_queue
from hooks.summary import read_summary
from policy.placement import PlacementError, parse_exec_vnode


def handle(pbs: Any) -> str | None:
    """Judge the start of this event."""
    job = pbs.event().job
    queue = str(job.queue) if job.queue else ""
    if read_summary(pbs.pbs_conf["PBS_HOME"]).mode(queue) == "observe" or is_reservation_queue(queue):
        return None
    try:
        placement = parse_exec_vnode(str(job.exec_vnode or ""))
    except PlacementError:
        return None
    server = pbs.server()
    resources = sorted({name for spot in placement.spots for name, _ in spot.amounts} | {"ncpus"})
    rooms = {}
    for name in placement.vnodes:
        vnode = server.vnode(name)
        if vnode is not None:
            rooms[name] = _read_room(pbs, vnode, resources)
    return refuse_overcommit(placement, rooms, lambda job_id: _read_placement(pbs, server, job_id))


def _read_room(pbs: Any, vnode: Any, resources: list[str]) -> Room:
    alone = int(vnode.state or 0) & (pbs.ND_JOB_EXCLUSIVE | pbs.ND_RESV_EXCLUSIVE)
    return Room(
        _read_texts(vnode.resources_available, resources),
        _read_texts(vnode.resources_assigned, resources),
        str(vnode.jobs or ""),
        alone=bool(alone),
    )


def _read_texts(amounts: Any, resources: list[str]) -> dict[str, str]:
    texts = {}
    for resource in resources:
        value = amounts[resource]
        if value is not None:
            texts[resource] = str(value)
    return texts


def _read_placement(pbs: Any, server: Any, job_id: str) -> str:
    """Where a job of a vnode's list is; empty for one that is gone, or suspended and so holds nothing."""
    job = server.job(job_id)
    if job is None or job.job_state == pbs.JOB_STATE_SUSPEND:
        return ""
    return str(job.exec_vnode or "")
