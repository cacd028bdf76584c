"""Withdraws requests to save that no job needs any more, so that the job may end for good.

A signal cannot be taken back. Withdrawing ends the job's time to save at once: from then on only the agreed exit status
means that a program has saved its work and is not done.
"""

from __future__ import annotations

from collections.abc import Collection

from hooks.checkpoint.save_method.read_save_method_job_asked_for import SIGNAL
from hooks.checkpoint.victims.held_victims_to_release import find_waiting, is_gone
from hooks.pbs.job_attributes.job_ids_and_states import is_running, read_start_s, subjob_id
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, read_marks, show_marks
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus

GONE, RUNS, CANNOT_START = "beneficiary-gone", "beneficiary-runs", "beneficiary-cannot-start"
GIVEN_UP = "preemption-given-up"
"""The reasons: the beneficiary ended or was deleted; it runs already; it is held or waits for a time; the pass no
longer plans this victim for it."""


def find_withdrawn(
    server_status: ServerStatus, victims: Collection[str], queues: Collection[str]
) -> dict[str, tuple[str, dict[str, str]]]:
    """The new marks of jobs and arrays with a withdrawn request, and the reasons by job and subjob. ``victims`` make
    room by this pass's plan. ``queues`` are those in which the pass preempts; in others only the beneficiary's state
    can withdraw a request."""
    found = {}
    for job_id, texts in server_status.jobs.items():
        if MARK_KEY not in texts:
            continue
        marks = read_marks(texts)
        reasons = {}
        for index, mark in list(marks.items()):
            run = job_id if index is None else subjob_id(job_id, index)
            why = _why_withdrawn(run, server_status.jobs.get(run, {}), mark, server_status, victims, queues)
            if why:
                marks[index] = mark._replace(until_s=int(server_status.time_s), why=why)
                reasons[run] = why
        if reasons:
            found[job_id] = show_marks(marks), reasons
    return found


def _why_withdrawn(
    job_id: str,
    texts: Attributes,
    mark: Mark,
    server_status: ServerStatus,
    victims: Collection[str],
    queues: Collection[str],
) -> str:
    """The reason; empty if the request stands or its time is over."""
    is_asked = mark.how == SIGNAL and mark.asked_s <= server_status.time_s < mark.until_s
    if not is_asked or not mark.beneficiary or not mark.is_of_run(read_start_s(texts)):
        return ""
    if is_running(server_status.jobs.get(mark.beneficiary, {})):
        return RUNS
    if is_gone(mark.beneficiary, server_status):
        return GONE
    if find_waiting(mark.beneficiary, server_status).get("job_state", "") not in ("Q", "B"):
        return CANNOT_START
    return GIVEN_UP if texts.get("queue", "") in queues and job_id not in victims else ""
