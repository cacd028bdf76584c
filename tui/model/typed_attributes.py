"""One job, vnode or queue as the server described it, read into typed facts.

Reading is lazy and forgiving: a fact is read when a line needs it, and an attribute that is missing or odd becomes
``None`` or zero, never an error, since these facts are only shown. What is decided, is decided from ``policy`` values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from policy.model.limits import LimitError, Limits, parse_limits
from policy.model.units import UnitError, parse_amount, parse_duration_s

Attributes = Mapping[str, str]

SOFT_LIMIT = "max_run_res_soft."
_SUBJOB = re.compile(r"\[\d+\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
_VNODE_IN_EXEC = re.compile(r"[(+]([^:()+]+)")

STATE_WORDS = {
    "Q": "queued",
    "R": "running",
    "H": "held",
    "W": "waiting for its time",
    "T": "in transit",
    "S": "suspended",
    "U": "suspended by its user",
    "E": "exiting",
    "B": "array begun",
    "M": "moved",
    "X": "subjob done",
    "F": "finished",
}
_MOST = 1 << 53
_LAST_DIGITS = 11
_LAST_S = 10.0**_LAST_DIGITS
"""What is larger than this is no amount, no time and no index; arithmetic and calendars would fail on it."""

RUNNING_STATES = frozenset("RESU")
SUSPENDED_STATES = frozenset("SU")
"""Such a job has let go of its cores; a pass counts it with those that wait (hooks/translate/jobs.py)."""
WAITING_STATES = frozenset("QHWT")


def amount(attributes: Attributes, name: str) -> int:
    """A whole amount (sizes in KiB); 0 where it is missing, unreadable or beyond all reason."""
    found = parse_amount(attributes.get(name, "")) or 0
    return found if abs(found) <= _MOST else 0


def seconds(attributes: Attributes, name: str) -> float | None:
    """A duration in seconds; None where it is missing or unreadable."""
    text = attributes.get(name)
    if not text:
        return None
    try:
        found = parse_duration_s(text)
    except UnitError:
        return None
    return float(found) if found <= _LAST_S else None


def moment(attributes: Attributes, *names: str) -> float | None:
    """The first of these points in time that can be read, in seconds since the epoch."""
    for name in names:
        text = attributes.get(name, "")
        if text.isascii() and text.isdigit() and len(text) <= _LAST_DIGITS:
            return float(text)
    return None


def is_subjob(job_id: str) -> bool:
    """True for ``12[3].server``, one of an array; false for the array ``12[].server``."""
    return "[" in job_id and _SUBJOB.search(job_id) is not None


def short_id(job_id: str) -> str:
    """The id without the server's name."""
    return job_id.partition(".")[0]


def user_of(attributes: Attributes) -> str:
    """The user the job runs as; the owner without the host where the server does not say."""
    return attributes.get("euser") or attributes.get("Job_Owner", "").partition("@")[0]


def group_of(attributes: Attributes) -> str:
    """The group the job runs as."""
    return attributes.get("egroup") or attributes.get("group_list", "").partition("@")[0]


def is_array(job_id: str) -> bool:
    """True for the array itself, ``12[].server``."""
    return "[]" in job_id


def array_of(subjob_id: str) -> str:
    """The id of the array that a subjob belongs to."""
    return _SUBJOB.sub("[]", subjob_id, count=1)


def subjobs_waiting(attributes: Attributes) -> int:
    """How many subjobs of an array have not started, from ``0-9,12,20-30:2``."""
    total = 0
    for first, last, step in _RANGE.findall(attributes.get("array_indices_remaining", "")):
        if len(first + last + step) > _LAST_DIGITS * 2:
            continue
        if last:
            total += max(0, (int(last) - int(first)) // max(1, int(step or 1)) + 1)
        else:
            total += 1
    return total


def vnodes_of(exec_vnode: str) -> tuple[str, ...]:
    """The vnodes named by an ``exec_vnode``, each once, in order."""
    return tuple(dict.fromkeys(_VNODE_IN_EXEC.findall(exec_vnode)))


def some_of(names: tuple[str, ...]) -> str:
    """Up to two names, and how many more there are."""
    more = len(names) - 2
    return " ".join(names[:2]) + (f" +{more}" if more > 0 else "")


class VnodeState(NamedTuple):
    """A vnode's state in one letter (blank: simply up) and in words."""

    letter: str
    words: str
    up: bool


def vnode_state(attributes: Attributes) -> VnodeState:
    """What a vnode's state means for an administrator: the worst part of it as the letter, all of it in words."""
    text = attributes.get("state", "")
    parts = {part.strip() for part in text.split(",") if part.strip()}
    if parts & {"down", "stale"}:
        return VnodeState("d", text, False)
    if "offline" in parts:
        return VnodeState("o", text, False)
    if not parts or any("unknown" in part for part in parts):
        return VnodeState("?", text or "unknown", False)
    if parts & {"resv-exclusive", "maintenance"} or attributes.get("resv"):
        return VnodeState("r", text, True)
    if "job-exclusive" in parts:
        return VnodeState("x", text, True)
    return VnodeState("" if parts & {"free", "job-busy"} else "?", text, bool(parts & {"free", "job-busy"}))


def soft_limits(queue: Attributes, resource: str) -> Limits:
    """A queue's soft quotas on a resource; none where the attribute is missing or unreadable."""
    try:
        return parse_limits(queue.get(SOFT_LIMIT + resource, ""), "quota")
    except LimitError:
        return Limits()


def limit_entry(queue: Attributes, resource: str, entity: tuple[str, str]) -> int | None:
    """One entry of a queue's soft quotas exactly as it stands, not the generic one that may apply instead."""
    return soft_limits(queue, resource).entries.get(entity)


DRAINED_BY = "pbsteer drain by"
"""What the comment of a vnode that was drained here begins with."""


def is_draining(vnode: Attributes) -> bool:
    """Whether a vnode was drained here and some of its jobs still run."""
    return vnode.get("comment", "").startswith(DRAINED_BY) and "offline" in vnode.get("state", "") and "jobs" in vnode
