"""Quotas that add up to more than a queue's cores: allowed, but no longer can everybody have theirs (docs/policies.md).

The entries of users, those of groups and those of projects are added up each by themselves; an entry that binds
everyone else (``PBS_GENERIC``) or all together counts for nobody in particular and is left out.
"""

from __future__ import annotations

from collections import Counter

from hooks.pbs.status import Picture
from policy.model.limits import GENERIC
from policy.model.units import parse_amount
from tui.model.typed_attributes import soft_limits
from tui.text.lines import Line, safe

_KINDS = {"u": "users", "g": "groups", "p": "projects"}


def overcommitted(picture: Picture, queue: str, counted: str) -> list[Line]:
    """One line for each kind of quotas of a queue, or of the server where it is "", that come to more than its vnodes
    have of the counted resource."""
    attributes = picture.queues.get(queue, {}) if queue else picture.server
    sums: Counter[str] = Counter()
    for (kind, name), quota in soft_limits(attributes, counted).entries.items():
        if kind in _KINDS and name != GENERIC:
            sums[kind] += quota
    if not sums:
        return []
    there = _capacity(picture, attributes.get("partition", "") if queue else None, counted)
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


def _capacity(picture: Picture, partition: str | None, counted: str) -> int:
    """What the vnodes of a partition have, or all (None), those that are down or offline too: they come back."""
    name = f"resources_available.{counted}"
    here = (vnode for vnode in picture.vnodes.values() if partition in (None, vnode.get("partition", "")))
    return sum(parse_amount(vnode.get(name, "")) or 0 for vnode in here)
