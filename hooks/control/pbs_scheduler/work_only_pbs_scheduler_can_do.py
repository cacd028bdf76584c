"""Pending work that only PBS's scheduler does, also in ``drive``: confirm reservations and start their jobs, and resume
suspended jobs.

PBS executes ``qsig -s resume`` only when its scheduler sends it; from anyone else it is a request to the scheduler,
carried out once the job's vnodes have room again. A job that the scheduler itself has suspended waits likewise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from hooks.admission.start.refuse_overcommitting_start import VnodeUse, refuse_overcommit, refuse_unavailable
from hooks.pbs.custom_resources import DEFAULT_PARTITION
from hooks.pbs.job_attributes.job_ids_and_states import is_running, waits_to_resume
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from hooks.translate.closures.reservations import read_time_s
from hooks.translate.job.reserve_resources_for_suspended_jobs import read_released
from hooks.translate.vnodes import takes_jobs

_UNCONFIRMED, _RUNNING, _BEING_ALTERED = "1", "5", "11"
_LOST_VNODES = {"10": "is degraded", "12": "is in conflict"}
"""The reservation substates in which PBS's scheduler looks for other vnodes, from ``reserve_retry`` on."""

_NONE_LEFT = ("", "-")
_SOON_S = 300.0
"""An unconfirmed reservation that starts sooner than this is urgent, and so are the jobs of one that ends sooner."""
_BEGUN_S = 60.0
"""For so long after its start the jobs of a reservation are urgent: they waited for it, and its vnodes are idle."""


class PendingWork(NamedTuple):
    """Work that waits for the scheduler of ``partition``, or for any scheduler if that is None. ``key`` changes when
    jobs of a reservation come, start or end; ``what`` is a sentence; ``ready``: it can be done now; ``is_urgent``: it
    would soon be too late; ``ends_cycle``: the scheduler looks at no job in the cycle in which it does this."""

    key: str
    what: str
    partition: str | None
    ready: bool = True
    is_urgent: bool = False
    ends_cycle: bool = False


def find_pending_work(server_status: ServerStatus) -> tuple[PendingWork, ...]:
    """All work that waits for PBS's schedulers."""
    return (*_find_of_reservations(server_status), *_find_resumed(server_status))


def _find_resumed(server_status: ServerStatus) -> Iterator[PendingWork]:
    """The jobs to be resumed, ready if their vnodes have room for them. The key does not hold what runs beside them: a
    cycle that did not resume a job would then be repeated with each job that comes or goes."""
    reserved = {texts.get("queue", "") for texts in server_status.reservations.values()}
    for job_id, texts in server_status.jobs.items():
        if waits_to_resume(texts):
            queue = texts.get("queue", "")
            partition = server_status.queues.get(queue, {}).get("partition", "") or DEFAULT_PARTITION
            ready = _has_room(texts, server_status, reserved=queue in reserved)
            yield PendingWork(job_id, f"job {job_id} waits to be resumed", partition, ready)


def _has_room(texts: Attributes, server_status: ServerStatus, *, reserved: bool) -> bool:
    """Whether a suspended job's vnodes take jobs and have all that it needs again. Of a reservation's vnodes the server
    reports only that everything is in use, so the amounts of a ``reserved`` job are left to the scheduler."""
    allocation = read_released(texts)
    if allocation is None:
        return False
    there = [vnode for vnode in allocation.vnodes if vnode in server_status.vnodes]
    vnode_uses = {vnode: _read_room(server_status.vnodes[vnode], reserved=reserved) for vnode in there}
    if not vnode_uses or len(vnode_uses) < len(allocation.vnodes) or refuse_unavailable(vnode_uses) is not None:
        return False
    return (
        reserved
        or refuse_overcommit(allocation, vnode_uses, lambda job_id: _allocation_of(job_id, server_status)) is None
    )


def _allocation_of(job_id: str, server_status: ServerStatus) -> str:
    return server_status.jobs.get(job_id, {}).get("exec_vnode", "")


def _read_room(vnode: Attributes, *, reserved: bool) -> VnodeUse:
    state = vnode.get("state", "")
    return VnodeUse(
        _amounts(vnode, "resources_available."),
        _amounts(vnode, "resources_assigned."),
        vnode.get("jobs", ""),
        alone="job-exclusive" in state,
        away="" if takes_jobs(state, reserved) else state,
    )


def _amounts(vnode: Attributes, prefix: str) -> Attributes:
    return {name[len(prefix) :]: text for name, text in vnode.items() if name.startswith(prefix)}


def _find_of_reservations(server_status: ServerStatus) -> Iterator[PendingWork]:
    """Work on reservations. One gets its partition when a scheduler confirms it; before, any scheduler may."""
    if not server_status.reservations:
        return
    queues = {texts.get("queue", "") for texts in server_status.reservations.values()}
    waiting, running = _count_jobs(server_status, queues)
    for name, texts in server_status.reservations.items():
        state, queue = texts.get("reserve_state", ""), texts.get("queue", "")
        partition = texts.get("partition", "") or None
        jobs = waiting[queue]
        lost = _LOST_VNODES.get(texts.get("reserve_substate", ""), "")
        if state in (_UNCONFIRMED, _BEING_ALTERED):
            start_s = read_time_s(texts.get("reserve_start", ""))
            is_urgent = start_s is not None and start_s < server_status.time_s + _SOON_S
            what = "to be confirmed" if state == _UNCONFIRMED else "for its alteration to be confirmed"
            key = f"{name}: {state}"
            yield PendingWork(key, f"reservation {name} waits {what}", partition, is_urgent=is_urgent, ends_cycle=True)
        elif lost:
            retry_s = read_time_s(texts.get("reserve_retry", ""))
            if retry_s is not None:
                what = f"reservation {name} {lost} and waits for other vnodes"
                is_ready = retry_s <= server_status.time_s
                yield PendingWork(f"{name}: at {retry_s:.0f}", what, partition, ready=is_ready, ends_cycle=True)
        elif state == _RUNNING and jobs:
            key = f"{name}: {len(jobs)} from {min(jobs)} to {max(jobs)}, {running[queue]} run"
            what = f"jobs of reservation {name} wait to be started ({len(jobs)})"
            yield PendingWork(key, what, partition, is_urgent=_has_begun_or_ends_soon(texts, server_status.time_s))


def _has_begun_or_ends_soon(reservation: Attributes, now_s: float) -> bool:
    start_s, end_s = (read_time_s(reservation.get(name, "")) for name in ("reserve_start", "reserve_end"))
    return (start_s is not None and now_s < start_s + _BEGUN_S) or (end_s is not None and end_s < now_s + _SOON_S)


def _count_jobs(server_status: ServerStatus, queues: Collection[str]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """For each of these queues the jobs that wait to be started, and the number that run."""
    waiting: dict[str, list[str]] = {queue: [] for queue in queues}
    running = dict.fromkeys(queues, 0)
    for job_id, texts in server_status.jobs.items():
        queue, state = texts.get("queue", ""), texts.get("job_state", "")
        if queue not in queues:
            continue
        if state == "Q" or (state == "B" and texts.get("array_indices_remaining", "") not in _NONE_LEFT):
            waiting[queue].append(job_id)
        running[queue] += is_running(texts)
    return waiting, running
