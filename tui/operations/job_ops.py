"""What can be done to jobs: hold, release, delete, requeue, move, another PBS priority.

Each by PBS's own program, so that PBS decides whether this user may. An array is one job; of single subjobs only those
things are done that PBS does to them too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from tui.model.typed_attributes import array_of, is_array, is_subjob, short_id
from tui.operations.change import Change, ChangeError
from tui.operations.operation import Deed, changes_to, told_of
from tui.operations.readback import JobState, Plain, Target
from tui.operations.status_edits import edit_jobs, requeued, without_jobs
from tui.state.cluster_view import World

_HOLD_LETTERS = "uosp"
_PRIORITIES = range(-1024, 1024)
_HOLDS = Plain("Hold_Types", "n")


def hold(world: World, ids: Sequence[str]) -> Deed:
    """Hold jobs that wait, with an operator's hold, which their owners cannot release."""

    def change(job: str) -> Change:
        texts = _whole_job(world, job, "hold")
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
    return Deed(f"hold {told_of(changes, 'job')}", changes, edit, left_out=left_out)


def release(world: World, ids: Sequence[str]) -> Deed:
    """Take all holds off jobs."""

    def change(job: str) -> Change:
        holds = _whole_job(world, job, "release").get("Hold_Types", "n")
        if holds == "n":
            raise ChangeError(f"release: {short_id(job)} is not held")
        argv, back = ("qrls", "-h", holds, job), ("qhold", "-h", holds, job)
        return Change(Target("job", job), f"release {short_id(job)}", argv, _HOLDS, holds, "n", back)

    changes, left_out = changes_to("release", "job", ids, change)
    edit = partial(edit_jobs, ids=_names(changes), texts={"job_state": "Q", "Hold_Types": "n"})
    return Deed(f"release {told_of(changes, 'job')}", changes, edit, left_out=left_out)


def delete(world: World, ids: Sequence[str]) -> Deed:
    """Delete jobs; nothing brings them back."""
    facet = JobState()

    def change(job: str) -> Change:
        before = facet.of(_job(world, job, "delete"))
        return Change(Target("job", job), f"delete {short_id(job)}", ("qdel", job), facet, before, "gone", lasting=True)

    changes, left_out = changes_to("delete", "job", ids, change)
    edit = partial(without_jobs, ids=_names(changes))
    return Deed(f"delete {told_of(changes, 'job')}", changes, edit, ends_work=True, left_out=left_out)


def requeue(world: World, ids: Sequence[str]) -> Deed:
    """End runs and queue their jobs again; what they had not saved is run again. An array stands for its runs."""
    changes, left_out = changes_to("requeue", "job", _runs_of(world, ids), partial(requeue_change, world))
    edit = partial(requeued, ids=_names(changes))
    return Deed(f"requeue {told_of(changes, 'job')}", changes, edit, ends_work=True, left_out=left_out)


def requeue_change(world: World, job: str) -> Change:
    """The change that requeues one run. Raises :class:`ChangeError` where it is not running, or must not run again."""
    facet = JobState()
    texts = _job(world, job, "requeue")
    if texts.get("job_state") != "R":
        raise ChangeError(f"requeue: {short_id(job)} is not running")
    if texts.get("Rerunable", "True") != "True":
        raise ChangeError(f"requeue: {short_id(job)} was submitted as not rerunable (qsub -r n)")
    return Change(Target("job", job), f"requeue {short_id(job)}", ("qrerun", job), facet, facet.of(texts), None)


def move(world: World, ids: Sequence[str], queue: str) -> Deed:
    """Move waiting jobs to another queue, where they are the youngest."""
    if queue not in world.picture.queues:
        raise ChangeError(f"move: no queue {queue!r}; the server has {', '.join(sorted(world.picture.queues))}")

    def change(job: str) -> Change:
        texts = _whole_job(world, job, "move")
        now = texts.get("queue", "")
        if texts.get("job_state") in ("R", "E", "B"):
            raise ChangeError(f"move: {short_id(job)} is running")
        if now == queue:
            raise ChangeError(f"move: {short_id(job)} is in {queue} already")
        argv, back = ("qmove", queue, job), ("qmove", now, job)
        return Change(Target("job", job), f"move {short_id(job)} to {queue}", argv, Plain("queue"), now, queue, back)

    changes, left_out = changes_to("move", "job", ids, change)
    texts = {"queue": queue, "qtime": str(int(world.now_s))}
    edit = partial(edit_jobs, ids=_names(changes), texts=texts)
    return Deed(f"move {told_of(changes, 'job')} to {queue}", changes, edit, left_out=left_out)


def set_job_priority(world: World, ids: Sequence[str], text: str) -> Deed:
    """Give jobs another PBS priority, from -1024 to 1023."""
    number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,4}", text) else None
    if number not in _PRIORITIES:
        raise ChangeError(f"priority {text!r}: allowed is a whole number from -1024 to 1023")

    def change(job: str) -> Change:
        now = _whole_job(world, job, "priority").get("Priority", "0")
        if now == str(number):
            raise ChangeError(f"priority: {short_id(job)} has {now} already")
        argv, back = ("qalter", "-p", str(number), job), ("qalter", "-p", now, job)
        title = f"priority of {short_id(job)} {now} → {number}"
        return Change(Target("job", job), title, argv, Plain("Priority", "0"), now, str(number), back)

    changes, left_out = changes_to("priority", "job", ids, change)
    edit = partial(edit_jobs, ids=_names(changes), texts={"Priority": str(number)})
    return Deed(f"priority {number} for {told_of(changes, 'job')}", changes, edit, left_out=left_out)


def _job(world: World, job: str, verb: str) -> Mapping[str, str]:
    texts = world.picture.jobs.get(job)
    if texts is None:
        raise ChangeError(f"{verb}: job {job!r} is not on the server")
    return texts


def _whole_job(world: World, job: str, verb: str) -> Mapping[str, str]:
    texts = _job(world, job, verb)
    if is_subjob(job):
        raise ChangeError(f"{verb}: {short_id(job)} is one of an array; PBS does this to whole arrays only")
    return texts


def _runs_of(world: World, ids: Sequence[str]) -> list[str]:
    """The ids, an array's replaced by those of its subjobs that run."""
    arrays = {job for job in ids if is_array(job)}
    runs: dict[str, list[str]] = {}
    if arrays:
        for job, texts in world.picture.jobs.items():
            if is_subjob(job) and texts.get("job_state") == "R" and array_of(job) in arrays:
                runs.setdefault(array_of(job), []).append(job)
    return [each for job in ids for each in runs.get(job, [job])]


def _names(changes: Sequence[Change]) -> list[str]:
    return [change.target.name for change in changes]
