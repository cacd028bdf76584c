"""Readbacks: one value of one object on the server, read before a change and again after it.

They read the attributes in the words of ``ServerStatus``, so that any manager's commands can use them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from policy.model.limit_attributes import EntityKey
from tui.model.job_state_and_exit_status_words import STATE_WORDS
from tui.model.typed_attributes import RUNNING_STATES, soft_limits

GONE = "gone"
NONE = "none"
OFFLINE = "offline"
IN_USE = "in use"
UNDER_WAY = "under way"
_HOLDS = "soupl"
"""The holds by the system (or a manager, or a dependency), an operator, the user, for a bad password, by an array."""


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


def show_entries(entries: Mapping[EntityKey, int | None]) -> str:
    """The limit of a single entity; of several, each entity's name before its limit."""
    if len(entries) == 1:
        return show_limit(*entries.values())
    return ", ".join(f"{name} {show_limit(limit)}" for (_, name), limit in entries.items())


@dataclass(frozen=True)
class Entries:
    """Some entities' own entries among a queue's or the server's soft limits on a resource. ``alone``: the change is
    one of the whole limit, so that any other entry belongs to the value."""

    resource: str
    entities: tuple[EntityKey, ...]
    alone: bool = False

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """Their limits, as :func:`show_entries` shows them."""
        if attributes is None:
            return GONE
        entries = soft_limits(attributes, self.resource).entries
        others = [entity for entity in entries if entity not in self.entities] if self.alone else []
        return show_entries({entity: entries.get(entity) for entity in (*self.entities, *others)})


@dataclass(frozen=True)
class JobState:
    """A job's state in a word, with the start time of a run, so that another run is another value."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """``queued``, ``running since 1790000000``, ``gone``."""
        if attributes is None or attributes.get("job_state", "") in ("F", "X", "M"):
            return GONE
        state = attributes.get("job_state", "")
        word = STATE_WORDS.get(state, state or "unknown")
        began = _as_programs_print(attributes.get("stime", ""))
        return f"{word} since {began}" if state in ("R", "E") and began else word


def _as_programs_print(moment: str) -> str:
    """The moment as it is read from the output of PBS's programs, which print local time: in the hour that autumn has
    twice, two moments are printed alike, and count as one here."""
    if not moment.isdigit():
        return moment
    return str(int(time.mktime((*time.localtime(int(moment))[:8], -1))))


@dataclass(frozen=True)
class Holds:
    """The letters of a job's holds in the server's own order, whatever the order in which they were put together."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """``n``, ``su``."""
        return "".join(sorted(Plain("Hold_Types", "n").of(attributes), key=_HOLDS.find)) if attributes else GONE


@dataclass(frozen=True)
class HoldsWhileWaiting:
    """A job's holds, and its state as soon as it runs: the same holds of a run are another value than of a waiting
    job, since a hold may checkpoint and end a run."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """``n``, ``ou``; of a run ``n, running since 1790000000``."""
        holds = Holds().of(attributes)
        runs = attributes is not None and attributes.get("job_state", "") in RUNNING_STATES
        return f"{holds}, {JobState().of(attributes)}" if runs else holds


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
