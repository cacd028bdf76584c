"""What only PBS's scheduler does, also while pbsteer starts the jobs: confirm reservations and start their jobs, and
resume a job that was suspended.

PBS takes ``qsig -s resume`` from nobody but its scheduler at its word: anybody else's only says that the scheduler is
to do it, once the job's vnodes have room for it again.
"""

from __future__ import annotations

from collections.abc import Iterator

from hooks.jobs import is_running, waits_to_resume
from hooks.picture import Attributes, Picture
from policy.placement import PlacementError, parse_exec_vnode
from policy.units import parse_amount

_UNCONFIRMED, _RUNNING = "1", "5"
_NONE_LEFT = ("", "-")


def find_errands(picture: Picture) -> dict[str, str]:
    """What waits for PBS's scheduler: a key, another one when jobs have come, started or ended, and a sentence."""
    return {**_find_of_reservations(picture), **dict(_find_resumed(picture))}


def _find_resumed(picture: Picture) -> Iterator[tuple[str, str]]:
    """The jobs that are to be resumed and can be, as their vnodes have the cores. A turn that did not do it is not
    asked for again before as many are idle as were not then."""
    for job_id, texts in picture.jobs.items():
        if waits_to_resume(texts):
            idle = _count_spare(texts, picture)
            if idle is not None and idle >= 0:
                yield f"{job_id}: {idle} beside it", f"job {job_id} waits to be resumed"


def _count_spare(texts: Attributes, picture: Picture) -> int | None:
    """How many cores are idle beyond those that the job needs, on that of its vnodes with the fewest; None where it
    cannot be read where it is."""
    try:
        placement = parse_exec_vnode(texts.get("exec_vnode", ""))
    except PlacementError:
        return None
    needs: dict[str, int] = {}
    for vnode, amounts, chunks, _ in placement.spots:
        needs[vnode] = needs.get(vnode, 0) + dict(amounts).get("ncpus", 0) * chunks
    return min((_count_idle(picture.vnodes.get(vnode, {})) - need for vnode, need in needs.items()), default=None)


def _count_idle(vnode: Attributes) -> int:
    has, used = (parse_amount(vnode.get(f"resources_{kind}.ncpus", "0")) or 0 for kind in ("available", "assigned"))
    return has - used


def _find_of_reservations(picture: Picture) -> dict[str, str]:
    if not picture.reservations:
        return {}
    queues = {texts.get("queue", "") for texts in picture.reservations.values()}
    waiting: dict[str, list[str]] = {queue: [] for queue in queues}
    running = dict.fromkeys(queues, 0)
    for job_id, texts in picture.jobs.items():
        queue, state = texts.get("queue", ""), texts.get("job_state", "")
        if queue not in queues:
            continue
        if state == "Q" or (state == "B" and texts.get("array_indices_remaining", "") not in _NONE_LEFT):
            waiting[queue].append(job_id)
        running[queue] += is_running(texts)
    errands = {}
    for name, texts in picture.reservations.items():
        state, queue = texts.get("reserve_state", ""), texts.get("queue", "")
        jobs = waiting[queue]
        if state == _UNCONFIRMED:
            errands[name] = f"reservation {name} waits to be confirmed"
        elif state == _RUNNING and jobs:
            key = f"{name}: {len(jobs)} from {min(jobs)} to {max(jobs)}, {running[queue]} run"
            errands[key] = f"jobs of reservation {name} wait to be started ({len(jobs)})"
    return errands
