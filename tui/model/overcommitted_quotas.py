"""Overcommitted quotas: they add up to more than a queue's cores, so not all can be used at once (docs/policies.md).

This is allowed. The entries of users, of groups and of projects are summed separately; the entries for all others
(``PBS_GENERIC``) and for all together name no single entity and are left out.
"""

from __future__ import annotations

from collections import Counter

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.limit_attributes import GENERIC
from policy.model.pbs_units import parse_amount
from tui.model.typed_attributes import soft_limits
from tui.text.screen_line import Line, safe

_KINDS = {"u": "users", "g": "groups", "p": "projects"}


def overcommitted(server_status: ServerStatus, queue: str, counted: str) -> list[Line]:
    """One line for each kind of entity whose quotas add up to more of the counted resource than the vnodes of the queue
    have, or all vnodes for the server (``queue`` empty)."""
    attributes = server_status.queues.get(queue, {}) if queue else server_status.server
    sums: Counter[str] = Counter()
    for (kind, name), quota in soft_limits(attributes, counted).entries.items():
        if kind in _KINDS and name != GENERIC:
            sums[kind] += quota
    if not sums:
        return []
    there = _capacity(server_status, attributes.get("partition", "") if queue else None, counted)
    where = f"in {safe(queue)} " if queue else "of the whole cluster "
    return [
        (
            (f"quotas of {_KINDS[kind]} {where}", ""),
            ("add up", "warn"),
            (f" to {total:,} of {there:,} {safe(counted)}", ""),
        )
        for kind, total in sums.items()
        if total > there
    ]


def _capacity(server_status: ServerStatus, partition: str | None, counted: str) -> int:
    """The resource on the vnodes of a partition, or on all (None), including down and offline ones: they come back."""
    name = f"resources_available.{counted}"
    here = (vnode for vnode in server_status.vnodes.values() if partition in (None, vnode.get("partition", "")))
    return sum(parse_amount(vnode.get(name, "")) or 0 for vnode in here)
