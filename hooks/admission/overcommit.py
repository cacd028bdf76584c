"""The last guard before a start: no vnode gets more than it has, and none that keeps jobs away gets one.

It judges what the server says of the vnodes that a job is to start on, at the moment when it would start there. Starts
that the server has taken but its count does not show yet are in the vnode's list of jobs, and so are counted too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, NamedTuple

from policy.model.allocation import Placement, PlacementError, parse_exec_vnode
from policy.model.units import SIZES, parse_amount, parse_resource

JobPlacement = Callable[[str], str]
"""Gives the ``exec_vnode`` of a job by its id; empty where it holds nothing."""


class Room(NamedTuple):
    """A vnode as the server shows it: texts by resource, its list of jobs (``12.server/0, 12.server/1``), whether one
    job holds it alone, the state by which it keeps jobs away (empty where it does not), and its host."""

    available: Mapping[str, str]
    assigned: Mapping[str, str]
    jobs: str
    alone: bool
    away: str = ""
    host: str = ""


def refuse_unavailable(rooms: Mapping[str, Room]) -> str | None:
    """The sentence to refuse a start with where a vnode keeps jobs away; administrators may use such vnodes."""
    for vnode, room in rooms.items():
        if room.away:
            return f"vnode {vnode} is {room.away}"
    return None


def refuse_kept(
    placement: Placement, rooms: Mapping[str, Room], kept: Mapping[str, Mapping[str, int] | None]
) -> str | None:
    """The sentence to refuse a start with that would take what is ``kept`` of a vnode for jobs to be resumed, None for
    all of it. What the server does not count yet is left to :func:`refuse_overcommit`."""
    for vnode, amounts, chunks, _ in placement.spots:
        of_vnode, room = kept.get(vnode, {}), rooms.get(vnode)
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


def refuse_overcommit(placement: Placement, rooms: Mapping[str, Room], placement_of: JobPlacement) -> str | None:
    """The sentence to refuse a start with; None where every vnode has room. Vnodes without a room are not judged,
    nor amounts that are no numbers."""
    needs: dict[str, dict[str, int]] = {}
    for vnode, amounts, chunks, _ in placement.spots:
        need = needs.setdefault(vnode, {})
        for resource, amount in amounts:
            need[resource] = need.get(resource, 0) + amount * chunks
    for vnode, need in needs.items():
        room = rooms.get(vnode)
        if room is None:
            continue
        if room.alone:
            return f"vnode {vnode} is held by one job alone"
        held = _count_held(vnode, room, placement_of)
        for resource, amount in need.items():
            has = room.available.get(resource, "")
            amount_there = parse_amount(has)
            if amount_there is None:
                # Such as @v2, an amount that another vnode counts, and the server with it; or one that is not counted.
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


def _count_held(vnode: str, room: Room, placement_of: JobPlacement) -> dict[str, int]:
    """What is in use: what the server counts, or what its jobs there hold where that is more.

    The server lists a job once for each core it holds as soon as it takes the start, but counts a start that somebody
    waits for only once the MoM has it. So the jobs are looked at one by one only where the list is longer than the
    count.
    """
    held = {resource: parse_resource(resource, text) or 0 for resource, text in room.assigned.items()}
    jobs = [job.strip().partition("/")[0] for job in room.jobs.split(",") if job.strip()]
    if len(jobs) <= held.get("ncpus", 0):
        return held
    listed: dict[str, int] = {}
    for job in dict.fromkeys(jobs):
        try:
            placement = parse_exec_vnode(placement_of(job))
        except PlacementError:
            continue
        for name, amounts, chunks, _ in placement.spots:
            if name == vnode:
                for resource, amount in amounts:
                    listed[resource] = listed.get(resource, 0) + amount * chunks
    return {resource: max(held.get(resource, 0), listed.get(resource, 0)) for resource in {*held, *listed}}
