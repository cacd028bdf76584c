"""Victims that are held until their beneficiary runs, and when to release them.

A victim's mark names its beneficiary; other holds are never touched. A victim is released when its beneficiary runs, is
gone, cannot start or is no longer waited for, and when no pass acts for its queue: so no job stays held by us without a
pass that will release it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from hooks.pbs.client.pbs_ifl_client import HOLD
from hooks.pbs.job_attributes.job_comment_format import OWN_COMMENT, make_comment, show_moment
from hooks.pbs.job_attributes.job_ids_and_states import has_index, index_of, is_running, parent_of, read_start_s
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, read_marks
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from policy.model.ledger_between_passes import Earmark
from policy.model.pbs_units import show_job


def find_held(server_status: ServerStatus) -> Iterator[tuple[str, Mark]]:
    """The jobs and arrays whose marks say that we hold them, without those that still have time to save."""
    for job_id, texts in server_status.jobs.items():
        if MARK_KEY not in texts:
            continue
        mark = read_marks(texts).get(None)
        if mark is not None and mark.held and not (is_running(texts) and server_status.time_s <= mark.until_s):
            yield job_id, mark


def find_to_release(
    server_status: ServerStatus, holds: Mapping[str, Earmark], queues: Collection[str], wait_s: float
) -> list[tuple[str, str]]:
    """The jobs to release, each with the reason. ``holds`` are the ledger's earmarks, ``queues`` those that we act for.

    A beneficiary that waits without an earmark (it was given up, or PBS's scheduler is about to start it) is waited for
    until ``wait_s`` after the victim's time to save.
    """
    found = []
    for job_id, mark in find_held(server_status):
        why = _why_to_release(server_status, server_status.jobs[job_id], mark, holds, queues, wait_s)
        if why:
            found.append((job_id, why))
    return found


def find_hold_comments(
    server_status: ServerStatus, left_out: Collection[str], queues: Collection[str], wait_s: float
) -> dict[str, str]:
    """A comment for each held victim in these queues that does not have it yet: for which beneficiary it is held, and
    until when. Not for jobs that run on, nor for those ``left_out``."""
    now_s = server_status.time_s
    comments = {}
    for job_id, mark in find_held(server_status):
        texts = server_status.jobs[job_id]
        if job_id in left_out or is_running(texts) or texts.get("queue", "") not in queues:
            continue
        latest_s = mark.until_s + wait_s
        latest = f", released at the latest {show_moment(latest_s, now_s)}" if latest_s > now_s else ""
        sentence = f"made room for {show_job(mark.beneficiary)}: held until that runs{latest}"
        own = OWN_COMMENT.fullmatch(texts.get("comment", ""))
        if own is None or own.group(2) != sentence:
            comments[job_id] = make_comment(sentence, now_s)
    return comments


def _why_to_release(
    server_status: ServerStatus,
    texts: Attributes,
    mark: Mark,
    holds: Mapping[str, Earmark],
    queues: Collection[str],
    wait_s: float,
) -> str:
    """Why the job is no longer to be held; empty if it is."""
    if HOLD not in texts.get("Hold_Types", ""):
        return "its hold was released by hand"
    if is_running(texts) and not mark.is_of_run(read_start_s(texts)):
        return "it runs again"
    if texts.get("queue", "") not in queues:
        return "pbsteer does not act in its queue"
    beneficiary = mark.beneficiary
    if is_running(server_status.jobs.get(beneficiary, {})):
        return f"{beneficiary} runs"
    if is_gone(beneficiary, server_status):
        return f"{beneficiary} is gone"
    if find_waiting(beneficiary, server_status).get("job_state", "") not in ("Q", "B"):
        return f"{beneficiary} cannot start"
    if beneficiary not in holds and not mark.asked_s <= server_status.time_s <= mark.until_s + wait_s:
        return f"{beneficiary} did not start"
    return ""


def is_gone(job_id: str, server_status: ServerStatus) -> bool:
    """Whether a job has ended or was deleted, or a subjob is no longer among the waiting ones of its array."""
    index, waiting = index_of(job_id), find_waiting(job_id, server_status)
    return not waiting or (index is not None and not has_index(waiting.get("array_indices_remaining", ""), index))


def find_waiting(job_id: str, server_status: ServerStatus) -> Attributes:
    """The attributes of a job, or of its array if it is a subjob; empty if it is gone."""
    return server_status.jobs.get(job_id if index_of(job_id) is None else parent_of(job_id), {})
