"""The hand-over: at most one cluster ever has a job.

The source records that it offers a job before it asks the target, and offers it to no other before the target has
accepted or refused. If no answer comes, ``withdraw`` settles it: a target that never had this attempt then refuses it
for ever.
"""

from __future__ import annotations

from dataclasses import replace

from migration.passes.source.source_context import Source
from migration.passes.source.stop_request_state import reopen
from migration.protocol.ask_cluster_over_ssh import FailedReply, NoReply
from migration.protocol.questions import ACCEPT, WITHDRAW, About, Hand
from migration.protocol.replies import Busy, Refused, State, Taken, Unknown
from migration.spool.queue_file import Queue
from policy.migration.job_record_and_copy_updates import Record, advance, amend, fold
from policy.migration.job_states_and_transitions import OFFERED, REQUESTED
from policy.migration.place_on_first_free_cluster import Accepted, Declined, Unconfirmed
from policy.migration.wait_and_retry_bounds import FULL_FOR_S

FULL = "full"
"""The code with which a target says that it has no space for the user."""
_MOST_FAILED = 3
"""Offers of one pass that a target may fail to answer before it gets no more: one job may be the reason, three are
not."""


def hand_over(source: Source, record: Record, cluster: str) -> Accepted | Declined | Unconfirmed:
    """Offer the request to the cluster. It is in ``sent.q`` afterwards unless the cluster has refused."""
    failed = source.failed_offers.get(cluster, 0)
    if failed >= _MOST_FAILED:
        return Declined(f"could not answer {failed} offers of this pass", others=False)
    now = source.clock()
    offered = advance(record, "offer", now, dst=cluster, offered=int(now), reason="")
    with source.spool.change() as change:
        change.move(Queue.REQUEST, Queue.SENT, offered)
    handed = replace(offered, stop="", fallback="", ticket="")
    try:
        reply = source.ask(cluster, ACCEPT, Hand(handed).to_data(source.clock()))
    except NoReply as silence:
        if isinstance(silence, FailedReply):
            source.failed_offers[cluster] = failed + 1
        source.say(f"{record.gid}: hand-over to {cluster} unconfirmed, {silence}")
        return Unconfirmed()
    if isinstance(reply, Taken):
        taken = fold(offered, reply.record)
        if taken is None:
            source.say(f"{record.gid}: hand-over to {cluster} unconfirmed, it answered about another attempt")
            return Unconfirmed()
        source.keep(replace(taken, datakey=taken.datakey or reply.datakey))
        source.say(f"{record.gid}: handed to {cluster}")
        return Accepted()
    if isinstance(reply, Busy):
        source.give_back(_declined(offered, source.clock(), f"{cluster}: {reply.text}"))
        return Declined(reply.text, reply.answer, for_now=True)
    if isinstance(reply, Refused):
        note_refusal(source, record, cluster, reply)
        avoid = (*offered.avoid, cluster) if reply.lasting and cluster not in offered.avoid else offered.avoid
        source.give_back(_declined(offered, source.clock(), f"{cluster}: {reply.text}", avoid))
        return Declined(reply.text, others=False)
    source.say(f"{record.gid}: hand-over to {cluster} unconfirmed, it answered something else")
    return Unconfirmed()


def note_refusal(source: Source, record: Record, cluster: str, refused: Refused) -> None:
    """Remember a refusal for as long as it holds."""
    if refused.code == FULL:
        source.notes.full.setdefault(cluster, {})[record.user] = int(source.clock()) + FULL_FOR_S
    elif refused.lasting:
        source.notes.refusals.setdefault(record.gid, {})[cluster] = refused.text


def _declined(offered: Record, now_s: float, reason: str, avoid: tuple[str, ...] | None = None) -> Record:
    """The offered record as a request again. An attempt that no target has is still free."""
    return advance(
        offered, "declined", now_s, dst="", offered=0, reason=reason, avoid=offered.avoid if avoid is None else avoid
    )


def settle(source: Source) -> None:
    """Query every hand-over that is not confirmed yet."""
    for record in source.spool.read(Queue.SENT):
        if record.state == OFFERED:
            _settle(source, record)


def _settle(source: Source, record: Record) -> None:
    target = record.dst
    try:
        reply = source.ask(target, WITHDRAW, About(record.gid, record.attempt).to_data())
    except NoReply as silence:
        note_reason(source, record, f"hand-over to {target} unconfirmed: {silence}")
        return
    if isinstance(reply, State):
        theirs = fold(record, reply.record)
        if theirs is not None:
            take_over(source, record, theirs)
    elif isinstance(reply, Unknown) and (reply.gid, reply.attempt) == (record.gid, record.attempt):
        free = advance(record, "withdrawn", source.clock(), reason=f"{target} never had it", last=target)
        source.give_back(renew(free))


def take_over(source: Source, mine: Record, theirs: Record) -> None:
    """Write the target's newer copy; a job that it gave back becomes a request with a new attempt."""
    if theirs.state != REQUESTED:
        source.keep(theirs)
        return
    target = mine.dst
    refused = target in theirs.avoid and target not in mine.avoid
    if theirs.reason.startswith("no space"):
        note_refusal(source, mine, target, Refused(FULL, theirs.reason, lasting=False))
    elif refused:
        note_refusal(source, mine, target, Refused("refused", theirs.reason))
    if theirs.tries:
        source.notes.late[mine.gid] = int(source.clock())
    avoid = (*mine.avoid, target) if refused else mine.avoid
    reason = f"{target} gave it back: {theirs.reason}" if theirs.reason else f"{target} gave it back"
    source.give_back(renew(replace(theirs, avoid=avoid, last=target, reason=reason)))


def renew(record: Record) -> Record:
    """The next attempt of a request: the last one is closed wherever it was known."""
    return amend(
        record, attempt=record.attempt + 1, stop=reopen(record.stop), dst="", dstdir="", localid="", account="",
        datakey="", offered=0, then="", ran=0, tries=0,
    )  # fmt: skip


def note_reason(source: Source, record: Record, reason: str) -> None:
    """Write why nothing happens, unless it is written already. Another cluster has the record's authority, so rev
    stays."""
    if record.reason != reason:
        with source.spool.change() as change:
            change.put(Queue.SENT, replace(record, reason=reason))
