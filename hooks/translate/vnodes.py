"""Vnodes: texts to what they have, what jobs outside the snapshot hold of them, whether they take jobs, and when not.

A vnode in a state that this module does not know, or whose cores it cannot read, takes no job: an idle vnode costs less
than an overcommitted one. Of an amount that another vnode counts (``lic=@v2``) it has none of its own, so that it takes
the jobs that do not ask for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from hooks.pbs.resources import READING
from hooks.pbs.status import Attributes
from hooks.translate.queues import Report, read_partition
from hooks.translate.reservations import Reservations
from policy.model.cluster import Vnode, Window
from policy.model.units import parse_amount, parse_measure, parse_resource

_TAKES_JOBS = frozenset({"free", "job-busy", "job-exclusive"})
"""The states in which a vnode takes jobs as far as it has room; any other beside them keeps jobs away."""

_RESERVED = "resv-exclusive"
"""The state of a vnode that a reservation which runs has for itself alone."""

_NOTHING: Mapping[str, int] = MappingProxyType({})

Held = Mapping[str, Mapping[str, int]]
"""What runs of the snapshot hold: vnode to resource to amount."""


def read_vnode(
    name: str,
    texts: Attributes,
    consumables: frozenset[str],
    held: Held,
    reservations: Reservations,
    time_s: float,
    report: Report,
    measured: Collection[str] = (),
    plenty: Mapping[str, int] = _NOTHING,
) -> Vnode:
    """One vnode at that time. What the server counts as assigned beyond ``held`` belongs to the reservations that run,
    or to jobs that the snapshot does not have. ``measured`` are the resources that are numbers but are not used up,
    ``plenty`` is what every vnode has without saying so."""
    available: dict[str, int] = {**plenty}
    measures: dict[str, float] = {}
    attributes: dict[str, str] = {}
    assigned: dict[str, int] = {}
    unread: list[str] = []
    for attribute, text in texts.items():
        kind, _, resource = attribute.partition(".")
        if kind not in ("resources_available", "resources_assigned") or resource == READING:
            continue
        if resource in consumables and text.startswith("@"):
            if kind == "resources_available":
                available[resource] = 0
            continue
        parse = parse_amount if kind == "resources_available" else partial(parse_resource, resource)
        amount = parse(text) if resource in consumables else None
        if resource in consumables and amount is None:
            unread.append(f"{attribute} is {text!r}")
        elif kind == "resources_assigned":
            if amount:
                assigned[resource] = amount
        elif amount is None:
            attributes[resource] = text
            measure = parse_measure(text) if resource in measured else None
            if measure is not None:
                measures[resource] = measure
        else:
            available[resource] = amount
    if unread:
        report("", f"vnode {name}: {'; '.join(unread)}; allowed is a whole number or a size; it takes no jobs")
    state = texts.get("state", "")
    mine, reserved = held.get(name, {}), reservations.run.get(name, {})
    beyond = {
        resource: amount - mine.get(resource, 0) - reserved.get(resource, 0) for resource, amount in assigned.items()
    }
    elsewhere = {resource: amount for resource, amount in beyond.items() if amount > 0}
    closed = reservations.windows.get(name, ())
    if "job-exclusive" in state and not mine:
        elsewhere = dict(available)
    queue = texts.get("queue", "")
    return Vnode(
        name,
        available,
        host=texts.get("resources_available.host", ""),
        state=state,
        usable=takes_jobs(state, _kept_alone(closed, time_s)) and not unread,
        attributes=attributes,
        elsewhere=elsewhere,
        queue=queue or None,
        partition=read_partition(texts),
        sharing=texts.get("sharing", "default_shared"),
        closed=closed,
        measures=measures,
    )


def takes_jobs(state: str, reserved: bool = False) -> bool:
    """Whether a vnode in this state, several separated by commas, takes jobs as far as it has room.

    Where it is known to be ``reserved`` as a whole, its state says no more than that.
    """
    return {part.strip() for part in state.split(",")} - ({_RESERVED} if reserved else set()) <= _TAKES_JOBS


def _kept_alone(closed: Sequence[Window], time_s: float) -> bool:
    return any(window.amounts is None and window.start_s <= time_s < window.end_s for window in closed)
