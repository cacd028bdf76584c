"""Runs jobs at their source, in the folder of submission; nothing is copied.

The record says Submitted before the job is submitted. After a crash, or a submission without a reply, the job is
therefore looked for by its name and by the exit status that it leaves, and submitted only if there is neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from migration.passes.source.source_context import NotPrepared, Source
from migration.passes.source.stop_request_state import stops_of_pass
from migration.schedulers.end_at_limit import find_end
from migration.schedulers.scheduler_interface import (
    ENDED,
    RUNNING,
    JobState,
    SchedulerSilent,
    SubmitRefused,
    SubmitUnclear,
)
from migration.spool.queue_file import Queue
from migration.target_job.read_exit_status import UnreadableError
from migration.target_job.skip_users_with_hung_disks import HungError
from policy.migration.job_record_and_copy_updates import Record, advance, amend
from policy.migration.job_states_and_transitions import SUBMITTED
from policy.migration.place_on_first_free_cluster import Accepted, Declined
from policy.migration.wait_and_retry_bounds import MOST_UNCLEAR, VANISHED_AFTER_S

_MOST_REASON = 300


class Earlier(NamedTuple):
    """A local job that was submitted before, though its id was never noted: its id, or the exit status that it has left
    where the scheduler has forgotten it."""

    local_id: str
    status: str


def start_here(source: Source, record: Record) -> Accepted | Declined:
    """Submit the request to this cluster's scheduler. It is in ``sent.q`` afterwards unless that has refused it."""
    this = source.this
    if this in record.avoid:
        return Declined("refused this job before", others=False)
    submitted = advance(
        record, "start-here", source.clock(), dst=this, dstdir=record.dir, account=record.user, localid="", reason=""
    )
    with source.spool.change() as change:
        change.move(Queue.REQUEST, Queue.SENT, submitted)
    return submit_here(source, submitted)


def submit_here(source: Source, record: Record) -> Accepted | Declined:
    """Submit a record that is written as Submitted and has no local id."""
    try:
        local_id = submit_once(source, record, record.local_name)
    except (SchedulerSilent, HungError) as silence:
        _note_silence(source, record, silence)
        return Accepted()
    except SubmitRefused as refused:
        changes = refusal_here(source, record, refused)
        source.give_back(
            advance(record, "given-back", source.clock(), dst="", dstdir="", account="", localid="", tries=0, **changes)
        )
        return Declined(str(refused), others=False, of_user=not refused.lasting)
    source.keep(amend(record, localid=local_id, reason="", tries=0))
    source.say(f"{record.gid}: runs here as {local_id}")
    return Accepted()


def _note_silence(source: Source, record: Record, silence: SchedulerSilent | HungError) -> None:
    """Count a submission that had no answer: from the first one on, no cores are promised to the job."""
    source.say(f"{record.gid}: is not known to be submitted here, {silence}")
    source.keep(amend(record, reason=f"{source.this}: tried again: {silence}"[:_MOST_REASON], tries=record.tries + 1))


def find_earlier(source: Source, record: Record, name: str) -> Earlier | None:
    """The local job of this name, also one that has run and ended. Raises SchedulerSilent, HungError,
    UnreadableError."""
    scheduler, user = source.scheduler, record.user
    local_id = scheduler.find_by_name(name, user) or scheduler.find_ended_run(name, user) or ""
    status = "" if local_id else source.folders.read_exit(record)
    return Earlier(local_id, status) if local_id or status else None


def submit_once(source: Source, record: Record, name: str) -> str:
    """The id of the local job of this name, submitted unless it is there. Raises SubmitRefused, SchedulerSilent,
    HungError.

    Before a refusal counts, the job is looked for once more: what submits it is run as the user.
    """
    found = source.scheduler.find_by_name(name, record.user)
    if found:
        return found
    try:
        job = source.folders.prepare(record, name)
    except NotPrepared as problem:
        raise SubmitRefused(str(problem), lasting=True) from problem
    except HungError as problem:
        raise SubmitRefused(str(problem), lasting=False) from problem
    try:
        return source.scheduler.submit(job)
    except SubmitUnclear as unclear:
        # Not by the record's tries: a pass in which the scheduler was silent has submitted nothing.
        counted = source.notes.unclear.pop(record.gid, 0) + 1
        if counted < MOST_UNCLEAR:
            source.notes.unclear[record.gid] = counted
            raise
        refused = SubmitRefused(f"{unclear}, {MOST_UNCLEAR} times or more", lasting=True)
    except SubmitRefused as known:
        refused = known
    earlier = find_earlier(source, record, name)
    if earlier is None:
        raise refused
    if not earlier.local_id:
        raise SchedulerSilent(f"{refused}; yet a job of this name has run")
    return earlier.local_id


