"""Victims that are held until their beneficiary runs, and when to let them go again.

A victim's mark says for whom it is held; nobody else's hold is ever touched. Let go is every job of ours whose
beneficiary runs, is gone, cannot start, or is no longer waited for, and every one in a queue that nobody acts for any
more: a job is never left held by us with nobody responsible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from hooks.pbs.client import HOLD
from hooks.pbs.job_ids import index_of, is_running, parent_of, read_indices, read_start_s
from hooks.pbs.job_mark import MARK_KEY, Mark, read_marks
from hooks.pbs.status import Attributes, Picture
from policy.model.ledger import Hold


def find_held(picture: Picture) -> Iterator[tuple[str, Mark]]:
    """The jobs and arrays whose marks say that we hold them, but for those that still have time to save."""
    for job_id, texts in picture.jobs.items():
        if MARK_KEY not in texts:
            continue
        mark = read_marks(texts).get(None)
        if mark is not None and mark.held and not (is_running(texts) and picture.time_s <= mark.until_s):
            yield job_id, mark


def find_to_release(
    picture: Picture, holds: Mapping[str, Hold], queues: Collection[str], wait_s: float
) -> list[tuple[str, str]]:
    """The jobs to let go, each with the reason. ``holds`` are those of the ledger, ``queues`` those we act for.

    A beneficiary that waits without a hold in the ledger (it was given up, or PBS's scheduler is about to start it) is
    waited for until ``wait_s`` after the victim's time to save.
    """
    found = []
    for job_id, mark in find_held(picture):
        why = _why_to_release(picture, picture.jobs[job_id], mark, holds, queues, wait_s)
        if why:
            found.append((job_id, why))
    return found


def _why_to_release(
    picture: Picture, texts: Attributes, mark: Mark, holds: Mapping[str, Hold], queues: Collection[str], wait_s: float
) -> str:
    """Why the job is no longer to be held; empty where it is."""
    if HOLD not in texts.get("Hold_Types", ""):
        return "somebody has released it"
    if is_running(texts) and not mark.is_of_run(read_start_s(texts)):
        return "it runs again"
    if texts.get("queue", "") not in queues:
        return "nobody acts for its queue"
    beneficiary = mark.beneficiary
    if is_running(picture.jobs.get(beneficiary, {})):
        return f"{beneficiary} runs"
    if is_gone(beneficiary, picture):
        return f"{beneficiary} is gone"
    if find_waiting(beneficiary, picture).get("job_state", "") not in ("Q", "B"):
        return f"{beneficiary} cannot start"
    if beneficiary not in holds and not mark.asked_s <= picture.time_s <= mark.until_s + wait_s:
        return f"{beneficiary} did not start"
    return ""


def is_gone(job_id: str, picture: Picture) -> bool:
    """Whether a job or subjob neither waits nor will any more: it has ended, or was deleted."""
    index, waiting = index_of(job_id), find_waiting(job_id, picture)
    return not waiting or (index is not None and index not in _indices_left(waiting))


def find_waiting(job_id: str, picture: Picture) -> Attributes:
    """The attributes of a job, of its array where it is a subjob; none of one that is gone."""
    return picture.jobs.get(job_id if index_of(job_id) is None else parent_of(job_id), {})


def _indices_left(array: Attributes) -> tuple[int, ...]:
    return read_indices(array.get("array_indices_remaining", ""), [])
