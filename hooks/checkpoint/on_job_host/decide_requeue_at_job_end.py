"""Decides at the end of a run whether the job is requeued: did it save on request, or has it ended for good?

The decision uses the mark that the pass writes on a victim before asking it to save.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

from hooks.checkpoint.forked_server_request import read_answer, start_child
from hooks.checkpoint.on_job_host.skip_server_query_at_job_end import may_be_run_again
from hooks.checkpoint.save_method.read_save_method_job_asked_for import CHECKPOINT, SIGNAL
from hooks.pbs.client.pbs_ifl_client import Connection, IflError
from hooks.pbs.first_host_is_up import EXEC_VNODE, find_first_vnode, is_there
from hooks.pbs.job_attributes.job_ids_and_states import index_of, parent_of, read_start_s, was_deleted
from hooks.pbs.job_attributes.victim_mark import MARK_ATTRIBUTE, MARK_KEY, Mark, read_marks

SLACK_S = 5
"""Largest expected difference in seconds between the clock of the server (sets the time to save) and of a host (sets
the end)."""
AWAY_S = 120
"""How long in seconds after the time to save an end still counts if its MoM was away: such a MoM reports the end late,
and not how the job ended."""

_RUN_ATTRIBUTES = ("job_state", "stime", "Rerunable", EXEC_VNODE, MARK_ATTRIBUTE, "comment")
_VNODE_STATE = "vnode_state"
"""The key under which the answer of the server has the state of the run's first vnode."""

_AGAIN_S = 0.5
"""Seconds between two requests to a server that is away."""


class RunOnServer(NamedTuple):
    """What the server knows of the run that ended: its start, its mark, whether the job is rerunnable (PBS does not
    tell the MoM), whether the run's first host is up, and whether the job was deleted."""

    start_s: float | None
    mark: Mark
    is_rerunnable: bool = True
    is_host_there: bool = True
    is_deleted: bool = False


class Verdict(NamedTuple):
    """Whether a job is requeued, and the reason for the log. ``is_logged``: log it in any case, as the job was asked to
    save in this run and a user may wonder about its end."""

    again: bool
    why: str
    is_logged: bool = False


def judge_end(
    exit_status: int,
    saved_status: int,
    run: RunOnServer | None,
    ended_s: float,
    *,
    could_be: bool,
    mom_began_s: float = 0.0,
    host_start_s: float | None = None,
) -> Verdict:
    """Whether the job that ended at ``ended_s`` is to be requeued.

    For a job asked by signal, an end within the time to save is a requeue, whatever the exit status: no work is lost,
    and a job whose work was done finds that out and ends once more. After that time, or once the request is withdrawn,
    only ``saved_status``, the agreed exit status, means "saved and not done"; otherwise a job that ended well would run
    again. For a job asked by checkpoint, always only ``saved_status`` does. A job that was not asked has ended,
    whatever its exit status. Never requeued: a job killed by its owner or at its walltime, and one that the server
    reports as not rerunnable (``qsub -r n``) or deleted.

    ``run`` is None if the server did not answer; then the job is requeued only if it ``could_be`` one that was asked,
    and ended with ``saved_status``. ``mom_began_s``: a MoM started after the request does not know how the job ended.
    ``host_start_s``: the run's start by the host's clock, for a run whose start the server does not know
    (:mod:`hooks.checkpoint.on_job_host.jobs_of_restarted_mom`).
    """
    if not may_be_run_again(exit_status):
        return Verdict(again=False, why="it was killed")
    has_saved = exit_status == saved_status
    if run is None:
        like_it = "jobs like it are asked" if could_be else "jobs like it are not"
        return Verdict(could_be and has_saved, f"the server does not say whether it was asked to save; {like_it}")
    mark, start_s = run.mark, run.start_s
    if start_s is None and host_start_s is not None:
        start_s = host_start_s - SLACK_S
    if mark.how not in (SIGNAL, CHECKPOINT):
        return Verdict(again=False, why="it was not asked to save")
    if run.is_deleted:
        return Verdict(again=False, why="it was deleted")
    if not run.is_rerunnable:
        return Verdict(again=False, why="it must not be run twice")
    if mark.how == CHECKPOINT:
        if not mark.is_of_run(start_s):
            return Verdict(again=False, why="it was asked to save by a checkpoint, but maybe in an earlier run")
        says = "says" if has_saved else "does not say"
        why = f"it was asked to save by a checkpoint, and its exit status {says} that it has"
        return Verdict(has_saved, why, is_logged=True)
    is_unsure = mom_began_s > mark.asked_s - SLACK_S
    in_time = ended_s <= mark.until_s + (AWAY_S if is_unsure else SLACK_S)
    times = f"asked at {mark.asked_s} to save until {mark.until_s}, in a run since {start_s or 0:.0f}"
    if mark.why:
        times += f", and withdrawn then ({mark.why})"
    is_to_come = mark.asked_s > ended_s + SLACK_S
    if is_to_come or not mark.is_of_run(start_s):
        # A server that was away gives its running jobs new start times, and one whose clock was ahead leaves marks of
        # earlier runs that look later than each new run. Then the exit status decides as long as the mark is recent;
        # later it does not, or a program that always ends with this status would be requeued for ever.
        is_young = is_to_come or mark.asked_s <= ended_s <= mark.until_s + AWAY_S
        return Verdict(has_saved and is_young, f"it was {times}, so maybe in an earlier one")
    if not has_saved and not in_time:
        times += f"; after that only exit status {saved_status} says that work is saved and not done"
    return Verdict(has_saved or in_time, f"it was {times}", is_logged=True)


