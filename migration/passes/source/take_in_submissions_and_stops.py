"""Processes the drop box: submissions become requests, and stop requests are written to the jobs' records.

The owner of a file is the user of its requests. A file is removed only after its records are on disk, and no ticket is
processed twice; a refused submission becomes one Aborted record, which shows its user why.
"""

from __future__ import annotations

import pwd
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from migration.as_user.helper.refused_accounts import find_refusal
from migration.passes.source.source_context import Source
from migration.passes.source.stop_request_state import DISCARD, STOP, merge_stop
from migration.passes.source.validate_submission import SubmissionError, read_submission
from migration.spool.drop_box import Dropped, clear, sweep, take
from migration.spool.queue_file import Queue
from migration.spool.record_as_key_value_line import encode
from migration.spool.spool import INCOMING, Change
from policy.migration.job_record_and_copy_updates import Record, advance
from policy.migration.job_states_and_transitions import ABORTED
from policy.model.printable_text import printable

_MOST_REFUSALS = 100
"""Refused submissions kept of each user for mgstat; the oldest are dropped."""
_FILES_AT_ONCE = 100
"""Files whose records are written under one lock."""
_MOST_PROBLEM = 900
_MOST_NAMED = 5
SUBMIT, STOP_JOB = "submit", "stop"
"""The values of ``do`` in a line of a dropped file."""


class _Asked(NamedTuple):
    """What a file of the box contains: requests, or stops as (job id, stop or discard), or why it is refused."""

    ticket: str
    user: str
    records: tuple[Record, ...] = ()
    stops: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def take_in(source: Source) -> None:
    """Process all files of the drop box. Many are written at once, so that one user's many files cost a pass little."""
    box = source.spool.home / INCOMING
    left = sweep(box, source.clock())
    if left:
        first = f"{encode(left[0].name)} of user id {left[0].uid}"
        source.say(f"{box}: {len(left)} folders that are not empty, such as {first}: to be removed by root")
    files = take(box)
    while True:
        dropped = list(islice(files, _FILES_AT_ONCE))
        if not dropped:
            return
        _write(source, list(_read_all(source, dropped)))
        for one in dropped:
            clear(box, one.ticket)


def _read_all(source: Source, dropped: list[Dropped]) -> Iterator[_Asked]:
    """The requests of each file. Messages about users without an account are one line for each user."""
    accounts = {uid: _find_account(uid) for uid in {one.uid for one in dropped}}
    for uid, account in accounts.items():
        if account is None:
            count = sum(one.uid == uid for one in dropped)
            source.say(f"user id {uid} has no account; {count} of its files are not taken")
    for one in dropped:
        account = accounts[one.uid]
        if account is not None:
            yield _read_file(source, account, one)


def _read_file(source: Source, account: pwd.struct_passwd, dropped: Dropped) -> _Asked:
    user = account.pw_name
    if not dropped.problem and dropped.lines and all(line.get("do") == STOP_JOB for line in dropped.lines):
        stops = [(line.get("gid", ""), DISCARD if line.get("discard") == "1" else STOP) for line in dropped.lines]
        return _Asked(dropped.ticket, user, stops=tuple(stops))
    try:
        return _Asked(dropped.ticket, user, tuple(_read(source, account, dropped)))
    except SubmissionError as error:
        return _Asked(dropped.ticket, user, problem=str(error))


def _write(source: Source, asked: list[_Asked]) -> None:
    with source.spool.change() as change:
        taken, refused = _find_taken(source, change, [one for one in asked if not one.stops])
        requests = _write_requests(source, change, taken)
        _write_refusals(source, change, refused)
        stopped = _write_stops(change, [one for one in asked if one.stops])
    for one, gids in requests:
        source.say(f"{one.ticket}: {len(gids)} taken of {one.user}, {gids[0]} to {gids[-1]}")
    for user in dict.fromkeys(one.user for one in refused):
        first, *rest = (one for one in refused if one.user == user)
        more = f"; {len(rest)} more files of this user are not taken" if rest else ""
        source.say(f"{first.ticket}: not taken of {user}, {printable(first.problem)[:_MOST_PROBLEM]}{more}")
    for user, gids in stopped.items():
        named = len({gid for one in asked if one.user == user for gid, _ in one.stops})
        shown = ", ".join((*gids[:_MOST_NAMED], *(["..."] if len(gids) > _MOST_NAMED else [])))
        none = f"; {named - len(gids)} are no jobs of this user under way" if named > len(gids) else ""
        source.say(f"stop asked by {user} of {named} jobs: {shown or 'none'}{none}")


