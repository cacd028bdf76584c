"""Operations on jobs: hold, release, delete, requeue, move, set the job's own priority.

A job array is one job; single subjobs get only the operations that a manager allows on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from hooks.pbs.job_attributes.job_ids_and_states import is_array, is_subjob, parent_of
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.pbs_units import show_job
from tui.backends.interface.commands_interface import SYSTEM_HOLD, Change, ChangeError, Commands
from tui.model.job_state_and_exit_status_words import STATE_WORDS
from tui.model.typed_attributes import RUNNING_STATES
from tui.operations.by_target.dependent_jobs import dependent_lines, find_awaited, find_dependents
from tui.operations.by_target.look_up_named_job import job_on_server, whole_job
from tui.operations.operation_type_and_preview import Operation, changes_to, name_targets
from tui.operations.status_edits_for_preview import edit_jobs, requeued, without_jobs
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import safe

_PRIORITIES = range(-1024, 1024)


def hold(cluster: ClusterView, commands: Commands, ids: Sequence[str]) -> Operation:
    """Hold waiting jobs with an operator's hold, which their owners cannot release."""

    def change(job: str) -> Change:
        texts = whole_job(cluster, job, "hold")
        state = texts.get("job_state", "")
        if state in RUNNING_STATES:
            instead = "requeue it first, or hold it by PBS's own checkpoint"
            raise ChangeError(f"hold: {show_job(job)} is {STATE_WORDS[state]}; {instead}")
        if "o" in texts.get("Hold_Types", "n"):
            raise ChangeError(f"hold: {show_job(job)} is held by an operator already")
        return commands.hold(job, texts).titled(f"hold {show_job(job)}")

    changes, left_out = changes_to("hold", "job", ids, change)
    edit = partial(edit_jobs, ids=_names(changes), texts={"job_state": "H", "Hold_Types": "o"})
    return Operation(f"hold {name_targets(changes, 'job')}", changes, edit, left_out=left_out)


def release(cluster: ClusterView, commands: Commands, ids: Sequence[str]) -> Operation:
    """Release all holds of jobs, but that by which a job waits for others."""
    awaited: dict[str, str] = {}

    def change(job: str) -> Change:
        texts = whole_job(cluster, job, "release")
        holds = texts.get("Hold_Types", "n")
        if holds == "n":
            raise ChangeError(f"release: {show_job(job)} is not held")
        waits_for = find_awaited(cluster, texts) if SYSTEM_HOLD in holds else ""
        if waits_for and holds == SYSTEM_HOLD:
            raise ChangeError(f"release: {show_job(job)} waits for another job ({waits_for}); nobody holds it")
        if waits_for:
            awaited[job] = waits_for
        return commands.release(job, texts, but=SYSTEM_HOLD if waits_for else "").titled(f"release {show_job(job)}")

    changes, left_out = changes_to("release", "job", ids, change)
    return Operation(
        f"release {name_targets(changes, 'job')}",
        changes,
        partial(_released, changes=changes),
        left_out=left_out,
        notes=tuple(
            ((safe(f"{show_job(job)} stays held: it waits for another job ({waits_for})"), "warn"),)
            for job, waits_for in awaited.items()
        ),
    )


def _released(server_status: ServerStatus, changes: Sequence[Change]) -> ServerStatus:
    """The server status with the holds that are left; a job without any waits for its turn."""
    for change in changes:
        texts = {"Hold_Types": change.after or "n", **({"job_state": "Q"} if change.after == "n" else {})}
        server_status = edit_jobs(server_status, [change.target.name], texts)
    return server_status


def delete(cluster: ClusterView, commands: Commands, ids: Sequence[str]) -> Operation:
    """Delete jobs; this cannot be undone. Those that depend on a deleted run may be deleted with it."""

    def change(job: str) -> Change:
        return commands.delete(job, job_on_server(cluster, job, "delete")).titled(f"delete {show_job(job)}")

    changes, left_out = changes_to("delete", "job", ids, change)
    dependents = find_dependents(cluster, _names(changes), waiting_tell=commands.waiting_jobs_tell_dependents)
    ended = (*_names(changes), *dependents.deleted)
    return Operation(
        f"delete {name_targets(changes, 'job')}",
        changes,
        partial(without_jobs, ids=ended),
        ends_work=True,
        ended=ended,
        left_out=left_out,
        notes=tuple(dependent_lines(dependents)),
    )


