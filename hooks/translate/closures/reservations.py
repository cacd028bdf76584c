"""Reservations: texts as windows on vnodes, or on parts of them (docs/policies.md, "Closures").

A reservation takes the amounts in ``resv_nodes``, or the whole vnode or host if it has that exclusively, by its own
``place`` or by the vnode's ``sharing``, whether its jobs use them or not. One that cannot be read closes its vnodes: an
idle vnode costs less than a reservation that does not get its nodes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from hooks.pbs.host_of_vnode_and_multi_host_job import host_of
from hooks.pbs.job_attributes.job_ids_and_states import LATEST_S
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus, read_whole
from hooks.translate.closures.reservation_windows_type import Reservations
from hooks.translate.closures.rrule import find_starts
from hooks.translate.queues import Report
from policy.model.allocation import Allocation, AllocationError, parse_exec_vnode
from policy.model.job_request import Amounts
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Window

_ENDED = frozenset({"6", "8"})
_RUNNING = "5"
_LINGERS_S = 60.0
_MOST_OCCURRENCES = 1000
_ALONE = frozenset({"excl", "exclhost"})
_NAMES = re.compile(r"[,\s]+")
_SEQUENCE = re.compile(r"(\([^{}]*\))\{([0-9,-]+)\}")


class _Occurrence(NamedTuple):
    start_s: float
    end_s: float
    allocation: Allocation


def read_reservations(server_status: ServerStatus, report: Report) -> Reservations:
    """All reservations of a server status. Those that PBS has not confirmed have no vnodes and keep none."""
    known = {
        name: list(_read(name, texts, server_status, report)) for name, texts in server_status.reservations.items()
    }
    windows: dict[str, list[Window]] = {}
    for name, texts in server_status.reservations.items():
        _close(windows, name, texts, known[name], server_status)
    for vnode, texts in server_status.vnodes.items():
        for name in filter(None, _NAMES.split(texts.get("resv", ""))):
            if not known.get(name):
                report("", f"vnode {vnode}: its reservation {name} cannot be read; the vnode takes no jobs")
                windows.setdefault(vnode, []).append(Window(0.0, UNLIMITED_S, _called(name)))
    # Vnodes with equal windows share one tuple, so that grouping them compares no contents.
    shared: dict[tuple[Window, ...], tuple[Window, ...]] = {}
    of_vnodes = {vnode: shared.setdefault(tuple(each), tuple(each)) for vnode, each in windows.items()}
    return Reservations(of_vnodes, _running(server_status))


def _called(name: str) -> str:
    return f"reservation {name.split('.', maxsplit=1)[0]}"


def _read(name: str, texts: Attributes, server_status: ServerStatus, report: Report) -> Iterator[_Occurrence]:
    """The occurrences of a reservation with what it keeps; none if it keeps nothing or its vnodes cannot be read."""
    if texts.get("reserve_state", "") in _ENDED or not texts.get("resv_nodes"):
        return
    try:
        allocation = parse_exec_vnode(texts["resv_nodes"])
    except AllocationError as error:
        report("", f"reservation {name}: {error}")
        return
    start_s, end_s = read_time_s(texts.get("reserve_start", "")), read_time_s(texts.get("reserve_end", ""))
    if start_s is None or end_s is None:
        span = f"from {texts.get('reserve_start', '')!r} to {texts.get('reserve_end', '')!r}"
        report("", f"reservation {name}: it lasts {span}, which cannot be read; its vnodes take no jobs")
        yield _Occurrence(0.0, UNLIMITED_S, allocation)
        return
    # A reservation whose end has passed lasts until its jobs are gone.
    yield _Occurrence(
        start_s, max(end_s, server_status.time_s + _LINGERS_S) if is_running(texts) else end_s, allocation
    )
    if texts.get("reserve_standing", "") in ("1", "True"):
        yield from _read_later(name, texts, _Occurrence(start_s, end_s, allocation), report)


def _read_later(name: str, texts: Attributes, first: _Occurrence, report: Report) -> Iterator[_Occurrence]:
    """The occurrences of a standing reservation after the one that runs or comes next."""
    count, index = read_whole(texts.get("reserve_count", ""), 1), read_whole(texts.get("reserve_index", ""), 1)
    left = min(count - index, _MOST_OCCURRENCES)
    if left < 1:
        return
    rule, zone = texts.get("reserve_rrule", ""), texts.get("reserve_timezone", "")
    starts = find_starts(rule, first.start_s, zone, left + 1)
    if starts is None or len(starts) <= left:
        report("", f"reservation {name}: reserve_rrule {rule[:80]!r} cannot be read; its vnodes are kept to the end")
        yield _Occurrence(first.end_s, UNLIMITED_S, first.allocation)
        return
    allocations = _read_sequence(texts.get("reserve_execvnodes", ""))
    # After PBS has reconfirmed a reservation, the sequence has only those occurrences that were still to come.
    offset = index - 1 - (count - len(allocations))
    for number, start_s in enumerate(starts[1:], start=1):
        allocation = allocations[offset + number] if 0 <= offset + number < len(allocations) else first.allocation
        yield _Occurrence(start_s, start_s + first.end_s - first.start_s, allocation)


def _read_sequence(text: str) -> list[Allocation]:
    """The allocation of each occurrence, from ``3#(v1:ncpus=1){0,2}(v2:ncpus=1){1}``; empty if it cannot be read."""
    found: dict[int, Allocation] = {}
    try:
        for nodes, numbers in _SEQUENCE.findall(text.partition("#")[2]):
            allocation = parse_exec_vnode(nodes)
            for part in numbers.split(","):
                first, _, last = part.partition("-")
                for number in range(int(first), int(last or first) + 1):
                    found[number] = allocation
    except (ValueError, AllocationError):
        return []
    return [found[number] for number in range(len(found))] if sorted(found) == list(range(len(found))) else []


