"""The questions of ``mgserve``: a verb, the whole command of the ssh connection, and its body on standard input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from migration.protocol.message_lines_and_fields import (
    MessageError,
    check_gid,
    check_gids,
    check_number,
    check_object,
    from_line_bytes,
    record_from_data,
    record_to_data,
    to_line_bytes,
)
from migration.spool.record_as_key_value_line import MOST_LINE
from policy.migration.job_record_and_copy_updates import Record

AVAIL, ACCEPT, WITHDRAW, QUERY, STOP, SEVERAL = VERBS = ("avail", "accept", "withdraw", "query", "stop", "several")
"""``several`` is several of the others over one connection: each is a line, answered by one before the next is read."""
PREFIX = "mg "
_MOST_OFFERED = MOST_LINE // 2
"""The most of a record that is offered. One that is taken can still grow within the bound of the spool's lines, and
comes back so."""


def read_verb(command: str) -> str:
    """The verb of SSH_ORIGINAL_COMMAND, which is ``mg VERB`` and nothing more. Raises :class:`MessageError`."""
    verb = command[len(PREFIX) :] if command.startswith(PREFIX) else ""
    if verb not in VERBS:
        raise MessageError(f"{no_such_verb(command)} must be {PREFIX}and one of {', '.join(VERBS)}")
    return verb


def several_to_data(verb: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
    """One question of ``several``."""
    return {"v": 1, "ask": verb, "body": body}


def read_several(line: bytes) -> tuple[str, bytes]:
    """The verb of a question, and its body as a line; empty if it has none. Raises :class:`MessageError`."""
    read = check_object(from_line_bytes(line))
    verb, body = read.get("ask"), read.get("body")
    if verb not in VERBS or verb == SEVERAL:
        raise MessageError(f"ask {verb!r:.40}: must be one of {', '.join(VERBS[:-1])}")
    return str(verb), b"" if body is None else to_line_bytes(check_object(body))


def no_such_verb(command: str) -> str:
    """The beginning of the message about a command that is no verb; other versions look for it."""
    return f"command {command!r:.60}:"


@dataclass(frozen=True)
class Hand:
    """``accept``: take this record, which is Offered, for its ``attempt``."""

    record: Record

    def to_data(self, now_s: float) -> dict[str, Any]:
        """Plain data."""
        return record_to_data(self.record, now_s)

    @classmethod
    def from_data(cls, data: object, now_s: float) -> Hand:
        """Raises :class:`MessageError`."""
        return cls(record_from_data(check_object(data), now_s, _MOST_OFFERED))


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
        read = check_object(data)
        discard = read.get("discard", False)
        if not isinstance(discard, bool):
            raise MessageError(f"discard: {discard!r:.40}: must be true or false")
        return cls(check_gid(read.get("gid")), check_number("attempt", read.get("attempt")), discard)


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
        return cls(check_gids("gids", check_object(data).get("gids")))
