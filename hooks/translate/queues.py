"""Queues with modes, limits and priorities, and the server's limits and consumables: texts as policy values.

A problem is reported under the name of its queue, or under an empty name if it is the server's. A limit that cannot be
read is not guessed: passes must not act for that queue.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Callable, NamedTuple

from hooks.pbs.custom_resources import (
    DEFAULT_PARTITION,
    DEFERRABLE_ATTRIBUTE,
    MODE_ATTRIBUTE,
    PRIORITY_ATTRIBUTE,
    SOFT_LIMIT,
)
from hooks.pbs.reservation_queue_names import is_reservation_queue
from hooks.pbs.server_status_type_and_attributes import Attributes, Objects, ServerStatus, read_whole
from policy.model.job_request import DEFAULT_CONSUMABLES
from policy.model.jobs_runs_vnodes_queues import HardLimits, Queue, Run, Server, Vnode
from policy.model.limit_attributes import ALL, GENERIC, EntityKey, LimitError, Limits, parse_limits
from policy.model.pbs_units import SIZES, parse_amount, parse_resource
from policy.settings.settings_of_server_and_passes import MODES
from policy.settings.site_settings import Settings
from policy.state.regions_of_queues import vnodes_open_to

_NUMBERS = frozenset({"long", "float", "size"})
_OLD_LIMITS: Mapping[str, EntityKey] = {
    "max_running": ALL,
    "max_user_run": ("u", GENERIC),
    "max_group_run": ("g", GENERIC),
    "max_user_res": ("u", GENERIC),
    "max_group_res": ("g", GENERIC),
}
"""PBS's limits from before the entity syntax, and the entity that each of them binds (Administrator's Guide, "Old Limit
Attributes"). PBS allows either kind on one object, never both."""

Report = Callable[[str, str], None]
"""Takes the queue that a problem belongs to ("" for the server or for all), and a sentence."""


def read_consumables(resources: Objects, flags: str = "nf") -> frozenset[str]:
    """The resources that jobs use up on vnodes, or anywhere with the flags ``nfq``; PBS's own ones if no flags are
    known."""
    found = {name for name, texts in resources.items() if set(texts.get("flag", "")) & set(flags)}
    return frozenset(found) if found else DEFAULT_CONSUMABLES


def read_measured(resources: Objects) -> frozenset[str]:
    """The numeric resources that are not used up: a job asks for at least that much of them."""
    return frozenset(
        name
        for name, texts in resources.items()
        if texts.get("type") in _NUMBERS and not set(texts.get("flag", "")) & set("nf")
    )


def read_sizes(resources: Objects) -> frozenset[str]:
    """The resources that are sizes: PBS's own and the site's."""
    return SIZES.union(name for name, texts in resources.items() if texts.get("type") == "size")


def is_execution(texts: Attributes) -> bool:
    """Whether a queue's jobs run from it; those of a routing queue are moved to another."""
    return texts.get("queue_type", "Execution")[:1] in "Ee"


def read_modes(server_status: ServerStatus, settings: Settings) -> dict[str, str]:
    """The mode of each queue that pbsteer manages: the execution queues, without those of reservations."""
    reserved = {texts.get("queue", "") for texts in server_status.reservations.values()}
    modes = {}
    for name, texts in server_status.queues.items():
        if is_execution(texts) and name not in reserved and not is_reservation_queue(name):
            mode = texts.get(MODE_ATTRIBUTE, "") or settings.server.mode
            modes[name] = mode if mode in MODES else "observe"
    return modes


class _Owner(NamedTuple):
    """The object whose limits are read: its name in messages, its queue ("" for the server), and its attributes."""

    called: str
    queue: str
    texts: Attributes
    report: Report


def read_queue(name: str, texts: Attributes, *, managed: bool, consumables: frozenset[str], report: Report) -> Queue:
    """One queue. Its own consumables (``resources_available.ncpus`` of a queue) count as a hard limit on all jobs."""
    mode = texts.get(MODE_ATTRIBUTE, "")
    if managed and mode and mode not in MODES:
        report(name, f"queue {name}: {MODE_ATTRIBUTE} is {mode!r}; allowed is {', '.join(MODES)}; taken as observe")
    owner = _Owner(f"queue {name}", name, texts, report)
    hard = _read_hard_limits(owner)
    most = dict(hard.max_run_res)
    for resource, amount in _read_available(owner, consumables).items():
        limits = most.get(resource, Limits())
        if amount < limits.entries.get(ALL, amount + 1):
            most[resource] = limits.with_entry(ALL, amount)
    quotas = _read_quotas(owner, consumables)
    return Queue(
        name,
        started=texts.get("started", "True") == "True",
        enabled=texts.get("enabled", "True") == "True",
        managed=managed,
        quotas=quotas.pop("ncpus", Limits()),
        hard=HardLimits(hard.max_run, most),
        partition=read_partition(texts),
        priority=read_whole(texts.get("Priority", ""), 0),
        priorities=_read_limits(owner, PRIORITY_ATTRIBUTE),
        deferrable=texts.get(DEFERRABLE_ATTRIBUTE, "") == "True",
        other_quotas=quotas,
        destinations=None if is_execution(texts) else _read_destinations(texts),
    )


