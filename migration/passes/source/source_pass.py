"""``mgsched``: one pass over the requests of this cluster's users, decided by
``policy.migration.place_on_first_free_cluster``.

Each step is on disk before the next one, so a kill at any point loses nothing and the next pass continues from there. A
lock keeps a second pass away.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from migration.config.cluster_file import SENDING_IS_PAUSED
from migration.passes.early_pass import SOURCE, answer_call, call_for_pass
from migration.passes.promised_cores import find_in_flight
from migration.passes.source import also_submit_locally, submit_and_follow_at_source
from migration.passes.source.copy_states_from_targets import copy_states_from_targets, may_be_resumed, repeat_stops
from migration.passes.source.offer_and_settle_hand_over import renew, settle
from migration.passes.source.source_context import Source
from migration.passes.source.stop_request_state import stops_of_pass
from migration.passes.source.take_in_submissions_and_stops import take_in
from migration.protocol.ask_cluster_over_ssh import FailedReply, NoReply
from migration.protocol.questions import AVAIL
from migration.schedulers.scheduler_interface import SchedulerSilent
from migration.spool.file_lock import LockHeldError, file_lock
from migration.spool.queue_file import Queue
from policy.migration.available_to_other_clusters import Answer, make_answer
from policy.migration.job_record_and_copy_updates import ANY, LOCAL, Record, advance, split_gid
from policy.migration.job_states_and_transitions import BEFORE_RUN, OFFERED
from policy.migration.keep_newest_ended_records_per_user import Ended, find_surplus
from policy.migration.place_on_first_free_cluster import (
    Accepted,
    Ask,
    NoAnswer,
    Offer,
    Outcome,
    PassState,
    Placements,
    Placing,
    Request,
    StartHere,
    Step,
    Stop,
    placing,
)
from policy.migration.wait_and_retry_bounds import is_asked, is_early_pass_due

LOCK = "mgsched.lock"
_DAY_S = 86_400


class BusyError(Exception):
    """Another pass is running."""


@contextlib.contextmanager
def pass_lock(home: Path, within_s: float = 0) -> Iterator[None]:
    """Hold the lock of passes. Raises :class:`BusyError` if another process holds it for ``within_s``."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(file_lock(home / LOCK, within_s))
        except LockHeldError as held:
            raise BusyError(f"{home / LOCK}: another pass runs") from held
        yield


def source_pass(source: Source) -> Placements:
    """One pass. The caller holds :func:`pass_lock`. It calls for an early one where more may go out in a moment."""
    answer_call(source.spool.home, SOURCE)
    source.notes.number += 1
    take_in(source)
    settle(source)
    copy_states_from_targets(source)
    repeat_stops(source)
    also_submit_locally.follow(source)
    submit_and_follow_at_source.watch(source)
    placements = _place(source)
    _note_reasons(source, placements)
    _prune(source)
    ended = source.notes.ended = int(source.clock())
    if placements.hand_overs:
        source.notes.handed = ended
    source.notes.write(source.spool.home)
    if is_early_pass_due(placements.busy_for_now, ended - source.notes.handed):
        call_for_pass(source.spool.home, SOURCE)
    return placements


def plan(source: Source) -> Placements:
    """What a pass would do with the requests as they are: clusters are asked, nothing is offered or written."""
    steps = _steps(source)
    outcome: Outcome = None
    try:
        while True:
            step = steps.send(outcome)
            outcome = _answer(source, step.cluster) if isinstance(step, Ask) else Accepted()
    except StopIteration as end:
        placements: Placements = end.value
        return placements


def forget(source: Source, gid: str) -> Record:
    """Take a job back from a target that an administrator has declared lost. Raises ValueError with the reason."""
    record = next((one for one in source.spool.read(Queue.SENT) if one.gid == gid), None)
    if record is None:
        raise ValueError(f"{gid}: is not at another cluster")
    if record.in_place:
        raise ValueError(f"{gid}: runs at this cluster, which is not lost; mgstop stops it")
    free = renew(advance(record, "forgotten", source.clock(), last=record.dst, reason=f"{record.dst} is lost"))
    source.give_back(free)
    return free


def _place(source: Source) -> Placements:
    steps = _steps(source)
    outcome: Outcome = None
    try:
        while True:
            outcome = _do(source, steps.send(outcome))
    except StopIteration as end:
        placements: Placements = end.value
        _stop_all(source, frozenset(placements.stopped))
        return placements


def _steps(source: Source) -> Placing:
    now = source.clock()
    late = source.notes.late
    records = sorted(
        source.spool.read(Queue.REQUEST), key=lambda one: (late.get(one.gid, one.created), split_gid(one.gid)[1])
    )
    return placing([Request.of(one, now) for one in records], source.file.placing, _state(source, now))


