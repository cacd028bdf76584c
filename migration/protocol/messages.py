"""The messages of ``mgserve``: JSON lines, the same number each way, bounded, checked field by field.

A verb is the whole command of the ssh connection, its body is on standard input. Records travel as their lines; times
in them are replaced by ages, since only local clocks are compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Union

from migration.spool.record_as_key_value_line import MOST_LINE, LineError, from_line, to_line
from policy.migration.available_to_other_clusters import Answer, AnswerError
from policy.migration.job_record_and_copy_updates import CLUSTER_NAME, Record, split_gid
from policy.migration.job_states_and_transitions import FINAL
from policy.model.printable_text import printable

AVAIL, ACCEPT, WITHDRAW, QUERY, STOP, SEVERAL = VERBS = ("avail", "accept", "withdraw", "query", "stop", "several")
"""``several`` is several of the others over one connection: each is a line, answered by one before the next is read."""
PREFIX = "mg "
MOST_BYTES = 1 << 20
MOST_GIDS = 1_000
MOST_TEXT = 1_000
"""The most characters of a reason; no cluster writes a longer one."""
_MOST_NUMBER = 10**15
_MOST_CHANGES = 10**9
_MOST_WHY = 300
_MOST_OFFERED = MOST_LINE // 2
"""The most of a record that is offered. One that is taken can still grow within the bound of the spool's lines, and
comes back so."""
_MOST_CLUSTERS = 1_000
_MOST_MORE = 16
"""Keys of a newer version in one record."""
_MOST_TEXTS = MappingProxyType(
    {
        "reason": MOST_TEXT, "localid": 200, "account": 200, "dstdir": 16_384, "exit": 200, "last": 200, "stop": 200,
        "fallback": 200, "ticket": 200, "datakey": 2_000,
    }
)  # fmt: skip
"""The most characters of what clusters write into a record. What the user asked for is bounded by the line."""
_GID_OF_LINE = re.compile(r"(?:^|\t)gid=([^\t]*)")


class MessageError(ValueError):
    """An invalid message; the text names the field and what is allowed."""


class RecordError(MessageError):
    """One record of a message that cannot be read: it says nothing about any other job."""


def read_verb(command: str) -> str:
    """The verb of SSH_ORIGINAL_COMMAND, which is ``mg VERB`` and nothing more. Raises :class:`MessageError`."""
    verb = command[len(PREFIX) :] if command.startswith(PREFIX) else ""
    if verb not in VERBS:
        raise MessageError(f"{_no_verb(command)} must be {PREFIX}and one of {', '.join(VERBS)}")
    return verb


def several_to_data(verb: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
    """One question of ``several``."""
    return {"v": 1, "ask": verb, "body": body}


def read_several(line: bytes) -> tuple[str, bytes]:
    """The verb of a question, and its body as a line; empty if it has none. Raises :class:`MessageError`."""
    read = _object(from_line_bytes(line))
    verb, body = read.get("ask"), read.get("body")
    if verb not in VERBS or verb == SEVERAL:
        raise MessageError(f"ask {verb!r:.40}: must be one of {', '.join(VERBS[:-1])}")
    return str(verb), b"" if body is None else to_line_bytes(_object(body))


def is_unknown_verb(reply: Reply, verb: str) -> bool:
    """Whether the cluster does not know the verb: its version of these programs is older."""
    return isinstance(reply, Failed) and reply.text.startswith(_no_verb(PREFIX + verb))


def _no_verb(command: str) -> str:
    return f"command {command!r:.60}:"


# What is asked


@dataclass(frozen=True)
class Hand:
    """``accept``: take this record, which is Offered, for its ``attempt``."""

    record: Record

    def to_data(self, now_s: float) -> dict[str, Any]:
        """Plain data."""
        return _with_record(self.record, now_s)

    @classmethod
    def from_data(cls, data: object, now_s: float) -> Hand:
        """Raises :class:`MessageError`."""
        return cls(_record(_object(data), now_s, _MOST_OFFERED))


@dataclass(frozen=True)
class About:
    """``withdraw`` and ``stop``: one attempt of one job. ``discard`` is for ``stop`` alone."""

    gid: str
    attempt: int
    discard: bool = False

    def to_data(self) -> dict[str, Any]:
        """Plain data."""
        return {"v": 1, "gid": self.gid, "attempt": self.attempt, "discard": self.discard}

    @classmethod
    def from_data(cls, data: object) -> About:
        """Raises :class:`MessageError`."""
        read = _object(data)
        discard = read.get("discard", False)
        if not isinstance(discard, bool):
            raise MessageError(f"discard: {discard!r:.40}: must be true or false")
        return cls(_gid(read.get("gid")), _number("attempt", read.get("attempt")), discard)


@dataclass(frozen=True)
class Query:
    """``query``: where are these jobs."""

    gids: tuple[str, ...]

    def to_data(self) -> dict[str, Any]:
        """Plain data."""
        return {"v": 1, "gids": list(self.gids)}

    @classmethod
    def from_data(cls, data: object) -> Query:
        """Raises :class:`MessageError`."""
        return cls(_gids("gids", _object(data).get("gids")))


# What is answered


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


def reply_to_data(reply: Reply, now_s: float) -> dict[str, Any]:
    """A reply as plain data."""
    if isinstance(reply, Answer):
        return {**reply.to_data(), "reply": "avail"}
    if isinstance(reply, Taken):
        return {**_with_record(reply.record, now_s), "reply": "accepted", "datakey": reply.datakey}
    if isinstance(reply, Busy):
        answer = None if reply.answer is None else reply.answer.to_data()
        return {"v": 1, "reply": "busy", "text": reply.text, "answer": answer}
    if isinstance(reply, Refused):
        return {"v": 1, "reply": "refused", "code": reply.code, "text": reply.text, "lasting": reply.lasting}
    if isinstance(reply, Unknown):
        return {"v": 1, "reply": "unknown", "gid": reply.gid, "attempt": reply.attempt}
    if isinstance(reply, State):
        return {**_with_record(reply.record, now_s), "reply": "state"}
    if isinstance(reply, States):
        records = [_with_record(record, now_s) for record in reply.records]
        return {"v": 1, "reply": "states", "records": records, "unknown": list(reply.unknown)}
    return {"v": 1, "reply": "failed", "text": reply.text}


def reply_from_data(data: object, now_s: float) -> Reply:
    """A reply as it was sent. Raises :class:`MessageError`."""
    read = _object(data)
    kind = read.get("reply")
    try:
        if kind == "avail":
            return Answer.from_data(data)
        if kind == "accepted":
            return Taken(_record(read, now_s), _text("datakey", read.get("datakey", "")))
        if kind == "busy":
            answer = read.get("answer")
            return Busy(_text("text", read.get("text")), None if answer is None else Answer.from_data(answer))
    except AnswerError as error:
        raise MessageError(str(error)) from error
    if kind == "refused":
        lasting = read.get("lasting")
        if not isinstance(lasting, bool):
            raise MessageError(f"lasting: {lasting!r:.40}: must be true or false")
        return Refused(_text("code", read.get("code")), _text("text", read.get("text")), lasting)
    if kind == "unknown":
        return Unknown(_gid(read.get("gid")), _number("attempt", read.get("attempt")))
    if kind == "state":
        return State(_record(read, now_s))
    if kind == "states":
        records = read.get("records")
        if not isinstance(records, list) or len(records) > MOST_GIDS:
            raise MessageError(f"records: must be a list of at most {MOST_GIDS}")
        return _states(records, _gids("unknown", read.get("unknown")), now_s)
    if kind == "failed":
        return Failed(_text("text", read.get("text")))
    raise MessageError(f"reply: {kind!r:.40}: is none of this version's")


def _states(data: list[object], unknown: tuple[str, ...], now_s: float) -> States:
    """The reply to ``query``. A record that cannot be read takes none of the others along."""
    records: list[Record] = []
    unreadable: list[Unreadable] = []
    for one in data:
        try:
            records.append(_record(_object(one), now_s))
        except MessageError as error:  # noqa: PERF203 - one unreadable record hides no other
            unreadable.append(Unreadable(_find_gid(one), printable(str(error))[:_MOST_WHY]))
    return States(tuple(records), unknown, tuple(unreadable))


def _find_gid(data: object) -> str:
    """The job id of a record that cannot be read; empty if that cannot be read either."""
    line = data.get("record") if isinstance(data, dict) else None
    match = _GID_OF_LINE.search(line[:MOST_LINE]) if isinstance(line, str) else None
    try:
        return "" if match is None else _gid(match[1])
    except MessageError:
        return ""


def states_that_fit(records: Iterable[Record], unknown: Iterable[str], now_s: float) -> States:
    """The reply to ``query`` with as many records as one message takes. The source queries the missing ones again."""
    fitting: list[Record] = []
    left = MOST_BYTES // 2
    for record in records:
        left -= len(json.dumps(_with_record(record, now_s)))
        if left < 0:
            break
        fitting.append(record)
    return States(tuple(fitting), tuple(unknown))


# Lines


def to_line_bytes(data: Mapping[str, Any]) -> bytes:
    """The message as it is sent: one line of JSON in ASCII. Raises :class:`MessageError` for one too large."""
    line = json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"
    if len(line) > MOST_BYTES:
        raise MessageError(f"the message has {len(line):,} bytes: at most {MOST_BYTES:,} are allowed")
    return line


def from_line_bytes(line: bytes) -> object:
    """The data of a line. Raises :class:`MessageError`."""
    if len(line) > MOST_BYTES:
        raise MessageError(f"the message has more than {MOST_BYTES:,} bytes")
    if not line.endswith(b"\n"):
        raise MessageError("the message is cut off")
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"the message is no JSON: {error}") from error


def _object(data: object) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise MessageError(f"message {data!r:.60}: must be an object")
    if data.get("v") != 1:
        raise MessageError(f"v: {data.get('v')!r:.40}: must be 1")
    return data


def _with_record(record: Record, now_s: float) -> dict[str, Any]:
    ages = {name: max(0, int(now_s - getattr(record, name))) for name in _TIMES if getattr(record, name)}
    none: dict[str, Any] = dict.fromkeys(_TIMES, 0)
    return {"v": 1, "record": to_line(replace(record, **none)), "ages": ages}


_TIMES = ("created", "since", "offered")


def _record(data: Mapping[str, Any], now_s: float, most: int = MOST_LINE) -> Record:
    try:
        return _read_record(data, now_s, most)
    except MessageError as error:
        raise RecordError(str(error)) from error


def _read_record(data: Mapping[str, Any], now_s: float, most: int) -> Record:
    line = data.get("record")
    if not isinstance(line, str):
        raise MessageError(f"record: {line!r:.60}: must be a line")
    if len(line) > most:
        raise MessageError(f"record: {len(line):,} characters: at most {most:,} are taken")
    try:
        record = from_line(line)
    except LineError as error:
        raise MessageError(f"record: {error}") from error
    problem = _find_excess(record)
    if problem:
        raise MessageError(f"record {record.gid}: {problem}")
    ages = data.get("ages")
    if not isinstance(ages, dict):
        raise MessageError(f"ages: {ages!r:.40}: must be an object")
    times: dict[str, Any] = {}
    for name in _TIMES:
        times[name] = max(0, int(now_s) - _number(name, ages[name])) if name in ages else 0
    return replace(record, **times)


def _find_excess(record: Record) -> str:
    """What is larger than any cluster writes it, or is none of its kind; empty if nothing is."""
    for name, most in _MOST_TEXTS.items():
        length = len(getattr(record, name))
        if length > most:
            return f"{name}: {length:,} characters: at most {most:,} are taken"
    if max(record.rev, record.attempt) > _MOST_CHANGES:
        return f"rev {record.rev} or attempt {record.attempt}: at most {_MOST_CHANGES:,}"
    if record.then and record.then not in FINAL:
        return f"then: {record.then!r:.40}: must be one of {', '.join(sorted(FINAL))}"
    if len(record.avoid) > _MOST_CLUSTERS or not all(map(CLUSTER_NAME.fullmatch, record.avoid)):
        return f"avoid: must be at most {_MOST_CLUSTERS:,} names of clusters"
    if len(record.more) > _MOST_MORE or any(len(value) > MOST_TEXT for value in record.more.values()):
        return f"{len(record.more)} keys that are none of this version's: at most {_MOST_MORE}, each with {MOST_TEXT:,}"
    return ""


def _gid(value: object) -> str:
    if not isinstance(value, str):
        raise MessageError(f"gid: {value!r:.40}: must be a job id")
    try:
        split_gid(value)
    except ValueError as error:
        raise MessageError(str(error)) from error
    return value


def _gids(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MOST_GIDS:
        raise MessageError(f"{name}: must be a list of at most {MOST_GIDS} job ids")
    return tuple(map(_gid, value))


def _number(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_NUMBER:
        raise MessageError(f"{name}: {value!r:.40}: must be a whole number from 0 to {_MOST_NUMBER}")
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT or not value.isprintable():
        raise MessageError(f"{name}: {value!r:.60}: must be printable text of at most {MOST_TEXT} characters")
    return value
