"""What only PBS's scheduler does, also while pbsteer starts the jobs: confirm reservations and start their jobs, and
resume a job that was suspended.

PBS takes ``qsig -s resume`` from nobody but its scheduler at its word: anybody else's only says that the scheduler is
to do it, once the job's vnodes have room for it again. A job that the scheduler itself has suspended waits likewise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from hooks.admission.overcommit import Room, refuse_overcommit, refuse_unavailable
from hooks.pbs.job_ids import is_running, waits_to_resume
from hooks.pbs.resources import DEFAULT_PARTITION
from hooks.pbs.status import Attributes, Picture
from hooks.translate.reservations import read_time_s
from hooks.translate.suspended_jobs import read_released
from hooks.translate.vnodes import takes_jobs

_UNCONFIRMED, _RUNNING, _BEING_ALTERED = "1", "5", "11"
_LOST_VNODES = {"10": "is degraded", "12": "is in conflict"}
"""The substates in which PBS's scheduler looks for other vnodes again, from ``reserve_retry`` on."""

_NONE_LEFT = ("", "-")
_SOON_S = 300.0
"""A reservation that is to be confirmed and starts sooner than that cannot wait."""


class Errand(NamedTuple):
    """What waits for the scheduler that serves ``partition``, or for any where that is None: a ``key``, another one
    when jobs of a reservation have come, started or ended; ``what``, a sentence; whether it can be done now, and
    whether it would soon be too late."""

    key: str
    what: str
    partition: str | None
    ready: bool = True
    is_urgent: bool = False


def find_errands(picture: Picture) -> tuple[Errand, ...]:
    """All that waits for PBS's schedulers."""
    return (*_find_of_reservations(picture), *_find_resumed(picture))


def _find_resumed(picture: Picture) -> Iterator[Errand]:
    """The jobs that are to be resumed, ready where their vnodes have room for them. What runs beside them is not in the
    key: a turn that did not do it would be asked for again with each job that comes or goes."""
    reserved = {texts.get("queue", "") for texts in picture.reservations.values()}
    for job_id, texts in picture.jobs.items():
        if waits_to_resume(texts):
            queue = texts.get("queue", "")
            partition = picture.queues.get(queue, {}).get("partition", "") or DEFAULT_PARTITION
            ready = _has_room(texts, picture, reserved=queue in reserved)
            yield Errand(job_id, f"job {job_id} waits to be resumed", partition, ready)


def _has_room(texts: Attributes, picture: Picture, *, reserved: bool) -> bool:
    """Whether a suspended job's vnodes take jobs and have all that it needs again. Of the vnodes of a ``reserved``
    job's reservation the server says only that all is in use, so that its amounts are left to the scheduler."""
    placement = read_released(texts)
    if placement is None:
        return False
    there = [vnode for vnode in placement.vnodes if vnode in picture.vnodes]
    rooms = {vnode: _read_room(picture.vnodes[vnode], reserved=reserved) for vnode in there}
    if not rooms or len(rooms) < len(placement.vnodes) or refuse_unavailable(rooms) is not None:
        return False
    return reserved or refuse_overcommit(placement, rooms, lambda job_id: _placement_of(job_id, picture)) is None


def _placement_of(job_id: str, picture: Picture) -> str:
    return picture.jobs.get(job_id, {}).get("exec_vnode", "")


def _read_room(vnode: Attributes, *, reserved: bool) -> Room:
    state = vnode.get("state", "")
    return Room(
        _amounts(vnode, "resources_available."),
        _amounts(vnode, "resources_assigned."),
        vnode.get("jobs", ""),
        alone="job-exclusive" in state,
        away="" if takes_jobs(state, reserved) else state,
    )


def _amounts(vnode: Attributes, prefix: str) -> Attributes:
    return {name[len(prefix) :]: text for name, text in vnode.items() if name.startswith(prefix)}


def _find_of_reservations(picture: Picture) -> Iterator[Errand]:
    """A reservation has a partition once the scheduler of one has confirmed it; before, each scheduler may."""
    if not picture.reservations:
        return
    queues = {texts.get("queue", "") for texts in picture.reservations.values()}
    waiting, running = _count_jobs(picture, queues)
    for name, texts in picture.reservations.items():
        state, queue = texts.get("reserve_state", ""), texts.get("queue", "")
        partition = texts.get("partition", "") or None
        jobs = waiting[queue]
        lost = _LOST_VNODES.get(texts.get("reserve_substate", ""), "")
        if state in (_UNCONFIRMED, _BEING_ALTERED):
            start_s = read_time_s(texts.get("reserve_start", ""))
            is_urgent = start_s is not None and start_s < picture.time_s + _SOON_S
            what = "to be confirmed" if state == _UNCONFIRMED else "for its alteration to be confirmed"
            yield Errand(f"{name}: {state}", f"reservation {name} waits {what}", partition, is_urgent=is_urgent)
        elif lost:
            retry_s = read_time_s(texts.get("reserve_retry", ""))
            if retry_s is not None:
                what = f"reservation {name} {lost} and waits for other vnodes"
                yield Errand(f"{name}: at {retry_s:.0f}", what, partition, ready=retry_s <= picture.time_s)
        elif state == _RUNNING and jobs:
            key = f"{name}: {len(jobs)} from {min(jobs)} to {max(jobs)}, {running[queue]} run"
            yield Errand(key, f"jobs of reservation {name} wait to be started ({len(jobs)})", partition)


def _count_jobs(picture: Picture, queues: Collection[str]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Of each of these queues the jobs that wait to be started, and how many run."""
    waiting: dict[str, list[str]] = {queue: [] for queue in queues}
    running = dict.fromkeys(queues, 0)
    for job_id, texts in picture.jobs.items():
        queue, state = texts.get("queue", ""), texts.get("job_state", "")
        if queue not in queues:
            continue
        if state == "Q" or (state == "B" and texts.get("array_indices_remaining", "") not in _NONE_LEFT):
            waiting[queue].append(job_id)
        running[queue] += is_running(texts)
    return waiting, running