def _close(
    windows: dict[str, list[Window]],
    name: str,
    texts: Attributes,
    occurrences: Sequence[_Occurrence],
    server_status: ServerStatus,
) -> None:
    """Add what the occurrences of a reservation keep of each of their vnodes. One that ends before it begins keeps
    nothing.

    Hundreds of occurrences may have one allocation on all vnodes of a cluster, so that is looked at once.
    """
    kept_of: dict[int, dict[Amounts | None, list[str]]] = {}
    for one in occurrences:
        ends = one.end_s != UNLIMITED_S
        start_s, end_s = (min(one.start_s, LATEST_S), min(one.end_s, LATEST_S)) if ends else (one.start_s, one.end_s)
        if start_s >= end_s:
            continue
        kept = kept_of.get(id(one.allocation))
        if kept is None:
            kept = kept_of[id(one.allocation)] = _find_kept(name, texts, one.allocation, server_status)
        for amounts, vnodes in kept.items():
            window = Window(start_s, end_s, _called(name), amounts)
            for vnode in vnodes:
                windows.setdefault(vnode, []).append(window)


def _find_kept(
    name: str, texts: Attributes, allocation: Allocation, server_status: ServerStatus
) -> dict[Amounts | None, list[str]]:
    """The vnodes of which the allocation keeps these amounts, or all for None."""
    place, vnodes = set(texts.get("Resource_List.place", "").split(":")), server_status.vnodes
    shares = {vnode: vnodes.get(vnode, {}).get("sharing", "default_shared") for vnode in allocation.vnodes}
    kept: dict[str, Amounts | None] = {
        vnode: None if name.startswith("M") or _is_alone(place, shares[vnode]) else amounts
        for vnode, amounts in amounts_by_vnode(allocation).items()
    }
    hosts = {host_of(vnode, vnodes) for vnode in kept if _has_host(place, shares[vnode])}
    if hosts:
        kept.update({vnode: None for vnode in vnodes if host_of(vnode, vnodes) in hosts})
    found: dict[Amounts | None, list[str]] = {}
    for vnode, amounts in kept.items():
        found.setdefault(amounts, []).append(vnode)
    return found


def _is_alone(place: Collection[str], sharing: str) -> bool:
    """Whether a reservation has a vnode exclusively (``is_excl`` of PBS's scheduler)."""
    if sharing == "ignore_excl":
        return False
    is_default = sharing.startswith("default_excl") and "shared" not in place
    return sharing.startswith("force_") or is_default or not _ALONE.isdisjoint(place)


def _has_host(place: Collection[str], sharing: str) -> bool:
    """Whether a reservation has the vnode's whole host (``is_exclhost`` of PBS's scheduler)."""
    if sharing == "ignore_excl":
        return False
    is_default = sharing == "default_exclhost" and {"excl", "shared"}.isdisjoint(place)
    return sharing == "force_exclhost" or is_default or "exclhost" in place


def amounts_by_vnode(allocation: Allocation) -> dict[str, Amounts]:
    """What an allocation takes of each of its vnodes."""
    return {vnode: tuple(sorted(amounts.items())) for vnode, amounts in allocation.by_vnode().items()}


def is_running(texts: Attributes) -> bool:
    """Whether the reservation's time is now."""
    return _RUNNING in (texts.get("reserve_state", ""), texts.get("reserve_substate", ""))


def _running(server_status: ServerStatus) -> dict[str, dict[str, int]]:
    """What running reservations keep, by vnode: the amounts that the server counts for them."""
    found: dict[str, dict[str, int]] = {}
    for texts in server_status.reservations.values():
        if not is_running(texts):
            continue
        try:
            held = parse_exec_vnode(texts.get("resv_nodes", "")).by_vnode()
        except AllocationError:
            continue
        for vnode, amounts in held.items():
            here = found.setdefault(vnode, {})
            for resource, amount in amounts.items():
                here[resource] = here.get(resource, 0) + amount
    return found


def read_time_s(text: str) -> float | None:
    """Seconds since 1970 of a number, or of a date as ``pbs_rstat`` prints it (``Sat Nov 21 03:28:00 2026``), at most
    ``LATEST_S``, since later moments have no date; None for any other text."""
    if text.isascii() and text.isdigit():
        return min(float(text), LATEST_S)
    try:
        return time.mktime(time.strptime(text, "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None
