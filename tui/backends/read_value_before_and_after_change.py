"""Readbacks: one value of one object on the server, read before a change and again after it.

They read the attributes in the words of ``ServerStatus``, so that any manager's commands can use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policy.model.limit_attributes import EntityKey
from tui.model.job_state_and_exit_status_words import STATE_WORDS
from tui.model.typed_attributes import limit_entry

GONE = "gone"
NONE = "none"
OFFLINE = "offline"
IN_USE = "in use"
UNDER_WAY = "under way"


def show_limit(limit: int | None) -> str:
    """A limit with thousands separators, or ``none``."""
    return NONE if limit is None else f"{limit:,}"


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
        return show_limit(limit_entry(attributes, self.resource, self.entity))


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
class StopRequest:
    """Whether a migrating job is to stop. It is the same wherever the job is: a stop goes after it."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """``under way``, ``stop requested``, or the state in which it ended."""
        if attributes is None:
            return GONE
        under_way = attributes.get("state") == UNDER_WAY
        return "stop requested" if under_way and attributes.get("stop") else attributes.get("state", "")


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
