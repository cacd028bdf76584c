"""Copies newer states from the targets into ``sent.q``, and sends stop requests to them until they have answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from migration.passes.source.offer_and_settle_hand_over import note_reason, take_over
from migration.passes.source.source_context import Source
from migration.passes.source.stop_request_state import acknowledged, discards, is_unacknowledged, stops_of_pass
from migration.protocol.ask_cluster_over_ssh import NoReply
from migration.protocol.message_lines_and_fields import MOST_GIDS
from migration.protocol.questions import QUERY, STOP, About, Query
from migration.protocol.replies import State, States, Unknown
from migration.spool.queue_file import Queue
from policy.migration.job_record_and_copy_updates import Record, fold
from policy.migration.job_states_and_transitions import ABORTED, DOWNLOADING, OFFERED
from policy.migration.wait_and_retry_bounds import SILENT_EVERY

_MOST_QUESTIONS = 50
"""To one target in one pass. A reply has room for a thousand short records, and for a few long ones; the next pass
begins with others."""


def copy_states_from_targets(source: Source) -> None:
    """Ask each target once about all its jobs, where it has any."""
    held = _held(source)
    for target in dict.fromkeys(record.dst for record in held):
        _ask(source, target, [record for record in held if record.dst == target])
    if source.notes.number % SILENT_EVERY == 0:
        _look_for_resumed(source)


def repeat_stops(source: Source) -> None:
    """Send each target its stop requests until it has answered. Each stop is a call, of which a user has a share."""
    asked = [record for record in _held(source) if record.stop and is_unacknowledged(record)]
    for record in stops_of_pass(source, asked):
        _stop(source, record)


def _held(source: Source) -> list[Record]:
    """The jobs that other clusters have."""
    return [one for one in source.spool.read(Queue.SENT) if one.state != OFFERED and not one.in_place]


def _ask(source: Source, target: str, records: list[Record]) -> None:
    first = source.notes.number * MOST_GIDS % len(records)
    left = {record.gid: record for record in (*records[first:], *records[:first])}
    for _ in range(_MOST_QUESTIONS):
        if not left:
            return
        asked = tuple(left)[:MOST_GIDS]
        try:
            reply = source.ask(target, QUERY, Query(asked).to_data())
        except NoReply:
            return
        if not isinstance(reply, States):
            return
        heard = [*(one.gid for one in reply.records), *(one.gid for one in reply.unreadable), *reply.unknown]
        for theirs in reply.records:
            _fold(source, left.get(theirs.gid), theirs)
        for gid in reply.unknown:
            if gid in left:
                note_reason(source, left[gid], f"{target} does not know this job; mgsched --forget if it never will")
        for gid, why in reply.unreadable:
            if gid in left:
                note_reason(source, left[gid], f"the record of this job at {target} cannot be read: {why}")
        if not _remove(left, heard):
            return


def _remove(left: dict[str, Record], gids: Iterable[str]) -> bool:
    """Drop these jobs from ``left``; whether any was there."""
    before = len(left)
    for gid in gids:
        left.pop(gid, None)
    return len(left) < before


def _fold(source: Source, mine: Record | None, theirs: Record) -> None:
    newer = None if mine is None else fold(mine, theirs)
    if mine is not None and newer is not None:
        take_over(source, mine, newer)


def _stop(source: Source, record: Record) -> None:
    try:
        reply = source.ask(record.dst, STOP, About(record.gid, record.attempt, discards(record)).to_data())
    except NoReply as silence:
        note_reason(source, record, f"stop requested, {record.dst} unreachable: {silence}")
        return
    if isinstance(reply, State) and (reply.record.gid, reply.record.attempt) == (record.gid, record.attempt):
        stopping = replace(record, stop=acknowledged(record.stop))
        take_over(source, stopping, fold(stopping, reply.record) or stopping)
    elif isinstance(reply, Unknown):
        note_reason(source, record, f"stop requested, {record.dst} does not know this job")


def _look_for_resumed(source: Source) -> None:
    """Aborted jobs whose copy is kept may be resumed at the target; they are followed again then."""
    kept = [one for one in source.spool.read(Queue.DONE) if may_be_resumed(source, one)]
    for target in dict.fromkeys(record.dst for record in kept):
        mine = {record.gid: record for record in kept if record.dst == target}
        gids = tuple(mine)
        for start in range(0, len(gids), MOST_GIDS):
            try:
                reply = source.ask(target, QUERY, Query(gids[start : start + MOST_GIDS]).to_data())
            except NoReply:
                break
            for theirs in reply.records if isinstance(reply, States) else ():
                if theirs.gid in mine:
                    _fold_resumed(source, mine[theirs.gid], theirs)


def may_be_resumed(source: Source, record: Record) -> bool:
    """Whether a target may still keep what this cluster's job has left."""
    since = source.clock() - 86_400 * source.file.limits.keep_aborted_days
    return record.state == ABORTED and record.src == source.this and bool(record.datakey) and record.since >= since


def _fold_resumed(source: Source, mine: Record, theirs: Record) -> None:
    """A resumed job is followed again, or noted as it ended where it has been brought back since the last look."""
    newer = fold(mine, theirs)
    if newer is None or not (newer.final or newer.state == DOWNLOADING):
        return
    with source.spool.change() as change:
        if newer.final:
            change.put(Queue.DONE, newer)
        else:
            change.move(Queue.DONE, Queue.SENT, newer)
    source.say(f"{newer.gid}: resumed at {newer.dst}, {newer.state}")
