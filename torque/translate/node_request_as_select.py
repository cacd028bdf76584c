"""What a Torque job asks for, as PBS's ``select`` and ``place``.

Torque has four ways to ask: ``nodes=2:ppn=4:gpu``, ``procs=8``, ``ncpus=4`` and ``size=4`` (TORQUE Administrator Guide,
"Requesting Resources"). Chunks of ``nodes`` go to different nodes, as pbs_server places them; the others may share one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from hooks.pbs.server_status_type_and_attributes import Attributes

PROPERTY = "property_"
"""The beginning of the resource that stands for a property of nodes: ``gpu`` is ``property_gpu=True``."""
_MOST = 10**9


class Requested(NamedTuple):
    """``select``, ``place`` and the number of slots; 0 slots if the request cannot be read, and the select then quotes
    it in a form that no job starts with."""

    select: str
    place: str
    slots: int


def read_request(texts: Attributes, node_names: Collection[str]) -> Requested:
    """The request of a job by its attributes ``Resource_List.*``; one slot if it has none of the four.

    The first of ``nodes``, ``procs``, ``size`` and ``ncpus`` counts: the server may have added the others as defaults.
    """
    exclusive = texts.get("node_exclusive", "") == "True"
    nodes = texts.get("Resource_List.nodes", "")
    if nodes:
        select, slots, shared = _read_nodes(nodes, node_names)
        return Requested(select, "scatter:excl" if exclusive or not shared else "scatter", slots)
    place = "free:excl" if exclusive else "free"
    for name in ("procs", "size", "ncpus"):
        text = texts.get(f"Resource_List.{name}", "")
        if text:
            number = _read_count(text)
            if number is None:
                return Requested(_unreadable(name, text), place, 0)
            return Requested(f"1:ncpus={number}" if name == "ncpus" else f"{number}:ncpus=1", place, number)
    return Requested("1:ncpus=1", place, 1)


def _read_nodes(text: str, node_names: Collection[str]) -> tuple[str, int, bool]:
    """The select, the slots, and whether the nodes may be shared with other jobs."""
    spec, *modifiers = text.split("#")
    shared = "excl" not in modifiers
    chunks, slots = [], 0
    for part in spec.split("+"):
        chunk = _read_chunk(part.strip(), node_names)
        if chunk is None or not set(modifiers) <= {"shared", "excl"}:
            return _unreadable("nodes", text), 0, shared
        chunks.append(chunk.select)
        slots += chunk.slots
    return "+".join(chunks), slots, shared


def _read_chunk(text: str, node_names: Collection[str]) -> Requested | None:
    first, *others = text.split(":")
    count = 1
    if first.isdigit():
        number = _read_count(first)
        if number is None:
            return None
        count = number
    else:
        others.insert(0, first)
    amounts, wants = {"ncpus": 1}, []
    for part in others:
        name, equals, value = part.partition("=")
        if equals:
            amount = _read_count(value)
            resource = {"ppn": "ncpus", "gpus": "ngpus"}.get(name)
            if amount is None or resource is None:
                return None
            amounts[resource] = amount
        elif not name:
            return None
        elif name in node_names:
            wants.append(f"vnode={name}")
        else:
            wants.append(f"{PROPERTY}{name}=True")
    parts = [str(count), *(f"{name}={amount}" for name, amount in amounts.items()), *wants]
    return Requested(":".join(parts), "", count * amounts["ncpus"])


def _read_count(text: str) -> int | None:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else 0
    return number if 0 < number <= _MOST else None


def _unreadable(name: str, text: str) -> str:
    """A select in which a part without a value makes :func:`policy.model.job_request.parse_request` refuse it."""
    return f"1:{name}:{text[:200]}"