def judge_failed_restart(run: RunOnServer | None) -> Verdict:
    """Whether a job that PBS could not restart from its checkpoint is requeued: yes, unless the server says that it was
    deleted, as may happen while PBS tries."""
    if run is not None and run.is_deleted:
        return Verdict(again=False, why="it was deleted")
    return Verdict(again=True, why="it could not be started again from its checkpoint")


def judge_until_server_back(
    ask: Callable[[], RunOnServer | None], judge: Callable[[RunOnServer | None], Verdict], within_s: float
) -> Verdict:
    """The verdict. One for a requeue is returned only when the server lists the job's host as up, or after ``within_s``
    seconds; one for a final end is returned at once.

    The requeue is a request of the MoM's, sent beside the job's end. A MoM that finds a server again sends it the ends
    of jobs right after its hello, but its requests only after the server has answered (OpenPBS 23.06), which makes such
    an end final.
    """
    deadline = time.monotonic() + within_s
    while True:
        run = ask()
        verdict = judge(run)
        if not verdict.again or (run is not None and run.is_host_there):
            return verdict
        if time.monotonic() >= deadline:
            return verdict._replace(why=f"{verdict.why}; its host was not back with the server in {within_s:g} s")
        time.sleep(_AGAIN_S)


def ask_server(pbs_ifl: Any, job_id: str, within_s: float) -> RunOnServer | None:
    """What the server knows of the run; None if it does not answer within ``within_s`` seconds. PBS's client cannot be
    interrupted, so a child process makes the request."""
    texts = _in_child(lambda: _read(pbs_ifl, job_id), within_s)
    if texts is None:
        return None
    mark = read_marks(texts).get(index_of(job_id))
    is_host_there = is_there({"state": texts.get(_VNODE_STATE, "")})
    is_rerunnable = texts.get("Rerunable") == "True"
    return RunOnServer(read_start_s(texts), mark or Mark(), is_rerunnable, is_host_there, was_deleted(texts))


def _read(pbs_ifl: Any, job_id: str) -> Mapping[str, str] | None:
    try:
        with Connection(pbs_ifl) as connection:
            texts = connection.read_job(job_id, _RUN_ATTRIBUTES)
            if index_of(job_id) is not None:
                array = connection.read_job(parent_of(job_id), (MARK_ATTRIBUTE,))
                texts = {**array, **texts}
            vnode = find_first_vnode(texts) if MARK_KEY in texts else ""
            if vnode:
                texts[_VNODE_STATE] = connection.read_vnode(vnode, ("state",)).get("state", "")
    except IflError:
        return None
    return texts


def _in_child(question: Callable[[], Mapping[str, str] | None], within_s: float) -> Mapping[str, str] | None:
    child = start_child(lambda: json.dumps(question()).encode("ascii"))
    try:
        answer: Mapping[str, str] | None = json.loads(read_answer(child, within_s))
    except ValueError:
        return None
    return answer
