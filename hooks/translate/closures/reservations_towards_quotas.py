"""Counts users' running reservations towards their owners' quotas, like running jobs.

The amounts count in one queue: of those that share vnodes with the reservation, the one in which the owner's quota on
the resource is largest. Reservations of managers and operators count for no user.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hooks.pbs.managers_and_operators import is_privileged
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from hooks.translate.closures.reservations import is_running
from policy.model.allocation import Allocation, AllocationError, parse_exec_vnode
from policy.model.jobs_runs_vnodes_queues import Queue, UserReservation, Vnode

_ALONE = frozenset({"excl", "exclhost"})
_PROJECT = "_pbs_project_default"


def find_user_reservations(
    server_status: ServerStatus, vnodes: Sequence[Vnode], queues: Sequence[Queue]
) -> tuple[UserReservation, ...]:
    """What each running reservation of a user keeps, resource by resource; nothing if it cannot be read."""
    if not server_status.reservations:
        return ()
    by_name = {vnode.name: vnode for vnode in vnodes}
    found = []
    for texts in server_status.reservations.values():
        user, _, host = texts.get("Reserve_Owner", "").partition("@")
        if not user or not is_running(texts) or _is_sites(user, host, server_status.server):
            continue
        group = texts.get("egroup", "")
        for resource, amount in _sum(texts, by_name).items():
            near = [queue for queue in queues if queue.managed and _shares_vnodes(queue, texts, by_name)]
            found.append(UserReservation(user, group, _find_queue(near, resource, user, group), ((resource, amount),)))
    return tuple(found)


def _is_sites(user: str, host: str, server: Attributes) -> bool:
    lists = (server.get("managers", ""), server.get("operators", ""))
    return user == "root" or is_privileged(user, host, "", *lists)


def _allocation_of(texts: Attributes) -> Allocation:
    try:
        return parse_exec_vnode(texts.get("resv_nodes", ""))
    except AllocationError:
        return Allocation(())


def _sum(texts: Attributes, vnodes: dict[str, Vnode]) -> dict[str, int]:
    alone = bool(set(texts.get("Resource_List.place", "").split(":")) & _ALONE)
    total: dict[str, int] = {}
    for name, amounts in _allocation_of(texts).by_vnode().items():
        whole = vnodes[name].available if alone and name in vnodes else amounts
        for resource, amount in whole.items():
            total[resource] = total.get(resource, 0) + amount
    # A chunk without cores counts as one core, as a job's does (docs/policies.md, P1, 5).
    spots = [spot for spot in _allocation_of(texts).spots if not spot.joined]
    least = sum(spot.chunks * max(1, dict(spot.amounts).get("ncpus", 0)) for spot in spots)
    total["ncpus"] = max(least, total.get("ncpus", 0))
    return {resource: amount for resource, amount in total.items() if amount}


def _shares_vnodes(queue: Queue, texts: Attributes, vnodes: dict[str, Vnode]) -> bool:
    there: Collection[Vnode] = [vnodes[name] for name in _allocation_of(texts).by_vnode() if name in vnodes]
    return any(
        vnode.queue == queue.name or (vnode.queue is None and vnode.partition == queue.partition) for vnode in there
    )


def _find_queue(queues: Sequence[Queue], resource: str, user: str, group: str) -> str:
    """The queue in which the user's quota on the resource is largest; empty if no queue has a quota that binds the
    user."""
    best, most = "", -1
    for queue in queues:
        limits = queue.quotas_by_resource().get(resource)
        bounds = [bound.limit for bound in limits.bounds(user, group, _PROJECT)] if limits else []
        if bounds and min(bounds) > most:
            best, most = queue.name, min(bounds)
    return best
