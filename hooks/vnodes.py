"""Vnodes: texts to what they have, what jobs outside the snapshot hold of them, and whether they take jobs.

A vnode in a state that this module does not know, or whose cores it cannot read, takes no job: an idle vnode costs less
than an overcommitted one.
"""

from __future__ import annotations

from collections.abc import Mapping

from hooks.picture import Attributes
from hooks.queues import Report, read_partition
from policy.cluster import Vnode
from policy.units import parse_amount

_TAKES_JOBS = frozenset({"free", "job-busy", "job-exclusive"})
"""The states in which a vnode takes jobs as far as it has room; any other beside them keeps jobs away."""

Held = Mapping[str, Mapping[str, int]]
"""What runs of the snapshot hold: vnode to resource to amount."""


def read_vnode(name: str, texts: Attributes, consumables: frozenset[str], held: Held, report: Report) -> Vnode:
    """One vnode. What the server counts as assigned beyond ``held`` belongs to jobs that the snapshot does not have."""
    available: dict[str, int] = {}
    attributes: dict[str, str] = {}
    assigned: dict[str, int] = {}
    unread: list[str] = []
    for attribute, text in texts.items():
        kind, _, resource = attribute.partition(".")
        if kind not in ("resources_available", "resources_assigned"):
            continue
        amount = parse_amount(text) if resource in consumables else None
        if resource in consumables and amount is None:
            unread.append(f"{attribute} is {text!r}")
        elif kind == "resources_assigned":
            if amount:
                assigned[resource] = amount
        elif amount is None:
            attributes[resource] = text
        else:
            available[resource] = amount
    if unread:
        report("", f"vnode {name}: {'; '.join(unread)}; allowed is a whole number or a size; it takes no jobs")
    if texts.get("resv"):
        report("", f"vnode {name}: has the reservation {texts['resv']}; it takes no jobs until that is over")
    state = texts.get("state", "")
    mine = held.get(name, {})
    elsewhere = {
        resource: amount - mine.get(resource, 0)
        for resource, amount in assigned.items()
        if amount > mine.get(resource, 0)
    }
    if "job-exclusive" in state and not mine:
        elsewhere = dict(available)
    queue = texts.get("queue", "")
    return Vnode(
        name,
        available,
        host=texts.get("resources_available.host", ""),
        state=state,
        usable=takes_jobs(state) and not unread and not texts.get("resv"),
        attributes=attributes,
        elsewhere=elsewhere,
        queue=queue or None,
        partition=read_partition(texts),
        sharing=texts.get("sharing", "default_shared"),
    )


def takes_jobs(state: str) -> bool:
    """Whether a vnode in this state, several separated by commas, takes jobs as far as it has room."""
    return {part.strip() for part in state.split(",")} <= _TAKES_JOBS
