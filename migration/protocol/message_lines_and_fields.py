"""A message as one bounded line of JSON, and the checks of its fields, one by one.

Records travel as their lines; times in them are replaced by ages, since only local clocks are compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from migration.spool.record_as_key_value_line import MOST_LINE, LineError, from_line, to_line
from policy.migration.job_record_and_copy_updates import CLUSTER_NAME, Record, split_gid
from policy.migration.job_states_and_transitions import FINAL

MOST_BYTES = 1 << 20
MOST_GIDS = 1_000
MOST_TEXT = 1_000
"""The most characters of a reason; no cluster writes a longer one."""
_MOST_NUMBER = 10**15
_MOST_CHANGES = 10**9
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
_TIMES = ("created", "since", "offered")


class MessageError(ValueError):
    """An invalid message; the text names the field and what is allowed."""


class RecordError(MessageError):
    """One record of a message that cannot be read: it says nothing about any other job."""


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


def check_object(data: object) -> Mapping[str, Any]:
    """The message as an object of version 1. Raises :class:`MessageError`."""
    if not isinstance(data, dict):
        raise MessageError(f"message {data!r:.60}: must be an object")
    if data.get("v") != 1:
        raise MessageError(f"v: {data.get('v')!r:.40}: must be 1")
    return data


def record_to_data(record: Record, now_s: float) -> dict[str, Any]:
    """A record as plain data: its line, with ages in the place of times."""
    ages = {name: max(0, int(now_s - getattr(record, name))) for name in _TIMES if getattr(record, name)}
    none: dict[str, Any] = dict.fromkeys(_TIMES, 0)
    return {"v": 1, "record": to_line(replace(record, **none)), "ages": ages}


def record_from_data(data: Mapping[str, Any], now_s: float, most: int = MOST_LINE) -> Record:
    """The record of plain data, with times of this clock. Raises :class:`RecordError`."""
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
        times[name] = max(0, int(now_s) - check_number(name, ages[name])) if name in ages else 0
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


def check_gid(value: object) -> str:
    """A job id. Raises :class:`MessageError`."""
    if not isinstance(value, str):
        raise MessageError(f"gid: {value!r:.40}: must be a job id")
    try:
        split_gid(value)
    except ValueError as error:
        raise MessageError(str(error)) from error
    return value


def check_gids(name: str, value: object) -> tuple[str, ...]:
    """A list of job ids. Raises :class:`MessageError`."""
    if not isinstance(value, list) or len(value) > MOST_GIDS:
        raise MessageError(f"{name}: must be a list of at most {MOST_GIDS} job ids")
    return tuple(map(check_gid, value))


def check_number(name: str, value: object) -> int:
    """A whole number that is not negative. Raises :class:`MessageError`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_NUMBER:
        raise MessageError(f"{name}: {value!r:.40}: must be a whole number from 0 to {_MOST_NUMBER}")
    return value


def check_text(name: str, value: object) -> str:
    """A printable text. Raises :class:`MessageError`."""
    if not isinstance(value, str) or len(value) > MOST_TEXT or not value.isprintable():
        raise MessageError(f"{name}: {value!r:.60}: must be printable text of at most {MOST_TEXT} characters")
    return value
