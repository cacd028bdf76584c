"""One value of one object of the server, as it is read before a change and again after it.

A facet takes an object's attributes, None where the object is not there, and gives a short text; equal texts mean that
nobody has changed what somebody is about to change.
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
    """What a change is made to: ``kind`` is job, vnode, queue, sched or server, ``name`` PBS's name for it."""

    kind: str
    name: str


class Facet(Protocol):
    """Gives the value."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """The value as a short text; :data:`GONE` for an object that is not there."""


@dataclass(frozen=True)
class Plain:
    """An attribute as PBS shows it; ``missing`` is what an absent one means."""

    attribute: str
    missing: str = NONE

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """The attribute."""
        return GONE if attributes is None else attributes.get(self.attribute, "") or self.missing


@dataclass(frozen=True)
class Entry:
    """One entity's own entry among a queue's soft limits on a resource."""

    resource: str
    entity: EntityKey

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """The number, with commas, or none."""
        if attributes is None:
            return GONE
        limit = limit_entry(attributes, self.resource, self.entity)
        return NONE if limit is None else f"{limit:,}"


@dataclass(frozen=True)
class JobState:
    """A job's state in a word, with the moment it started at where it runs: another run is another value."""

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
    """Whether somebody took a vnode out of use."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """:data:`OFFLINE` or :data:`IN_USE`."""
        if attributes is None:
            return GONE
        return OFFLINE if "offline" in attributes.get("state", "").split(",") else IN_USE


@dataclass(frozen=True)
class OfflineWhy:
    """The same with the vnode's comment, which says why."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """``offline: pbsteer drain by root``."""
        if attributes is None:
            return GONE
        comment = attributes.get("comment", "")
        return Offline().of(attributes) + (f": {comment}" if comment else "")
