"""Vnodes: texts as what they have, what jobs outside the snapshot use, whether they take jobs, and their windows.

A vnode whose state is unknown here, or whose amounts cannot be read, takes no job: an idle vnode costs less than an
overcommitted one. A vnode has none of an amount that another vnode counts (``lic=@v2``), so that it takes only jobs
that do not ask for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from hooks.pbs.custom_resources_on_hosts import READING
from hooks.pbs.server_status_type_and_attributes import Attributes
from hooks.translate.closures.reservation_windows_type import Reservations
from hooks.translate.queues import Report, read_partition
from policy.model.jobs_runs_vnodes_queues import RunLimits, Vnode, Window
from policy.model.pbs_units import parse_amount, parse_measure, parse_resource

_TAKES_JOBS = frozenset({"free", "job-busy", "job-exclusive"})
"""The states in which a vnode takes jobs as far as it has room; any other state keeps jobs away."""

_RESERVED = "resv-exclusive"
"""The state of a vnode that a running reservation has exclusively."""

RUN_LIMITS = ("max_running", "max_user_run", "max_group_run")
"""The attributes of a vnode that limit how many jobs run on it, in the order of :class:`RunLimits`."""

_NOTHING: Mapping[str, int] = MappingProxyType({})

Held = Mapping[str, Mapping[str, int]]
"""What the snapshot's runs hold: vnode to resource to amount."""


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
    """One vnode at ``time_s``.

    What the server counts as assigned beyond ``held`` belongs to running reservations or to jobs outside the snapshot.
    ``measured`` are the numeric resources that are not used up; ``plenty`` is what the vnode has of
    resources of which it has no amount.
    """
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
        run_limits=read_run_limits(texts),
    )


def read_run_limits(texts: Attributes) -> RunLimits | None:
    """How many jobs may run on the vnode; None without a limit. PBS's scheduler ignores a limit that is no number."""
    limits = [parse_amount(texts[name]) if name in texts else None for name in RUN_LIMITS]
    return None if limits == [None, None, None] else RunLimits(*limits)


def takes_jobs(state: str, reserved: bool = False) -> bool:
    """Whether a vnode in this state (several are separated by commas) takes jobs as far as it has room.

    ``reserved``: a reservation is known to have the whole vnode, so the state ``resv-exclusive`` adds nothing.
    """
    return {part.strip() for part in state.split(",")} - ({_RESERVED} if reserved else set()) <= _TAKES_JOBS


def _kept_alone(closed: Sequence[Window], time_s: float) -> bool:
    return any(window.amounts is None and window.start_s <= time_s < window.end_s for window in closed)