def read_server(name: str, texts: Attributes, consumables: frozenset[str], report: Report) -> Server:
    """The server: its hard limits and soft quotas, and all that it has of its own consumables, which
    :func:`without_assigned_to_others` makes what the jobs of the snapshot may have of them."""
    owner = _Owner("server", "", texts, report)
    return Server(name, _read_hard_limits(owner), _read_available(owner, consumables), _read_quotas(owner, consumables))


def without_ample_amounts(
    queue: Queue, vnodes: Collection[Vnode], runs: Sequence[Run], consumables: Collection[str]
) -> Queue:
    """The queue without limits on all its jobs together that are no lower than what the vnodes open to it have, and
    those that its jobs are on: the vnodes bind its jobs before. ``consumables`` are those of vnodes."""
    if not any(ALL in limits.entries for limits in queue.hard.max_run_res.values()):
        return queue
    used = {name for run in runs if run.job.queue == queue.name for name in run.allocation.vnodes}
    used.update(vnode.name for vnode in vnodes_open_to(queue, vnodes))
    within = [vnode for vnode in vnodes if vnode.name in used]
    return replace(queue, hard=_without_ample_limits(queue.hard, within, consumables))


def without_ample_amounts_of_server(server: Server, vnodes: Collection[Vnode], consumables: Collection[str]) -> Server:
    """The same for the server, and for what it has of its own consumables."""
    shared = {
        resource: amount
        for resource, amount in server.shared.items()
        if resource not in consumables or amount < _sum_of(vnodes, resource)
    }
    return replace(server, hard=_without_ample_limits(server.hard, vnodes, consumables), shared=shared)


def _without_ample_limits(hard: HardLimits, vnodes: Collection[Vnode], consumables: Collection[str]) -> HardLimits:
    most = dict(hard.max_run_res)
    for resource, limits in hard.max_run_res.items():
        overall = limits.entries.get(ALL)
        if overall is not None and resource in consumables and overall >= _sum_of(vnodes, resource):
            most[resource] = limits.without_entry(ALL)
    return replace(hard, max_run_res=most)


def _sum_of(vnodes: Collection[Vnode], resource: str) -> int:
    return sum(vnode.available.get(resource, 0) for vnode in vnodes)


def without_assigned_to_others(server: Server, texts: Attributes, runs: Sequence[Run]) -> Server:
    """The server without what it counts as assigned of its consumables beyond what these runs hold, such as that of
    reservations: the jobs of the snapshot cannot have it."""
    shared = {
        resource: amount
        - (parse_resource(resource, texts.get(f"resources_assigned.{resource}", "0")) or 0)
        + sum(run.job.amount(resource) for run in runs)
        for resource, amount in server.shared.items()
    }
    return replace(server, shared=shared)


def read_partition(texts: Attributes) -> str | None:
    """The partition of a queue or vnode; None for the default one."""
    partition = texts.get("partition", "")
    return None if partition in ("", DEFAULT_PARTITION) else partition


def _read_destinations(texts: Attributes) -> tuple[str, ...]:
    return tuple(filter(None, texts.get("route_destinations", "").split(",")))


def _read_hard_limits(owner: _Owner) -> HardLimits:
    runs = _read_limits(owner, "max_run")
    amounts: dict[str, Limits] = {}
    for attribute, text in owner.texts.items():
        kind, _, resource = attribute.partition(".")
        if kind == "max_run_res" and resource:
            amounts[resource] = _read_limits(owner, attribute)
        elif kind in _OLD_LIMITS:
            number = _read_amount(owner, attribute, text)
            if number is None:
                continue
            if resource:
                amounts[resource] = amounts.get(resource, Limits()).with_entry(_OLD_LIMITS[kind], number)
            else:
                runs = runs.with_entry(_OLD_LIMITS[kind], number)
    return HardLimits(runs, amounts)


def _read_quotas(owner: _Owner, consumables: frozenset[str]) -> dict[str, Limits]:
    """The soft limits on what jobs hold, by resource; only for consumables, as jobs hold nothing of other resources."""
    quotas: dict[str, Limits] = {}
    for attribute in owner.texts:
        kind, _, resource = attribute.partition(".")
        if kind == SOFT_LIMIT and resource in consumables:
            limits = _read_limits(owner, attribute)
            if limits:
                quotas[resource] = limits
    return quotas


def _read_limits(owner: _Owner, attribute: str) -> Limits:
    text = owner.texts.get(attribute, "")
    try:
        return parse_limits(text, f"{owner.called}: {attribute}", sizes="." in attribute) if text else Limits()
    except LimitError as error:
        owner.report(owner.queue, str(error))
        return Limits()


def _read_available(owner: _Owner, consumables: frozenset[str]) -> dict[str, int]:
    amounts = {}
    for attribute, text in owner.texts.items():
        kind, _, resource = attribute.partition(".")
        if kind == "resources_available" and resource in consumables:
            amount = _read_amount(owner, attribute, text)
            if amount is not None:
                amounts[resource] = amount
    return amounts


def _read_amount(owner: _Owner, attribute: str, text: str) -> int | None:
    amount = parse_amount(text)
    if amount is None:
        owner.report(owner.queue, f"{owner.called}: {attribute} is {text!r}; allowed is a whole number or a size")
    return amount
