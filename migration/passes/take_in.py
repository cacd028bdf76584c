"""Takes the drop box in: submissions become requests, and wishes to stop are written to the jobs' records.

The owner of a file is the one who asks. A file is removed after its records are on disk, and a ticket that is there
already is not taken twice. A refused submission becomes one Aborted record, so that its user sees why.
"""

from __future__ import annotations

import pwd
from dataclasses import replace

from migration.as_user.privileged_groups import find_refused_group
from migration.passes.source_context import Source
from migration.passes.stop_request_state import DISCARD, STOP, merge_stop
from migration.passes.validate_submission import SubmissionError, read_submission
from migration.spool.drop_box import Dropped, clear, take
from migration.spool.queue_file import Queue
from migration.spool.spool import INCOMING, Change
from policy.migration.record import Record, advance
from policy.migration.transitions import ABORTED
from policy.model.printable_text import printable

_MOST_REFUSALS = 100
"""Of each user so many refused submissions are kept for mgstat; the oldest give way."""
SUBMIT, STOP_JOB = "submit", "stop"
"""What a line of a dropped file may ask for, as its ``do``."""


def take_in(source: Source) -> None:
    """Take all files of the drop box in."""
    box = source.spool.home / INCOMING
    for dropped in take(box):
        _take(source, dropped)
        clear(box, dropped.ticket)


def _take(source: Source, dropped: Dropped) -> None:
    account = _find_account(dropped.uid)
    if account is None:
        source.say(f"{dropped.ticket}: user id {dropped.uid} has no account; not taken")
        return
    user = account.pw_name
    if not dropped.problem and dropped.lines and all(line.get("do") == STOP_JOB for line in dropped.lines):
        for line in dropped.lines:
            _stop(source, user, line)
        return
    records: list[Record] = []
    problem = ""
    try:
        records = _read(source, account, dropped)
    except SubmissionError as error:
        problem = str(error)
    with source.spool.change() as change:
        if _is_known(change, dropped.ticket):
            return
        problem = problem or _find_excess(source, change, user, len(records))
        if problem:
            _refuse(source, change, dropped.ticket, user, problem)
            return
        now = int(source.clock())
        given = [
            replace(one, gid=change.next_gid(source.this), ticket=dropped.ticket, created=now, since=now)
            for one in records
        ]
        change.put_all(Queue.REQUEST, given)
    source.say(f"{dropped.ticket}: {len(given)} taken of {user}, {given[0].gid} to {given[-1].gid}")


def _read(source: Source, account: pwd.struct_passwd, dropped: Dropped) -> list[Record]:
    """The requests of a file, all or none. Raises SubmissionError."""
    if dropped.uid < source.file.here.min_uid:
        raise SubmissionError(f"user id {dropped.uid} is below {source.file.here.min_uid}: no account for jobs")
    group = find_refused_group(account, source.file.here.refused_groups)
    if group:
        raise SubmissionError(f"{account.pw_name} is in group {group}: no job runs as its members")
    if dropped.problem or not dropped.lines:
        raise SubmissionError(dropped.problem or "empty")
    for line in dropped.lines:
        if line.get("do") != SUBMIT:
            raise SubmissionError(f"do: {line.get('do')!r:.40}: must be {SUBMIT}, or {STOP_JOB} on every line")
    return [read_submission(line, account.pw_name, source.file, number) for number, line in enumerate(dropped.lines, 1)]


def _find_excess(source: Source, change: Change, user: str, fresh: int) -> str:
    """Why the user may not have so many requests more; empty if he may."""
    most = source.file.limits.max_requests_per_user
    held = [
        one for queue in (Queue.REQUEST, Queue.SENT) for one in change.records(queue)
        if one.user == user and not one.final
    ]  # fmt: skip
    if len(held) + fresh <= most:
        return ""
    return (
        f"jobs of {user} that are not over: {len(held):,}, and {fresh:,} more are asked for: at most {most:,} are "
        "allowed (cluster.toml, limits.max_requests_per_user); submit again when some have ended"
    )


def _is_known(change: Change, ticket: str) -> bool:
    return any(record.ticket == ticket for queue in Queue for record in change.records(queue))


def _refuse(source: Source, change: Change, ticket: str, user: str, problem: str) -> None:
    now = int(source.clock())
    shown = printable(problem)[:1000]
    refused = [one.gid for one in change.records(Queue.DONE) if one.user == user and _is_refusal(one)]
    change.remove(Queue.DONE, *refused[: max(0, len(refused) - _MOST_REFUSALS + 1)])
    empty = Record(gid=change.next_gid(source.this), user=user, src=source.this, ticket=ticket, created=now, since=now)
    change.put(Queue.DONE, advance(empty, "refused", now, reason=f"not taken: {shown}"))
    source.say(f"{ticket}: not taken of {user}, {shown}")


def _is_refusal(record: Record) -> bool:
    """Whether the record says only that a submission was not taken."""
    return record.state == ABORTED and record.ticket != "" and not record.dir


def _stop(source: Source, user: str, line: dict[str, str]) -> None:
    gid, wish = line.get("gid", ""), DISCARD if line.get("discard") == "1" else STOP
    with source.spool.change() as change:
        for queue in (Queue.REQUEST, Queue.SENT):
            record = next((one for one in change.records(queue) if one.gid == gid), None)
            if record is not None and user in (record.user, "root"):
                change.put(queue, replace(record, stop=merge_stop(record.stop, wish)))
                source.say(f"{gid}: {wish} asked by {user}")
                return
    source.say(f"stop of {gid!r:.60} by {user}: no such job of this user; nothing is done")


def _find_account(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None
