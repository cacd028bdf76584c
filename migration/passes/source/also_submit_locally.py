"""Submits requests that have waited long to this cluster's own queue as well, where they age and get reservations.

Only one of a request's two jobs may run. So the local job is held before the request is offered, deleted once the
target says Submitted, and released if the target refuses; a local job that starts first takes the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from migration.passes.source.offer_and_settle_hand_over import hand_over
from migration.passes.source.source_context import Source
from migration.passes.source.submit_and_follow_at_source import find_earlier, read_states, refusal_here, submit_once
from migration.schedulers.scheduler_interface import ENDED, HELD, QUEUED, JobState, SchedulerSilent, SubmitRefused
from migration.spool.queue_file import Queue
from migration.target_job.skip_users_with_hung_disks import HungError
from policy.migration.job_record_and_copy_updates import Record, advance, amend
from policy.migration.job_states_and_transitions import DOWNLOADING, SUBMITTED
from policy.migration.place_on_first_free_cluster import Accepted, Declined, Unconfirmed

UNKNOWN = "?"
"""The local id from before the submission until its answer is written: after a crash the job is looked for by its name
and by its exit status."""


def local_name(gid: str) -> str:
    """The name of the job that was also submitted here; no attempt has the number 0."""
    return f"mg_{gid}_0"


def submit_also(source: Source, record: Record) -> Accepted | Declined:
    """Submit the request to the local queue as well."""
    if source.this in record.avoid:
        return Declined("refused this job before", others=False)
    marked = amend(record, fallback=UNKNOWN)
    _put(source, Queue.REQUEST, marked)
    return _complete(source, marked)


def _complete(source: Source, marked: Record) -> Accepted | Declined:
    try:
        local_id = submit_once(source, marked, local_name(marked.gid))
    except (SchedulerSilent, HungError) as silence:
        source.say(f"{marked.gid}: is not known to be also submitted here, {silence}")
        _put(source, Queue.REQUEST, amend(marked, tries=marked.tries + 1))
        return Accepted()
    except SubmitRefused as refused:
        _put(source, Queue.REQUEST, amend(marked, fallback="", tries=0, **refusal_here(source, marked, refused)))
        return Declined(str(refused), others=False, of_user=not refused.lasting)
    _put(source, Queue.REQUEST, amend(marked, fallback=local_id, tries=0))
    source.say(f"{marked.gid}: also local {local_id}")
    return Accepted()


def _complete_again(source: Source, marked: Record) -> None:
    """Note the local job whose submission had no answer. One that has left nothing but its exit status takes the
    request."""
    try:
        earlier = find_earlier(source, marked, local_name(marked.gid))
    except (SchedulerSilent, HungError) as silence:
        source.say(f"{marked.gid}: not also submitted yet, {silence}")
        return
    if earlier is None:
        _complete(source, marked)
    elif earlier.local_id:
        _put(source, Queue.REQUEST, amend(marked, fallback=earlier.local_id, tries=0))
    else:
        _take_request(source, marked, "")


def offer(source: Source, record: Record, cluster: str) -> Accepted | Declined | Unconfirmed:
    """Offer a request to a cluster; its local job, if it has one, is held meanwhile."""
    if not record.fallback:
        return hand_over(source, record, cluster)
    declined = _hold(source, record)
    if declined is not None:
        return declined
    outcome = hand_over(source, record, cluster)
    if isinstance(outcome, Declined):
        _release(source, record)
    return outcome


def follow(source: Source) -> None:
    """Bring local jobs and requests together again, as time or a crash has left them."""
    requests = [one for one in source.spool.read(Queue.REQUEST) if one.fallback]
    sent = [one for one in source.spool.read(Queue.SENT) if one.fallback]
    states = read_states(source, (one.fallback for one in (*requests, *sent) if one.fallback != UNKNOWN))
    if states is None:
        return
    for record in requests:
        if record.fallback == UNKNOWN:
            if not record.stop:
                _complete_again(source, record)
        else:
            _look(source, record, states)
    for record in sent:
        if (record.state == SUBMITTED and record.localid) or record.state == DOWNLOADING:
            delete(source, record, Queue.SENT)
    for record in source.spool.read(Queue.DONE):
        if record.fallback:
            delete(source, record, Queue.DONE)


def delete(source: Source, record: Record, queue: Queue) -> bool:
    """Delete the local job of a record, and note it; returns whether it is gone."""
    try:
        local_id: str | None = record.fallback
        if local_id == UNKNOWN:
            local_id = source.scheduler.find_by_name(local_name(record.gid), record.user)
        if local_id:
            source.scheduler.delete(local_id, record.user)
            source.folders.clear(record)
    except SchedulerSilent as silence:
        source.say(f"{record.gid}: local job {record.fallback} is not deleted yet, {silence}")
        return False
    _put(source, queue, replace(record, fallback=""))
    return True


def _look(source: Source, record: Record, states: Mapping[str, JobState]) -> None:
    """A local job that has started, or is gone, takes the request, unless history says that it was deleted before it
    ran; one that is still held is released."""
    state = states.get(record.fallback)
    if state is not None and not state.runs and state.state in (HELD, QUEUED):
        if state.state == HELD:
            _release(source, record)
        return
    is_over = state is None or state.state == ENDED
    try:
        ended = source.scheduler.history(record.fallback) if is_over else None
    except SchedulerSilent:
        return
    if state is not None and is_over and ended is None:
        # The scheduler still shows the job, so a later pass may have its history.
        return
    if ended is not None and not (ended.ran or ended.not_started):
        _put(source, Queue.REQUEST, amend(record, fallback="", reason=f"local job {record.fallback} was deleted"))
        return
    _take_request(source, record, record.fallback)


def _take_request(source: Source, record: Record, local_id: str) -> None:
    started = advance(
        record, "fallback-started", source.clock(), dst=source.this, dstdir=record.dir, account=record.user,
        localid=local_id, fallback="", ran=1, reason="", tries=0,
    )  # fmt: skip
    with source.spool.change() as change:
        change.move(Queue.REQUEST, Queue.SENT, started)
    source.say(f"{record.gid}: runs here as {local_id or 'a job that has ended'}")


def _hold(source: Source, record: Record) -> Declined | None:
    """Hold the local job; why that does not keep it from running, or None."""
    if record.fallback == UNKNOWN:
        return Declined("it is not known yet whether there is a local job", others=False)
    try:
        source.scheduler.hold(record.fallback, record.user)
        state = source.scheduler.states([record.fallback]).get(record.fallback)
    except SchedulerSilent as silence:
        return Declined(f"the local job {record.fallback} cannot be held: {silence}", others=False)
    if state is not None and state.state == HELD and not state.runs:
        return None
    _release(source, record)
    return Declined("the local job has started", others=False)


def _release(source: Source, record: Record) -> None:
    try:
        source.scheduler.release(record.fallback, record.user)
    except SchedulerSilent as silence:
        source.say(f"{record.gid}: local job {record.fallback} is not released yet, {silence}")


def _put(source: Source, queue: Queue, record: Record) -> None:
    with source.spool.change() as change:
        change.put(queue, record)
