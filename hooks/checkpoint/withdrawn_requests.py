"""Requests to save that are withdrawn since no job needs the cores any more: the job's end is then its own again.

The signal cannot be taken back. What ends at once is the job's time to save: from then on only the agreed exit status
says that a program has saved its work and is not done.
"""

from __future__ import annotations

from collections.abc import Collection

from hooks.checkpoint.method import SIGNAL
from hooks.checkpoint.victim_holds import find_waiting, is_gone
from hooks.pbs.job_ids import is_running, read_start_s
from hooks.pbs.job_mark import MARK_KEY, Mark, read_marks, show_marks
from hooks.pbs.status import Attributes, Picture

GONE, RUNS, CANNOT_START = "beneficiary-gone", "beneficiary-runs", "beneficiary-cannot-start"
GIVEN_UP = "preemption-given-up"
"""Why: the beneficiary ended or was deleted, runs already, or is held or waits for a time; or the pass no longer has
the victim make room for it."""


def find_withdrawn(
    picture: Picture, victims: Collection[str], queues: Collection[str]
) -> dict[str, tuple[str, dict[str, str]]]:
    """The new marks of jobs and arrays of which a request is withdrawn, with the reasons by job and subjob. ``victims``
    are to make room by this pass's plan, ``queues`` those in which it preempts: in others nothing is known of a
    preemption but its beneficiary."""
    found = {}
    for job_id, texts in picture.jobs.items():
        if MARK_KEY not in texts:
            continue
        marks = read_marks(texts)
        reasons = {}
        for index, mark in list(marks.items()):
            run = job_id if index is None else job_id.replace("[]", f"[{index}]", 1)
            why = _why_withdrawn(run, picture.jobs.get(run, {}), mark, picture, victims, queues)
            if why:
                marks[index] = mark._replace(until_s=int(picture.time_s), why=why)
                reasons[run] = why
        if reasons:
            found[job_id] = show_marks(marks), reasons
    return found


def _why_withdrawn(
    job_id: str, texts: Attributes, mark: Mark, picture: Picture, victims: Collection[str], queues: Collection[str]
) -> str:
    """The reason; empty where the request stands, or its time is over."""
    is_asked = mark.how == SIGNAL and mark.asked_s <= picture.time_s < mark.until_s
    if not is_asked or not mark.beneficiary or not mark.is_of_run(read_start_s(texts)):
        return ""
    if is_running(picture.jobs.get(mark.beneficiary, {})):
        return RUNS
    if is_gone(mark.beneficiary, picture):
        return GONE
    if find_waiting(mark.beneficiary, picture).get("job_state", "") not in ("Q", "B"):
        return CANNOT_START
    return GIVEN_UP if texts.get("queue", "") in queues and job_id not in victims else ""
