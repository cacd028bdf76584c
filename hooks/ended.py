"""A job has ended by itself: is that its end, or did it save and make room because it was asked to?

Asked about is the mark that the pass left before it asked. Within its time to save, whoever was asked is queued again,
however it ended: nothing of its work may be lost, and a job whose work was done by then finds that out and ends once
more. After that time the exit status for it has to say so. A job that nobody asked has ended, whatever its exit status;
where the server cannot tell, only one that could have been asked may come back. One that was killed, by its owner or at
its walltime, is never brought back, nor one of
which the server says that it must not be run twice (``qsub -r n``).
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

from hooks.ifl import Connection, IflError
from hooks.jobs import index_of, parent_of, read_start_s
from hooks.marks import MARK_ATTRIBUTE, Mark, read_marks
from hooks.resources import SAVE
from hooks.saving import SAVING, SIGNAL
from policy.settings import SAVE_METHODS

SLACK_S = 120
"""What clocks may differ, and passes be late, in telling whether the time to save is over."""

FAILED_RESTART = "pbsteer-failed-restart-"
"""In a MoM's ``mom_priv``, with a job's id: that our script could not start it again from what it had saved."""

_BY_SIGNAL = (256, 128)
"""What PBS, and a shell, add to the number of the signal that killed a job."""

_KILLED = frozenset(base + number for base in _BY_SIGNAL for number in (signal.SIGTERM, signal.SIGKILL))
_RUN_ATTRIBUTES = ("job_state", "stime", "Rerunable", MARK_ATTRIBUTE)


class Asked(NamedTuple):
    """What the server knows of the run that ended: when it began, its mark, and whether it may be run twice, which PBS
    does not tell the MoM."""

    start_s: float | None
    mark: Mark
    is_rerunnable: bool = True


def may_be_run_again(exit_status: int) -> bool:
    """Whether a job with this exit status may have ended as it was asked to: not killed, nor ended by PBS itself."""
    return exit_status >= 0 and exit_status not in _KILLED


def could_be_asked(job: Any, method: str) -> bool:
    """Whether an event's job could have been asked to save, as far as its host knows: by its own wish, else by the set
    ``method``. What a queue's ``resources_available`` says is not known there; its ``resources_default`` is on the job.
    """
    try:
        wished = str(job.Resource_List[SAVE] or "")
    except Exception:  # noqa: BLE001 - how PBS says that it does not know a resource differs by version
        wished = ""
    return (wished if wished in SAVE_METHODS else method) in SAVING


def has_failed_restart(pbs_home: str, job_id: str) -> bool:
    """Whether the run was a restart that failed, which PBS would take for a good end. It is forgotten by asking."""
    try:
        (Path(pbs_home) / "mom_priv" / f"{FAILED_RESTART}{job_id}").unlink()
    except OSError:
        return False
    return True


def was_asked_to_end(exit_status: int, saved_status: int, asked: Asked | None, now_s: float, *, could_be: bool) -> bool:
    """Whether the job is to be queued again. ``saved_status`` is the set exit status; ``asked`` None where unknown, and
    then it has to have been one that ``could_be`` asked."""
    if not may_be_run_again(exit_status):
        return False
    if asked is None:
        return could_be and exit_status == saved_status
    if asked.mark.how != SIGNAL or not asked.is_rerunnable:
        return False
    in_time = now_s <= asked.mark.until_s + SLACK_S
    if not asked.mark.is_of_run(asked.start_s):
        # A server that was away gives its running jobs new start times. The exit status tells then, as long as the
        # mark is young: later, a program that always ends so must not come back for ever.
        return exit_status == saved_status and asked.mark.asked_s <= now_s and in_time
    return exit_status == saved_status or in_time


def ask_server(pbs_ifl: Any, job_id: str, within_s: float) -> Asked | None:
    """What the server knows of the run; None where it does not say in time. PBS's client cannot be interrupted, so a
    child process asks."""
    texts = _in_child(lambda: _read(pbs_ifl, job_id), within_s)
    if texts is None:
        return None
    mark = read_marks(texts).get(index_of(job_id))
    return Asked(read_start_s(texts), mark or Mark(), texts.get("Rerunable") != "False")


def _read(pbs_ifl: Any, job_id: str) -> Mapping[str, str] | None:
    try:
        with Connection(pbs_ifl) as connection:
            texts = connection.read_job(job_id, _RUN_ATTRIBUTES)
            if index_of(job_id) is not None:
                array = connection.read_job(parent_of(job_id), (MARK_ATTRIBUTE,))
                texts = {**array, **texts}
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