def refusal_here(source: Source, record: Record, refused: SubmitRefused) -> dict[str, Any]:
    """The changes to the record of a job that this cluster's scheduler has refused."""
    this = source.this
    changes: dict[str, Any] = {"reason": f"{this}: {refused}"}
    if refused.lasting:
        source.notes.refusals.setdefault(record.gid, {})[this] = str(refused)
        changes["avoid"] = (*record.avoid, this)
    return changes


def watch(source: Source) -> None:
    """Follow the jobs that run here, stop those that are to stop, and submit those that a crash left unsubmitted."""
    mine = [one for one in source.spool.read(Queue.SENT) if one.in_place and one.state == SUBMITTED]
    states = read_states(source, (one.localid for one in mine if one.localid))
    if states is None:
        return
    stopped = {one.gid for one in stops_of_pass(source, (one for one in mine if one.stop))}
    for record in mine:
        if record.stop and record.gid not in stopped:
            continue
        if record.stop:
            _stop(source, record, states)
        elif not record.localid:
            _submit_again(source, record)
        else:
            _look(source, record, states.get(record.localid))


def _submit_again(source: Source, record: Record) -> None:
    try:
        earlier = find_earlier(source, record, record.local_name)
    except (SchedulerSilent, HungError) as silence:
        _note_silence(source, record, silence)
        return
    if earlier is None:
        submit_here(source, record)
    elif earlier.local_id:
        source.keep(amend(record, localid=earlier.local_id, reason="", tries=0))
    else:
        source.keep(advance(record, "ended-here", source.clock(), exit=earlier.status, ran=1, reason="", tries=0))


def read_states(source: Source, ids: Iterable[str]) -> Mapping[str, JobState] | None:
    """The states of the local jobs; None if the scheduler does not answer, from which nothing is concluded."""
    wanted = list(ids)
    try:
        return source.scheduler.states(wanted) if wanted else {}
    except SchedulerSilent as silence:
        source.say(f"{source.this}'s scheduler is silent, {silence}")
        return None


def _look(source: Source, record: Record, state: JobState | None) -> None:
    if state is not None and state.state != ENDED:
        source.notes.gone.pop(record.gid, None)
        _note_progress(source, record, state)
        return
    # A requeued job leaves the file of an earlier run; it counts only once the scheduler no longer has the job.
    unread = ""
    try:
        status = source.folders.read_exit(record)
    except UnreadableError as unreadable:
        source.say(f"{record.gid}: {unreadable}")
        status, unread = "", f"; {unreadable}"
    except HungError as hung:
        source.say(f"{record.gid}: {hung}")
        return
    if status:
        try:
            noted = find_end(source.scheduler, record.localid, status)
        except SchedulerSilent:
            return
        source.keep(advance(record, "ended-here", source.clock(), exit=noted.exit, ran=1, reason=noted.reason))
        return
    now = source.clock()
    since = source.notes.gone.setdefault(record.gid, int(now))
    if now - since < VANISHED_AFTER_S:
        return
    try:
        ended = source.scheduler.history(record.localid)
    except SchedulerSilent:
        return
    if ended is None:
        failure = f"the local job {record.localid} vanished{unread}"
    else:
        failure = ended.find_failure(record.localid, seen_running=bool(record.ran))
    if ended is None or failure:
        source.keep(advance(record, "failed-here", now, reason=failure))
    else:
        source.keep(advance(record, "ended-here", now, exit=ended.exit, ran=1, reason=ended.reason))


def _note_progress(source: Source, record: Record, state: JobState) -> None:
    ran = 1 if record.ran or state.state == RUNNING or state.runs else 0
    requeues = max(record.requeues, state.runs - (state.state == RUNNING))
    reason = f"requeued, {requeues} times" if requeues and state.state != RUNNING else ""
    changed = replace(record, ran=ran, requeues=requeues, reason=reason)
    if changed != record:
        source.keep(replace(changed, rev=record.rev + 1))


def _stop(source: Source, record: Record, states: Mapping[str, JobState]) -> None:
    """Delete the local job; the record is Stopped in the pass that no longer sees it."""
    try:
        local_id = record.localid or source.scheduler.find_by_name(record.local_name, record.user) or ""
        state = states.get(local_id)
        if local_id and not record.localid:
            source.keep(amend(record, localid=local_id))
        if (local_id and not record.localid) or (state is not None and state.state != ENDED):
            source.scheduler.delete(local_id, record.user)
            return
    except SchedulerSilent as silence:
        source.say(f"{record.gid}: not stopped yet, {silence}")
        return
    try:
        status = source.folders.read_exit(record)
    except HungError:
        status = ""
    source.keep(advance(record, "stop-here", source.clock(), exit=status, reason="mgstop"))
