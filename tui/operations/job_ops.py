"""Operations on jobs: hold, release, delete, requeue, move, set the PBS priority.

Each uses PBS's own program, so that PBS checks whether this user may. A job array is one job; single subjobs get only
the operations that PBS allows on them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from tui.model.typed_attributes import array_of, is_array, is_subjob, short_id
from tui.operations.change import Change, ChangeError
from tui.operations.operation import Operation, changes_to, told_of
from tui.operations.readback import JobState, Plain, Target
from tui.operations.status_edits import edit_jobs, requeued, without_jobs
from tui.state.cluster_view import ClusterView

_HOLD_LETTERS = "uosp"
_PRIORITIES = range(-1024, 1024)
_HOLDS = Plain("Hold_Types", "n")


def hold(cluster: ClusterView, ids: Sequence[str]) -> Operation:
    """Hold waiting jobs with an operator's hold, which their owners cannot release."""

    def change(job: str) -> Change:
        texts = _whole_job(cluster, job, "hold")
        if texts.get("job_state") in ("R", "E"):
            raise ChangeError(f"hold: {short_id(job)} is running; requeue it first, or hold it by PBS's own checkpoint")
        holds = texts.get("Hold_Types", "n")
        if "o" in holds:
            raise ChangeError(f"hold: {short_id(job)} is held by an operator already")
        after = "".join(letter for letter in _HOLD_LETTERS if letter in holds or letter == "o")
        argv, back = ("qhold", "-h", "o", job), ("qrls", "-h", "o", job)
        return Change(Target("job", job), f"hold {short_id(job)}", argv, _HOLDS, holds, after, back)

    changes, left_out = changes_to("hold", "job", ids, change)
    edit = partial(edit_jobs, ids=_names(changes), texts={"job_state": "H", "Hold_Types": "o"})
    return Operation(f"hold {told_of(changes, 'job')}", changes, edit, left_out=left_out)


def release(cluster: ClusterView, ids: Sequence[str]) -> Operation:
    """Release all holds of jobs."""

    def change(job: str) -> Change:
        holds = _whole_job(cluster, job, "release").get("Hold_Types", "n")
        if holds == "n":
            raise ChangeError(f"release: {short_id(job)} is not held")
        argv, back = ("qrls", "-h", holds, job), ("qhold", "-h", holds, job)
        return Change(Target("job", job), f"release {short_id(job)}", argv, _HOLDS, holds, "n", back)

    changes, left_out = changes_to("release", "job", ids, change)
    edit = partial(edit_jobs, ids=_names(changes), texts={"job_state": "Q", "Hold_Types": "n"})
    return Operation(f"release {told_of(changes, 'job')}", changes, edit, left_out=left_out)


def delete(cluster: ClusterView, ids: Sequence[str]) -> Operation:
    """Delete jobs; this cannot be undone."""
    readback = JobState()

    def change(job: str) -> Change:
        before = readback.of(_job(cluster, job, "delete"))
        return Change(
            Target("job", job), f"delete {short_id(job)}", ("qdel", job), readback, before, "gone", lasting=True
        )

    changes, left_out = changes_to("delete", "job", ids, change)
    edit = partial(without_jobs, ids=_names(changes))
    return Operation(f"delete {told_of(changes, 'job')}", changes, edit, ends_work=True, left_out=left_out)


def requeue(cluster: ClusterView, ids: Sequence[str]) -> Operation:
    """Requeue running jobs; work that they have not saved is run again. An array stands for its running subjobs."""
    changes, left_out = changes_to("requeue", "job", _runs_of(cluster, ids), partial(requeue_change, cluster))
    edit = partial(requeued, ids=_names(changes))
    return Operation(f"requeue {told_of(changes, 'job')}", changes, edit, ends_work=True, left_out=left_out)


