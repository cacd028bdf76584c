"""A job has ended by itself: is that its end, or did it save and make room because it was asked to?

The mark that the pass wrote before it asked decides. Within its time to save, a job that was asked is queued again,
however it ended: its work must not be lost, and one whose work was done finds that out and ends once more. After that
time, or once the request is withdrawn, only the agreed exit status says that work is saved and not done: else a job
that ended well would run again. A job that was not asked has ended, whatever its exit status; where the server cannot
tell, only one that could have been asked may come back. One that was killed, by its owner or at its walltime, is never
brought back, nor one that the server says must not be run twice (``qsub -r n``) or is deleted: a program may end of
that as it pleases.

A job is queued again by a request of the MoM's beside the job's end. To a server that was away the MoM tells
the ends it has as soon as it has said hello, but its requests only when the server has answered (OpenPBS 23.06), and
then such an end is for good. So there is none before the server has the host among those that are there.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, NamedTuple

from hooks.checkpoint.method import CHECKPOINT, SIGNAL, may_be_run_again
from hooks.pbs.client import Connection, IflError
from hooks.pbs.first_host import EXEC_VNODE, find_first_vnode, is_there
from hooks.pbs.job_ids import index_of, parent_of, read_start_s, was_deleted
from hooks.pbs.job_mark import MARK_ATTRIBUTE, MARK_KEY, Mark, read_marks

SLACK_S = 5
"""By how much the clocks of the server, which set the time to save, and of a host, which tells the end, may differ."""
AWAY_S = 120
"""How long after the time to save an end still counts where its MoM was away: that tells it late, and not how."""

_RUN_ATTRIBUTES = ("job_state", "stime", "Rerunable", EXEC_VNODE, MARK_ATTRIBUTE, "comment")
_VNODE_STATE = "vnode_state"
"""Where what the server said of the run has the state of its first vnode."""

_AGAIN_S = 0.5
"""Between two questions to a server that is away."""


class Asked(NamedTuple):
    """What the server knows of the run that ended: when it began, its mark, and whether it may be run twice, which PBS
    does not tell the MoM; whether it has the run's first host among those that are there; and whether somebody had it
    delete the job."""

    start_s: float | None
    mark: Mark
    is_rerunnable: bool = True
    is_host_there: bool = True
    is_deleted: bool = False


class Verdict(NamedTuple):
    """Whether a job is queued again, and why or why not, in words for a log. An end that somebody may wonder about,
    as the job had been asked to save in this run, ``is_told`` in any case."""

    again: bool
    why: str
    is_told: bool = False


def judge_end(
    exit_status: int,
    saved_status: int,
    asked: Asked | None,
    ended_s: float,
    *,
    could_be: bool,
    mom_began_s: float = 0.0,
) -> Verdict:
    """Whether the job that ended at ``ended_s`` is to be queued again. ``saved_status`` is the set exit status;
    ``asked`` None where unknown, and then it has to have been one that ``could_be`` asked. A MoM that began after the
    job was asked does not know how it ended."""
    if not may_be_run_again(exit_status):
        return Verdict(again=False, why="it was killed")
    has_saved = exit_status == saved_status
    if asked is None:
        who = "a job to be asked" if could_be else "no job to be asked"
        return Verdict(could_be and has_saved, f"the server does not say whether it was asked to save, and it is {who}")
    mark = asked.mark
    if mark.how == CHECKPOINT and has_saved and mark.is_of_run(asked.start_s) and may_come_back(asked):
        return Verdict(again=True, why="it was asked to save, and its exit status says that it has")
    if mark.how != SIGNAL:
        return Verdict(again=False, why="nobody asked it to save and end")
    if asked.is_deleted:
        return Verdict(again=False, why="somebody has deleted it")
    if not asked.is_rerunnable:
        return Verdict(again=False, why="it must not be run twice")
    is_told_late = mom_began_s > mark.asked_s - SLACK_S
    in_time = ended_s <= mark.until_s + (AWAY_S if is_told_late else SLACK_S)
    times = f"asked at {mark.asked_s} to save until {mark.until_s}, in a run since {asked.start_s or 0:.0f}"
    if mark.why:
        times += f", and withdrawn then ({mark.why})"
    if not mark.is_of_run(asked.start_s):
        # A server that was away gives its running jobs new start times. The exit status tells then, as long as the
        # mark is young: later, a program that always ends so must not come back for ever.
        is_young = mark.asked_s <= ended_s <= mark.until_s + AWAY_S
        return Verdict(has_saved and is_young, f"it was {times}, so maybe in an earlier one")
    if not has_saved and not in_time:
        times += f"; after that only exit status {saved_status} says that work is saved and not done"
    return Verdict(has_saved or in_time, f"it was {times}", is_told=True)


def find_mom_start(pbs_home: str) -> float:
    """When this host's MoM was started: it writes its lock file then. 0 where that cannot be told."""
    try:
        return (Path(pbs_home) / "mom_priv" / "mom.lock").stat().st_mtime
    except OSError:
        return 0.0


def may_come_back(asked: Asked) -> bool:
    """Whether the server has nothing against another run."""
    return asked.is_rerunnable and not asked.is_deleted


def judge_failed_restart(asked: Asked | None) -> Verdict:
    """Whether a job that PBS could not restart from its checkpoint is to be queued again: where the server does not say
    that it is deleted, as it may have been while PBS tried."""
    if asked is not None and asked.is_deleted:
        return Verdict(again=False, why="somebody has deleted it")
    return Verdict(again=True, why="it could not be started again from its checkpoint")


def judge_patiently(
    ask: Callable[[], Asked | None], judge: Callable[[Asked | None], Verdict], within_s: float
) -> Verdict:
    """The verdict once the server has the host of a job that is to be queued again among those that are there, or once
    ``within_s`` are over; at once of a job that has ended for good."""
    deadline = time.monotonic() + within_s
    while True:
        asked = ask()
        verdict = judge(asked)
        if not verdict.again or (asked is not None and asked.is_host_there):
            return verdict
        if time.monotonic() >= deadline:
            return verdict._replace(why=f"{verdict.why}; its host was not back with the server in {within_s:g} s")
        time.sleep(_AGAIN_S)


def ask_server(pbs_ifl: Any, job_id: str, within_s: float) -> Asked | None:
    """What the server knows of the run; None where it does not say in time. PBS's client cannot be interrupted, so a
    child process asks."""
    texts = _in_child(lambda: _read(pbs_ifl, job_id), within_s)
    if texts is None:
        return None
    mark = read_marks(texts).get(index_of(job_id))
    is_host_there = is_there({"state": texts.get(_VNODE_STATE, "")})
    is_rerunnable = texts.get("Rerunable") != "False"
    return Asked(read_start_s(texts), mark or Mark(), is_rerunnable, is_host_there, was_deleted(texts))


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
    readable, writable = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(writable, json.dumps(question()).encode("ascii"))
        finally:
            os._exit(0)
    os.close(writable)
    said = b""
    deadline = time.monotonic() + within_s
    while select.select([readable], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(readable, 65536)
        if not piece:
            break
        said += piece
    os.close(readable)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    try:
        answer: Mapping[str, str] | None = json.loads(said)
    except ValueError:
        return None
    return answer