def requeue(cluster: ClusterView, commands: Commands, ids: Sequence[str]) -> Operation:
    """Requeue running jobs; work that they have not saved is run again. An array stands for its running subjobs."""
    changes, left_out = changes_to("requeue", "job", _runs_of(cluster, ids), partial(requeue_change, cluster, commands))
    edit = partial(requeued, ids=_names(changes))
    return Operation(f"requeue {name_targets(changes, 'job')}", changes, edit, ends_work=True, left_out=left_out)


def requeue_change(cluster: ClusterView, commands: Commands, job: str) -> Change:
    """The change that requeues one run. Raises :class:`ChangeError` if it does not run or is not rerunnable."""
    texts = job_on_server(cluster, job, "requeue")
    if texts.get("job_state") != "R":
        raise ChangeError(f"requeue: {show_job(job)} is not running")
    if texts.get("Rerunable", "True") != "True":
        raise ChangeError(f"requeue: {show_job(job)} is not rerunnable: its owner submitted it so (Rerunable = False)")
    return commands.requeue(job, texts).titled(f"requeue {show_job(job)}")


def move(cluster: ClusterView, commands: Commands, ids: Sequence[str], queue: str) -> Operation:
    """Move waiting jobs to another queue, where they count as the last to arrive."""
    if queue not in cluster.server_status.queues:
        raise ChangeError(f"move: no queue {queue!r}; the server has {', '.join(sorted(cluster.server_status.queues))}")

    def change(job: str) -> Change:
        texts = whole_job(cluster, job, "move")
        if texts.get("job_state") in ("R", "E", "B"):
            raise ChangeError(f"move: {show_job(job)} is running")
        if texts.get("queue", "") == queue:
            raise ChangeError(f"move: {show_job(job)} is in {queue} already")
        return commands.move(job, texts, queue).titled(f"move {show_job(job)} to {queue}")

    changes, left_out = changes_to("move", "job", ids, change)
    texts = {"queue": queue, "qtime": str(int(cluster.now_s))}
    edit = partial(edit_jobs, ids=_names(changes), texts=texts)
    return Operation(f"move {name_targets(changes, 'job')} to {queue}", changes, edit, left_out=left_out)


def set_job_priority(cluster: ClusterView, commands: Commands, ids: Sequence[str], text: str) -> Operation:
    """Set the jobs' own priority, from -1024 to 1023."""
    number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,4}", text) else None
    if number is None or number not in _PRIORITIES:
        raise ChangeError(f"priority {text!r}: allowed is a whole number from -1024 to 1023")

    def change(job: str) -> Change:
        found = commands.set_job_priority(job, whole_job(cluster, job, "priority"), number)
        if found.before == found.after:
            raise ChangeError(f"priority: {show_job(job)} has {found.before} already")
        return found.titled(f"priority of {show_job(job)} {found.before} → {number}")

    changes, left_out = changes_to("priority", "job", ids, change)
    edit = partial(edit_jobs, ids=_names(changes), texts={"Priority": str(number)})
    return Operation(f"priority {number} for {name_targets(changes, 'job')}", changes, edit, left_out=left_out)


def _runs_of(cluster: ClusterView, ids: Sequence[str]) -> list[str]:
    """The ids, with each array replaced by its running subjobs."""
    arrays = {job for job in ids if is_array(job)}
    runs: dict[str, list[str]] = {}
    if arrays:
        for job, texts in cluster.server_status.jobs.items():
            if is_subjob(job) and texts.get("job_state") == "R" and parent_of(job) in arrays:
                runs.setdefault(parent_of(job), []).append(job)
    return [each for job in ids for each in runs.get(job, [job])]


def _names(changes: Sequence[Change]) -> list[str]:
    return [change.target.name for change in changes]