def requeue_change(cluster: ClusterView, job: str) -> Change:
    """The change that requeues one run. Raises :class:`ChangeError` if it does not run or is not rerunable."""
    readback = JobState()
    texts = _job(cluster, job, "requeue")
    if texts.get("job_state") != "R":
        raise ChangeError(f"requeue: {short_id(job)} is not running")
    if texts.get("Rerunable", "True") != "True":
        raise ChangeError(f"requeue: {short_id(job)} was submitted as not rerunable (qsub -r n)")
    return Change(Target("job", job), f"requeue {short_id(job)}", ("qrerun", job), readback, readback.of(texts), None)


def move(cluster: ClusterView, ids: Sequence[str], queue: str) -> Operation:
    """Move waiting jobs to another queue, where they count as the last to arrive."""
    if queue not in cluster.server_status.queues:
        raise ChangeError(f"move: no queue {queue!r}; the server has {', '.join(sorted(cluster.server_status.queues))}")

    def change(job: str) -> Change:
        texts = _whole_job(cluster, job, "move")
        now = texts.get("queue", "")
        if texts.get("job_state") in ("R", "E", "B"):
            raise ChangeError(f"move: {short_id(job)} is running")
        if now == queue:
            raise ChangeError(f"move: {short_id(job)} is in {queue} already")
        argv, back = ("qmove", queue, job), ("qmove", now, job)
        return Change(Target("job", job), f"move {short_id(job)} to {queue}", argv, Plain("queue"), now, queue, back)

    changes, left_out = changes_to("move", "job", ids, change)
    texts = {"queue": queue, "qtime": str(int(cluster.now_s))}
    edit = partial(edit_jobs, ids=_names(changes), texts=texts)
    return Operation(f"move {told_of(changes, 'job')} to {queue}", changes, edit, left_out=left_out)


def set_job_priority(cluster: ClusterView, ids: Sequence[str], text: str) -> Operation:
    """Set the PBS priority of jobs, from -1024 to 1023."""
    number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,4}", text) else None
    if number not in _PRIORITIES:
        raise ChangeError(f"priority {text!r}: allowed is a whole number from -1024 to 1023")

    def change(job: str) -> Change:
        now = _whole_job(cluster, job, "priority").get("Priority", "0")
        if now == str(number):
            raise ChangeError(f"priority: {short_id(job)} has {now} already")
        argv, back = ("qalter", "-p", str(number), job), ("qalter", "-p", now, job)
        title = f"priority of {short_id(job)} {now} → {number}"
        return Change(Target("job", job), title, argv, Plain("Priority", "0"), now, str(number), back)

    changes, left_out = changes_to("priority", "job", ids, change)
    edit = partial(edit_jobs, ids=_names(changes), texts={"Priority": str(number)})
    return Operation(f"priority {number} for {told_of(changes, 'job')}", changes, edit, left_out=left_out)


def _job(cluster: ClusterView, job: str, verb: str) -> Mapping[str, str]:
    texts = cluster.server_status.jobs.get(job)
    if texts is None:
        raise ChangeError(f"{verb}: job {job!r} is not on the server")
    return texts


def _whole_job(cluster: ClusterView, job: str, verb: str) -> Mapping[str, str]:
    texts = _job(cluster, job, verb)
    if is_subjob(job):
        raise ChangeError(f"{verb}: {short_id(job)} is one of an array; PBS does this to whole arrays only")
    return texts


def _runs_of(cluster: ClusterView, ids: Sequence[str]) -> list[str]:
    """The ids, with each array replaced by its running subjobs."""
    arrays = {job for job in ids if is_array(job)}
    runs: dict[str, list[str]] = {}
    if arrays:
        for job, texts in cluster.server_status.jobs.items():
            if is_subjob(job) and texts.get("job_state") == "R" and array_of(job) in arrays:
                runs.setdefault(array_of(job), []).append(job)
    return [each for job in ids for each in runs.get(job, [job])]


def _names(changes: Sequence[Change]) -> list[str]:
    return [change.target.name for change in changes]
