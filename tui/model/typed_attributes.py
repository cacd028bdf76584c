"""Reads the attribute texts of one job, vnode or queue as typed values.

Values are read when they are shown. A missing or malformed attribute becomes ``None`` or zero, never an error, since
the values are only shown; decisions use the values of ``policy``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from hooks.pbs.custom_resources import PRIORITY
from hooks.pbs.first_host_is_up import STALE
from hooks.pbs.job_attributes.job_ids_and_states import count_indices
from policy.model.limit_attributes import LimitError, Limits, parse_limits
from policy.model.pbs_units import UnitError, parse_amount, parse_duration_s

Attributes = Mapping[str, str]

SOFT_LIMIT = "max_run_res_soft."
_VNODE_IN_EXEC = re.compile(r"[(+]([^:()+]+)")

_MOST = 1 << 53
_LAST_DIGITS = 11
_LAST_S = 10.0**_LAST_DIGITS
"""Larger values count as unreadable; arithmetic and calendars would fail on them."""

RUNNING_STATES = frozenset("RESU")
SUSPENDED_STATES = frozenset("SU")
"""Suspended jobs have released their cores; a pass counts them as waiting (hooks/translate/job/jobs.py)."""
WAITING_STATES = frozenset("QHWT")
MAY_START_STATES = frozenset("QWB")
"""Waiting jobs, and arrays with subjobs that wait, which start by themselves."""


def amount(attributes: Attributes, name: str) -> int:
    """A whole amount (sizes in KiB); 0 if it is missing, unreadable or too large."""
    found = parse_amount(attributes.get(name, "")) or 0
    return found if abs(found) <= _MOST else 0


def seconds(attributes: Attributes, name: str) -> float | None:
    """A duration in seconds; None if it is missing, unreadable or too large."""
    text = attributes.get(name)
    if not text:
        return None
    try:
        found = parse_duration_s(text)
    except UnitError:
        return None
    return float(found) if found <= _LAST_S else None


def moment(attributes: Attributes, *names: str) -> float | None:
    """The first of these points in time that can be read, in seconds since 1970; None if there is none."""
    for name in names:
        text = attributes.get(name, "")
        if text.isascii() and text.isdigit() and len(text) <= _LAST_DIGITS:
            return float(text)
    return None


def user_of(attributes: Attributes) -> str:
    """The user that the job runs as; if the server does not show it, the owner without the host."""
    return attributes.get("euser") or attributes.get("Job_Owner", "").partition("@")[0]


def group_of(attributes: Attributes) -> str:
    """The group that the job runs as; if the server does not show it, the one requested."""
    return attributes.get("egroup") or attributes.get("group_list", "").partition("@")[0]


def subjobs_waiting(attributes: Attributes) -> int:
    """The number of subjobs of an array that have not started, from texts such as ``0-9,12,20-30:2``."""
    return count_indices(attributes.get("array_indices_remaining", ""))


def vnodes_of(exec_vnode: str) -> tuple[str, ...]:
    """The vnodes in an ``exec_vnode``, each once, in order."""
    return tuple(dict.fromkeys(_VNODE_IN_EXEC.findall(exec_vnode)))


class VnodeState(NamedTuple):
    """A vnode's state as one letter (blank: up), in words, and whether it is up."""

    letter: str
    words: str
    up: bool


def vnode_state(attributes: Attributes) -> VnodeState:
    """A vnode's state for an administrator: its most serious part as the letter, all of it in words."""
    text = attributes.get("state", "")
    parts = {part.strip() for part in text.split(",") if part.strip()}
    if parts & {"down", STALE}:
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


_OF_JOBS = {"job-busy": "full", "job-exclusive": "exclusive", "job-sharing": "shared"}


def spoken(words: str) -> str:
    """PBS's states of vnodes as they are read: beside another state, what only says whether jobs are there is left
    out."""
    parts = [part.strip() for part in words.split(",") if part.strip()]
    others = [part for part in parts if part != "free" and part not in _OF_JOBS]
    return ", ".join(others or [_OF_JOBS.get(part, part) for part in parts]) or words


def state_in_words(vnode: Attributes, counted: str) -> str:
    """A vnode's state as all views and dialogs say it. What PBS calls free is empty, part used or full, by the cores
    (``counted``) that jobs have; it calls a vnode free as long as anything of it is."""
    if is_draining(vnode):
        return "draining"
    words = spoken(vnode_state(vnode).words)
    if words != "free":
        return words
    used, whole = (amount(vnode, f"resources_{part}.{counted}") for part in ("assigned", "available"))
    return "empty" if not used else "part used" if used < whole else "full"


def soft_limits(queue: Attributes, resource: str) -> Limits:
    """A queue's or the server's soft quotas on a resource; none if the attribute is missing or unreadable."""
    try:
        return parse_limits(queue.get(SOFT_LIMIT + resource, ""), "quota")
    except LimitError:
        return Limits()


def resources_with_quotas(attributes: Attributes) -> list[str]:
    """The resources that have soft limits of a queue or the server, without priorities."""
    found = [name[len(SOFT_LIMIT) :] for name in attributes if name.startswith(SOFT_LIMIT)]
    return [resource for resource in found if resource != PRIORITY and soft_limits(attributes, resource)]


def limit_entry(queue: Attributes, resource: str, entity: tuple[str, str]) -> int | None:
    """An entity's own entry among the soft quotas; None if it has none, even if a generic entry applies."""
    return soft_limits(queue, resource).entries.get(entity)


DRAINED_BY = "pbsteer drain by"
"""The beginning of a drained vnode's comment."""


def is_draining(vnode: Attributes) -> bool:
    """Whether a vnode was drained by pbsteer and still has jobs."""
    return vnode.get("comment", "").startswith(DRAINED_BY) and "offline" in vnode.get("state", "") and "jobs" in vnode