def _state(source: Source, now_s: float) -> PassState:
    sent = [one for one in source.spool.read(Queue.SENT) if one.state == OFFERED or one.state in BEFORE_RUN]
    # The target promises no cores to a job while a step of it is tried again, so it takes no place of others.
    on_the_way = Counter(record.dst for record in sent if not record.tries)
    of_users = Counter((record.dst, record.user) for record in sent)
    silent = {
        name: f"silent: {notes.text}"
        for name, notes in source.notes.clusters.items()
        if not is_asked(notes.failures, source.notes.number)
    }
    order, here = source.file.placing.order, source.file.here
    silent.update({name: SENDING_IS_PAUSED for name in order if not here.sends_to(name)})
    full = {
        (cluster, user): "has no space for this user"
        for cluster, users in source.notes.full.items()
        for user, until in users.items()
        if until > now_s
    }
    return PassState(on_the_way, of_users, silent, full)


def _do(source: Source, step: Step) -> Outcome:
    if isinstance(step, Ask):
        return _answer(source, step.cluster)
    if isinstance(step, Stop):
        return None
    record = next(one for one in source.spool.read(Queue.REQUEST) if one.gid == step.gid)
    if isinstance(step, Offer):
        return also_submit_locally.offer(source, record, step.cluster)
    if isinstance(step, StartHere):
        return submit_and_follow_at_source.start_here(source, record)
    return also_submit_locally.submit_also(source, record)


def _answer(source: Source, cluster: str) -> Answer | NoAnswer:
    if cluster == source.this:
        return _answer_here(source)
    try:
        reply = source.ask(cluster, AVAIL)
    except FailedReply as failed:
        return NoAnswer(f"cannot say what is free: {failed}")
    except NoReply as silence:
        return NoAnswer(f"unreachable: {silence}")
    return reply if isinstance(reply, Answer) else NoAnswer("answered something else")


def _answer_here(source: Source) -> Answer | NoAnswer:
    """The cores free at this cluster for its own users' jobs, less those promised to guests."""
    try:
        free = source.scheduler.free()
    except SchedulerSilent as silence:
        return NoAnswer(f"its scheduler is silent: {silence}")
    guests = source.spool.read(Queue.RECEIVED)
    own = [one for one in source.spool.read(Queue.SENT) if one.in_place]
    in_flight = find_in_flight([*guests, *own], source.clock())
    return make_answer(source.this, free, in_flight, len(in_flight) + 1, arch=source.file.this.arch)


def _stop_all(source: Source, gids: frozenset[str]) -> None:
    """Stop requests. All that have no local job take one change together; one that has waits until that is deleted."""
    asked = [one for one in source.spool.read(Queue.REQUEST) if one.gid in gids]
    for record in stops_of_pass(source, (one for one in asked if one.fallback)):
        also_submit_locally.delete(source, record, Queue.REQUEST)
    now = source.clock()
    with source.spool.change() as change:
        stopped = [
            advance(one, "stop", now, reason="mgstop")
            for one in change.records(Queue.REQUEST)
            if one.gid in gids and not one.fallback
        ]
        change.move_all(Queue.REQUEST, Queue.DONE, stopped)
    for record in stopped:
        source.notes.drop(record.gid)
        source.say(f"{record.gid}: Stopped")


def _note_reasons(source: Source, placements: Placements) -> None:
    """Write why requests stay, and end those that every cluster has refused for good."""
    with source.spool.change() as change:
        changed, refused = [], []
        for record in change.records(Queue.REQUEST):
            stay = placements.stays.get(record.gid)
            if stay is None:
                continue
            if _is_refused(source, record):
                refused.append(record)
            elif record.reason != stay.sentence():
                changed.append(replace(record, reason=stay.sentence()))
        change.put_all(Queue.REQUEST, changed)
        for record in refused:
            refusals = "; ".join(f"{name}: {text}" for name, text in source.notes.refusals.get(record.gid, {}).items())
            aborted = advance(record, "refused", source.clock(), reason=refusals or "refused by every cluster")
            change.move(Queue.REQUEST, Queue.DONE, aborted)
            source.notes.drop(record.gid)
            source.say(f"{record.gid}: Aborted, {aborted.reason}")


def _is_refused(source: Source, record: Record) -> bool:
    this, order = source.this, source.file.placing.order
    if record.fallback:
        return False
    candidates = {ANY: (this, *order), LOCAL: (this,)}.get(record.want, (record.want,))
    return all(name in record.avoid for name in candidates)


def _prune(source: Source) -> None:
    """Drop final records that are old, and those of users with very many. One whose local job is still to be deleted
    stays."""
    limits, now = source.file.limits, source.clock()
    before = now - _DAY_S * limits.keep_done_days
    with source.spool.change() as change:
        mine = [one for one in change.records(Queue.DONE) if one.src == source.this and one.final and not one.fallback]
        sizes = source.spool.read_sizes(Queue.DONE)
        surplus = find_surplus(
            (
                Ended(one.gid, (one.src, one.user), one.since, sizes[one.gid], has_results=may_be_resumed(source, one))
                for one in mine
            ),
            limits.max_ended_per_user,
        )
        change.remove(Queue.DONE, *(one.gid for one in mine if one.since < before or one.gid in surplus))
