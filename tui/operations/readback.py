"""Readbacks: one value of one object on the server, read before a change and again after it.

A readback turns an object's attributes, None if the object is gone, into a short text. Equal texts mean that the value
did not change in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from policy.model.limits import EntityKey
from tui.model.typed_attributes import STATE_WORDS, limit_entry

GONE = "gone"
NONE = "none"
OFFLINE = "offline"
IN_USE = "in use"


class Target(NamedTuple):
    """The target of a change: ``kind`` is job, vnode, queue, sched or server, ``name`` is PBS's name for it."""

    kind: str
    name: str


class Readback(Protocol):
    """Reads one value from an object's attributes."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """The value as a short text; :data:`GONE` if the object is not there."""


@dataclass(frozen=True)
class Plain:
    """An attribute as PBS shows it; ``missing`` is the value if it is not set."""

    attribute: str
    missing: str = NONE

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """The attribute's text."""
        return GONE if attributes is None else attributes.get(self.attribute, "") or self.missing


@dataclass(frozen=True)
class Entry:
    """One entity's own entry among a queue's or the server's soft limits on a resource."""

    resource: str
    entity: EntityKey

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """The limit with thousands separators, or ``none``."""
        if attributes is None:
            return GONE
        limit = limit_entry(attributes, self.resource, self.entity)
        return NONE if limit is None else f"{limit:,}"


@dataclass(frozen=True)
class JobState:
    """A job's state in a word, with the start time of a run, so that another run is another value."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """``queued``, ``running since 1790000000``, ``gone``."""
        if attributes is None or attributes.get("job_state", "") in ("F", "X", "M"):
            return GONE
        state = attributes.get("job_state", "")
        word = STATE_WORDS.get(state, state or "unknown")
        began = attributes.get("stime", "")
        return f"{word} since {began}" if state in ("R", "E") and began else word


@dataclass(frozen=True)
class Offline:
    """Whether the vnode is set offline."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """:data:`OFFLINE` or :data:`IN_USE`."""
        if attributes is None:
            return GONE
        return OFFLINE if "offline" in attributes.get("state", "").split(",") else IN_USE


@dataclass(frozen=True)
class OfflineWhy:
    """Whether the vnode is set offline, with its comment, which says why."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """``offline: pbsteer drain by root``."""
        if attributes is None:
            return GONE
        comment = attributes.get("comment", "")
        return Offline().of(attributes) + (f": {comment}" if comment else "")
