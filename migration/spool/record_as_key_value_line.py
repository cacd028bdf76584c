"""A record as one line: tab-separated ``key=value``, values percent-encoded, so that awk and sed can read it.

Every value survives: tab, newline, ``%``, ``=``, ``,``, control characters and all bytes outside ASCII are encoded.
Unknown keys are kept; an invalid line is refused as a whole, with the key and the value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from policy.migration.job_record_and_copy_updates import Record, split_gid
from policy.migration.job_states_and_transitions import read_state

MOST_LINE = 256 << 10
_SAFE = re.compile(r"[ -$&-+\--<>-~]*")
_KEY = re.compile(r"[a-z][a-z_]{0,31}")
_ENCODED = re.compile(rb"%([0-9A-Fa-f]{2})|%")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
_EMPTY_ELEMENT = "%00"
_MOST_ELEMENTS = 10_000

_FIELDS = tuple(one for one in fields(Record) if one.name != "more")
_DEFAULTS = {one.name: one.default for one in _FIELDS}
_KINDS = {name: type(default) for name, default in _DEFAULTS.items()}
"""A file has tens of thousands of lines, with some ten fields each."""


class LineError(ValueError):
    """A line that is no record; the message names the key and the value."""


def encode(text: str) -> str:
    """The value as it stands on a line."""
    if _SAFE.fullmatch(text):
        return text
    out = []
    for byte in text.encode("utf-8", "surrogateescape"):
        letter = chr(byte)
        out.append(f"%{byte:02X}" if letter in "%=," or not 0x20 <= byte < 0x7F else letter)
    return "".join(out)


def encode_value(value: str | int | tuple[str, ...]) -> str:
    """A text, a number or a list as it stands on a line."""
    if isinstance(value, tuple):
        return ",".join(encode(one) or _EMPTY_ELEMENT for one in value)
    return encode(value) if isinstance(value, str) else str(value)


def decode(value: str) -> str:
    """The value of a line as it was. Raises LineError for a ``%`` that begins no code."""
    if "%" not in value:
        return value
    return _ENCODED.sub(_byte, value.encode("ascii")).decode("utf-8", "surrogateescape")


def to_line(record: Record) -> str:
    """The record's line, without its end. Keys with their default are left out, but for those that awk looks for."""
    parts = ["v=1"]
    values = vars(record)
    for name, default in _DEFAULTS.items():
        value = values[name]
        if value == default and name not in _ALWAYS:
            continue
        parts.append(f"{name}={encode_value(value)}")
    parts.extend(f"{name}={encode(value)}" for name, value in record.more.items())
    line = "\t".join(parts)
    if len(line) > MOST_LINE:
        raise LineError(f"{record.gid}: the record has {len(line):,} bytes: at most {MOST_LINE:,} are allowed")
    return line


_ALWAYS = frozenset({"gid", "user", "src", "dst", "state", "attempt", "rev", "cores"})


def from_line(line: str) -> Record:
    """The record of a line. Raises :class:`LineError`."""
    pairs = to_pairs(line)
    if pairs.pop("v", None) != "1":
        raise LineError("v: must be the first key, and 1")
    values, more = read_fields(pairs)
    try:
        split_gid(values.get("gid", ""))
    except ValueError as error:
        raise LineError(str(error)) from error
    return Record(**values, more=more) if more else Record(**values)


def read_fields(pairs: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields of a record among the pairs of a line, with their types, and what is none of them. Raises
    :class:`LineError`.
    """
    values: dict[str, Any] = {}
    more: dict[str, str] = {}
    for name, value in pairs.items():
        kind = _KINDS.get(name)
        if kind is str:
            values[name] = decode(value) if "%" in value else value
        elif kind is int:
            if not _NUMBER.fullmatch(value):
                raise LineError(f"{name}: {value!r:.40}: must be a whole number of at most 18 digits")
            values[name] = int(value)
        elif kind is tuple:
            values[name] = to_list(name, value)
        else:
            more[name] = decode(value)
    try:
        if "state" in values:
            values["state"] = read_state(values["state"])
    except ValueError as error:
        raise LineError(str(error)) from error
    return values, more


def to_pairs(line: str) -> dict[str, str]:
    """The keys and the still encoded values of a line. Raises :class:`LineError`."""
    if len(line) > MOST_LINE:
        raise LineError(f"the line has {len(line):,} bytes: at most {MOST_LINE:,} are allowed")
    if not line.isascii() or not line.replace("\t", " ").isprintable():
        raise LineError("the line has bytes outside printable ASCII")
    pairs: dict[str, str] = {}
    for part in line.split("\t"):
        name, equals, value = part.partition("=")
        if not equals or not (name in _DEFAULTS or _KEY.fullmatch(name)):
            raise LineError(f"{part!r:.60}: must be key=value")
        if name in pairs:
            raise LineError(f"{name}: stands twice")
        pairs[name] = value
    return pairs


def to_list(name: str, value: str) -> tuple[str, ...]:
    """The elements of a list; an empty element is written ``%00``."""
    if not value:
        return ()
    elements = value.split(",")
    if len(elements) > _MOST_ELEMENTS:
        raise LineError(f"{name}: {len(elements)} elements: at most {_MOST_ELEMENTS} are allowed")
    return tuple("" if one == _EMPTY_ELEMENT else decode(one) for one in elements)


def _byte(match: re.Match[bytes]) -> bytes:
    if match[1] is None:
        raise LineError(f"{match.string!r:.60}: a % must begin a code such as %09")
    return bytes([int(match[1], 16)])
