"""The replies of ``mgserve``: one kind for each outcome of a question, to plain data and back.

A record that cannot be read hides no other record of the same reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

from migration.protocol.message_lines_and_fields import (
    MOST_BYTES,
    MOST_GIDS,
    MessageError,
    check_gid,
    check_gids,
    check_number,
    check_object,
    check_text,
    record_from_data,
    record_to_data,
)
from migration.protocol.questions import PREFIX, no_such_verb
from migration.spool.record_as_key_value_line import MOST_LINE
from policy.migration.available_to_other_clusters import Answer, AnswerError
from policy.migration.job_record_and_copy_updates import Record
from policy.model.printable_text import printable

_MOST_WHY = 300
_GID_OF_LINE = re.compile(r"(?:^|\t)gid=([^\t]*)")


@dataclass(frozen=True)
class Taken:
    """``accept``: it is in received.q. ``datakey`` is the public key with which its data will be asked for."""

    record: Record
    datakey: str = ""


@dataclass(frozen=True)
class Busy:
    """``accept``: it would not start now. ``answer`` is what is free."""

    text: str
    answer: Answer | None = None


@dataclass(frozen=True)
class Refused:
    """``accept``: not this job, whatever is free. ``lasting``: never at this cluster."""

    code: str
    text: str
    lasting: bool = True


@dataclass(frozen=True)
class Unknown:
    """``withdraw``, ``stop``: the cluster has not had this attempt. After ``withdraw`` it never takes it."""

    gid: str
    attempt: int


@dataclass(frozen=True)
class State:
    """``withdraw``, ``stop``: the job is here, like this."""

    record: Record


class Unreadable(NamedTuple):
    """A record of a reply that cannot be read, by the job's id, and why."""

    gid: str
    why: str


@dataclass(frozen=True)
class States:
    """``query``: the jobs that are known here, and the ids of the others. ``unreadable`` is what the reader found; it
    is never sent."""

    records: tuple[Record, ...]
    unknown: tuple[str, ...]
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True)
class Failed:
    """Any verb: the cluster could not answer; nothing is concluded."""

    text: str


Reply = Union[Taken, Busy, Refused, Unknown, State, States, Failed, Answer]


def is_unknown_verb(reply: Reply, verb: str) -> bool:
    """Whether the cluster does not know the verb: its version of these programs is older."""
    return isinstance(reply, Failed) and reply.text.startswith(no_such_verb(PREFIX + verb))


def reply_to_data(reply: Reply, now_s: float) -> dict[str, Any]:
    """A reply as plain data."""
    if isinstance(reply, Answer):
        return {**reply.to_data(), "reply": "avail"}
    if isinstance(reply, Taken):
        return {**record_to_data(reply.record, now_s), "reply": "accepted", "datakey": reply.datakey}
    if isinstance(reply, Busy):
        answer = None if reply.answer is None else reply.answer.to_data()
        return {"v": 1, "reply": "busy", "text": reply.text, "answer": answer}
    if isinstance(reply, Refused):
        return {"v": 1, "reply": "refused", "code": reply.code, "text": reply.text, "lasting": reply.lasting}
    if isinstance(reply, Unknown):
        return {"v": 1, "reply": "unknown", "gid": reply.gid, "attempt": reply.attempt}
    if isinstance(reply, State):
        return {**record_to_data(reply.record, now_s), "reply": "state"}
    if isinstance(reply, States):
        records = [record_to_data(record, now_s) for record in reply.records]
        return {"v": 1, "reply": "states", "records": records, "unknown": list(reply.unknown)}
    return {"v": 1, "reply": "failed", "text": reply.text}


def reply_from_data(data: object, now_s: float) -> Reply:
    """A reply as it was sent. Raises :class:`MessageError`."""
    read = check_object(data)
    kind = read.get("reply")
    try:
        if kind == "avail":
            return Answer.from_data(data)
        if kind == "accepted":
            return Taken(record_from_data(read, now_s), check_text("datakey", read.get("datakey", "")))
        if kind == "busy":
            answer = read.get("answer")
            return Busy(check_text("text", read.get("text")), None if answer is None else Answer.from_data(answer))
    except AnswerError as error:
        raise MessageError(str(error)) from error
    if kind == "refused":
        lasting = read.get("lasting")
        if not isinstance(lasting, bool):
            raise MessageError(f"lasting: {lasting!r:.40}: must be true or false")
        return Refused(check_text("code", read.get("code")), check_text("text", read.get("text")), lasting)
    if kind == "unknown":
        return Unknown(check_gid(read.get("gid")), check_number("attempt", read.get("attempt")))
    if kind == "state":
        return State(record_from_data(read, now_s))
    if kind == "states":
        records = read.get("records")
        if not isinstance(records, list) or len(records) > MOST_GIDS:
            raise MessageError(f"records: must be a list of at most {MOST_GIDS}")
        return _states(records, check_gids("unknown", read.get("unknown")), now_s)
    if kind == "failed":
        return Failed(check_text("text", read.get("text")))
    raise MessageError(f"reply: {kind!r:.40}: is none of this version's")


def _states(data: list[object], unknown: tuple[str, ...], now_s: float) -> States:
    """The reply to ``query``. A record that cannot be read takes none of the others along."""
    records: list[Record] = []
    unreadable: list[Unreadable] = []
    for one in data:
        try:
            records.append(record_from_data(check_object(one), now_s))
        except MessageError as error:  # noqa: PERF203 - one unreadable record hides no other
            unreadable.append(Unreadable(_find_gid(one), printable(str(error))[:_MOST_WHY]))
    return States(tuple(records), unknown, tuple(unreadable))


def _find_gid(data: object) -> str:
    """The job id of a record that cannot be read; empty if that cannot be read either."""
    line = data.get("record") if isinstance(data, dict) else None
    match = _GID_OF_LINE.search(line[:MOST_LINE]) if isinstance(line, str) else None
    try:
        return "" if match is None else check_gid(match[1])
    except MessageError:
        return ""


def states_that_fit(records: Iterable[Record], unknown: Iterable[str], now_s: float) -> States:
    """The reply to ``query`` with as many records as one message takes. The source queries the missing ones again."""
    fitting: list[Record] = []
    left = MOST_BYTES // 2
    for record in records:
        left -= len(json.dumps(record_to_data(record, now_s)))
        if left < 0:
            break
        fitting.append(record)
    return States(tuple(fitting), tuple(unknown))