def _find_taken(source: Source, change: Change, asked: list[_Asked]) -> tuple[list[_Asked], list[_Asked]]:
    """The files whose requests are taken, and those that are refused. One that is there already is neither."""
    known = {record.ticket for queue in Queue for record in change.records(queue)}
    held = Counter(one.user for queue in (Queue.REQUEST, Queue.SENT) for one in change.records(queue) if not one.final)
    taken, refused = [], []
    for one in asked:
        if one.ticket in known:
            continue
        problem = one.problem or _find_excess(source, one.user, held[one.user], len(one.records))
        if problem:
            refused.append(one._replace(problem=problem))
        else:
            held[one.user] += len(one.records)
            taken.append(one)
    return taken, refused


def _write_requests(source: Source, change: Change, taken: list[_Asked]) -> list[tuple[_Asked, list[str]]]:
    """Write the requests, and return the ids of each file's."""
    count = sum(len(one.records) for one in taken)
    if not count:
        return []
    fresh, now = iter(change.next_gids(source.this, count)), int(source.clock())
    written: list[tuple[_Asked, list[str]]] = [(one, list(islice(fresh, len(one.records)))) for one in taken]
    records = [
        replace(record, gid=gid, ticket=one.ticket, created=now, since=now)
        for one, gids in written
        for record, gid in zip(one.records, gids)
    ]
    change.put_all(Queue.REQUEST, records)
    return written


def _read(source: Source, account: pwd.struct_passwd, dropped: Dropped) -> list[Record]:
    """The requests of a file, all or none. Raises SubmissionError."""
    refusal = find_refusal(account, source.file.here, source.file.here.min_uid)
    if refusal:
        raise SubmissionError(refusal)
    if dropped.problem or not dropped.lines:
        raise SubmissionError(dropped.problem or "empty")
    for line in dropped.lines:
        if line.get("do") != SUBMIT:
            raise SubmissionError(f"do: {line.get('do')!r:.40}: must be {SUBMIT}, or {STOP_JOB} on every line")
    return [read_submission(line, account.pw_name, source.file, number) for number, line in enumerate(dropped.lines, 1)]


def _find_excess(source: Source, user: str, held: int, fresh: int) -> str:
    """Why the user, with ``held`` requests, may not have so many more; empty if the user may."""
    most = source.file.limits.max_requests_per_user
    if held + fresh <= most:
        return ""
    return (
        f"jobs of {user} that are not over: {held:,}, and {fresh:,} more are asked for: at most {most:,} are "
        "allowed (cluster.toml, limits.max_requests_per_user); submit again when some have ended"
    )


def _write_refusals(source: Source, change: Change, refused: list[_Asked]) -> None:
    """Write each user's newest refusals, and drop the oldest."""
    kept = [
        one for user in dict.fromkeys(one.user for one in refused)
        for one in [one for one in refused if one.user == user][-_MOST_REFUSALS:]
    ]  # fmt: skip
    if not kept:
        return
    now, there = int(source.clock()), [one for one in change.records(Queue.DONE) if _is_refusal(one)]
    old: list[str] = []
    for user, count in Counter(one.user for one in kept).items():
        own = [one.gid for one in there if one.user == user]
        old += own[: max(0, len(own) + count - _MOST_REFUSALS)]
    change.remove(Queue.DONE, *old)
    fresh = []
    for gid, one in zip(change.next_gids(source.this, len(kept)), kept):
        empty = Record(gid=gid, user=one.user, src=source.this, ticket=one.ticket, created=now, since=now)
        reason = f"not taken: {printable(one.problem)[:_MOST_PROBLEM]}"
        fresh.append(advance(empty, "refused", now, reason=reason))
    change.put_all(Queue.DONE, fresh)


def _write_stops(change: Change, asked: list[_Asked]) -> dict[str, list[str]]:
    """Write the stop requests to the records, and return the jobs that each user has named and may stop."""
    found: dict[str, list[str]] = {one.user: [] for one in asked}
    for queue in (Queue.REQUEST, Queue.SENT) if asked else ():
        records = {record.gid: record for record in change.records(queue)}
        changed: dict[str, Record] = {}
        for one in asked:
            for gid, wish in one.stops:
                record = changed.get(gid) or records.get(gid)
                if record is not None and one.user in (record.user, "root"):
                    changed[gid] = replace(record, stop=merge_stop(record.stop, wish))
                    found[one.user].append(gid)
        change.put_all(queue, list(changed.values()))
    return {user: list(dict.fromkeys(gids)) for user, gids in found.items()}


def _is_refusal(record: Record) -> bool:
    """Whether the record says only that a submission was not taken."""
    return record.state == ABORTED and record.ticket != "" and not record.dir


def _find_account(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None
