"""Refuses a start that would give a vnode more than it has, or a job to a vnode that takes none.

It judges by the server's values for the job's vnodes at the moment of the start. Starts that the server has accepted
but not yet counted are in the vnode's list of jobs, and so are counted too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, NamedTuple

from policy.model.allocation import Allocation, AllocationError, parse_exec_vnode
from policy.model.pbs_units import SIZES, parse_amount, parse_resource

JobAllocation = Callable[[str], str]
"""Returns the ``exec_vnode`` of a job by its id; empty if the job holds nothing."""


class VnodeUse(NamedTuple):
    """A vnode as the server shows it: texts by resource, its list of jobs (``12.server/0, 12.server/1``), whether one
    job holds it alone, the state for which it takes no jobs (``away``; empty if it takes jobs), and its host."""

    available: Mapping[str, str]
    assigned: Mapping[str, str]
    jobs: str
    alone: bool
    away: str = ""
    host: str = ""


def refuse_unavailable(vnode_uses: Mapping[str, VnodeUse]) -> str | None:
    """The sentence to refuse a start with if a vnode takes no jobs; administrators may use such vnodes."""
    for vnode, room in vnode_uses.items():
        if room.away:
            return f"vnode {vnode} is {room.away}"
    return None


def refuse_kept(
    allocation: Allocation, vnode_uses: Mapping[str, VnodeUse], kept: Mapping[str, Mapping[str, int] | None]
) -> str | None:
    """The sentence to refuse a start with that would take what is ``kept`` of a vnode for jobs to be resumed (None: all
    of it). What the server does not count yet is left to :func:`refuse_overcommit`."""
    for vnode, amounts, chunks, _ in allocation.spots:
        of_vnode, room = kept.get(vnode, {}), vnode_uses.get(vnode)
        if of_vnode is None:
            return f"vnode {vnode} is kept for a job that is to be resumed"
        if room is None:
            continue
        for resource, amount in amounts:
            has = parse_amount(room.available.get(resource, ""))
            held = parse_resource(resource, room.assigned.get(resource, "")) or 0
            if has is not None and resource in of_vnode and held + of_vnode[resource] + amount * chunks > has:
                return (
                    f"vnode {vnode} has what is left of its {resource} kept for a suspended job that is to be resumed"
                )
    return None


def refuse_overcommit(
    allocation: Allocation, vnode_uses: Mapping[str, VnodeUse], allocation_of: JobAllocation
) -> str | None:
    """The sentence to refuse a start with; None if every vnode has room. Vnodes that are not in ``vnode_uses`` are not
    judged, nor amounts that are no numbers."""
    for vnode, need in allocation.by_vnode().items():
        room = vnode_uses.get(vnode)
        if room is None:
            continue
        if room.alone:
            return f"vnode {vnode} is used by one job alone"
        held = _count_held(vnode, room, allocation_of)
        for resource, amount in need.items():
            has = room.available.get(resource, "")
            amount_there = parse_amount(has)
            if amount_there is None:
                # Such as @v2: an amount that another vnode counts, and the server there; or one that is not counted.
                continue
            if held.get(resource, 0) + amount > amount_there:
                unit = " KiB" if _is_size(resource, has) else ""
                return (
                    f"vnode {vnode} has {resource}={has}, of which {held.get(resource, 0)}{unit} are in use:"
                    f" there is no room for {amount}{unit} more"
                )
    return None


def _is_size(resource: str, text: str) -> bool:
    return resource in SIZES or text.strip().lower().endswith(("b", "w"))


def _count_held(vnode: str, room: VnodeUse, allocation_of: JobAllocation) -> dict[str, int]:
    """What is in use: the server's count, or what the jobs listed there hold where that is more.

    The server lists a job once for each of its cores as soon as it accepts the start, but counts a start whose sender
    waits for the reply only once the MoM has it. So the jobs are read one by one only if the list is longer than the
    count.
    """
    held = {resource: parse_resource(resource, text) or 0 for resource, text in room.assigned.items()}
    jobs = [job.strip().partition("/")[0] for job in room.jobs.split(",") if job.strip()]
    if len(jobs) <= held.get("ncpus", 0):
        return held
    listed: dict[str, int] = {}
    for job in dict.fromkeys(jobs):
        try:
            allocation = parse_exec_vnode(allocation_of(job))
        except AllocationError:
            continue
        for name, amounts, chunks, _ in allocation.spots:
            if name == vnode:
                for resource, amount in amounts:
                    listed[resource] = listed.get(resource, 0) + amount * chunks
    return {resource: max(held.get(resource, 0), listed.get(resource, 0)) for resource in {*held, *listed}}
