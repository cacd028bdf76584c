"""Reservations: texts to the windows in which they keep vnodes, or parts of them (docs/policies.md, "Windows").

A reservation keeps what ``resv_nodes`` says, of a vnode that it has for itself alone all. While it runs the server
counts what it keeps as assigned on its vnodes, whether its own jobs use that or not. What cannot be read closes the
vnodes concerned: an idle vnode costs less than a reservation that does not get its nodes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hooks.pbs.first_host import host_of
from hooks.pbs.status import Attributes, Picture, read_whole
from hooks.translate.queues import Report
from hooks.translate.rrule import find_starts
from policy.model.allocation import Placement, PlacementError, parse_exec_vnode
from policy.model.cluster import UNLIMITED_S, Window
from policy.model.request import Amounts

_ENDED = frozenset({"6", "8"})
_RUNNING = "5"
_LINGERS_S = 60.0
_MOST_OCCURRENCES = 1000
_ALONE = frozenset({"excl", "exclhost"})
_NAMES = re.compile(r"[,\s]+")
_SEQUENCE = re.compile(r"(\([^{}]*\))\{([0-9,-]+)\}")


class Reservations(NamedTuple):
    """By vnode: its ``windows``, and the amounts that the server counts as assigned for the reservations that ``run``
    now."""

    windows: Mapping[str, tuple[Window, ...]]
    run: Mapping[str, Mapping[str, int]]


class _Occurrence(NamedTuple):
    start_s: float
    end_s: float
    placement: Placement


def read_reservations(picture: Picture, report: Report) -> Reservations:
    """All reservations of a picture. Those that PBS has not confirmed have no vnodes, and keep none."""
    known = {name: list(_read(name, texts, picture, report)) for name, texts in picture.reservations.items()}
    windows: dict[str, list[Window]] = {}
    for name, texts in picture.reservations.items():
        for occurrence in known[name]:
            _close(windows, name, texts, occurrence, picture)
    for vnode, texts in picture.vnodes.items():
        for name in filter(None, _NAMES.split(texts.get("resv", ""))):
            if not known.get(name):
                report("", f"vnode {vnode}: its reservation {name} cannot be read; the vnode takes no jobs")
                windows.setdefault(vnode, []).append(Window(0.0, UNLIMITED_S, _called(name)))
    # Vnodes with the same windows have the same tuple: who groups them need not look inside.
    shared: dict[tuple[Window, ...], tuple[Window, ...]] = {}
    of_vnodes = {vnode: shared.setdefault(tuple(each), tuple(each)) for vnode, each in windows.items()}
    return Reservations(of_vnodes, _running(picture))


def _called(name: str) -> str:
    return f"reservation {name.split('.', maxsplit=1)[0]}"


def _read(name: str, texts: Attributes, picture: Picture, report: Report) -> Iterator[_Occurrence]:
    """What the reservation keeps, occurrence by occurrence; nothing where it keeps nothing or cannot be read."""
    if texts.get("reserve_state", "") in _ENDED or not texts.get("resv_nodes"):
        return
    try:
        placement = parse_exec_vnode(texts["resv_nodes"])
    except PlacementError as error:
        report("", f"reservation {name}: {error}")
        return
    start_s, end_s = read_time_s(texts.get("reserve_start", "")), read_time_s(texts.get("reserve_end", ""))
    if start_s is None or end_s is None:
        span = f"from {texts.get('reserve_start', '')!r} to {texts.get('reserve_end', '')!r}"
        report("", f"reservation {name}: it lasts {span}, which cannot be read; its vnodes take no jobs")
        yield _Occurrence(0.0, UNLIMITED_S, placement)
        return
    # One that is over goes on until its jobs are gone.
    yield _Occurrence(start_s, max(end_s, picture.time_s + _LINGERS_S) if is_running(texts) else end_s, placement)
    if texts.get("reserve_standing", "") in ("1", "True"):
        yield from _read_later(name, texts, _Occurrence(start_s, end_s, placement), report)


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
        yield _Occurrence(first.end_s, UNLIMITED_S, first.placement)
        return
    placements = _read_sequence(texts.get("reserve_execvnodes", ""))
    # After PBS has confirmed a reservation anew, the sequence has only those occurrences that were still to come.
    offset = index - 1 - (count - len(placements))
    for number, start_s in enumerate(starts[1:], start=1):
        placement = placements[offset + number] if 0 <= offset + number < len(placements) else first.placement
        yield _Occurrence(start_s, start_s + first.end_s - first.start_s, placement)


def _read_sequence(text: str) -> list[Placement]:
    """``3#(v1:ncpus=1){0,2}(v2:ncpus=1){1}``: where each of so many occurrences is; empty where it cannot be read."""
    found: dict[int, Placement] = {}
    try:
        for nodes, numbers in _SEQUENCE.findall(text.partition("#")[2]):
            placement = parse_exec_vnode(nodes)
            for part in numbers.split(","):
                first, _, last = part.partition("-")
                for number in range(int(first), int(last or first) + 1):
                    found[number] = placement
    except (ValueError, PlacementError):
        return []
    return [found[number] for number in range(len(found))] if sorted(found) == list(range(len(found))) else []


def _close(
    windows: dict[str, list[Window]], name: str, texts: Attributes, occurrence: _Occurrence, picture: Picture
) -> None:
    """Add what one occurrence keeps of each of its vnodes."""
    place = set(texts.get("Resource_List.place", "").split(":"))
    alone = bool(place & _ALONE) or name.startswith("M")
    kept: dict[str, Amounts | None] = {
        vnode: None if alone else amounts for vnode, amounts in amounts_by_vnode(occurrence.placement).items()
    }
    if "exclhost" in place:
        hosts = {host_of(vnode, picture.vnodes) for vnode in kept}
        kept.update({vnode: None for vnode in picture.vnodes if host_of(vnode, picture.vnodes) in hosts})
    for vnode, amounts in kept.items():
        windows.setdefault(vnode, []).append(Window(occurrence.start_s, occurrence.end_s, _called(name), amounts))


def amounts_by_vnode(placement: Placement) -> dict[str, Amounts]:
    """What a placement takes of each of its vnodes."""
    held: dict[str, dict[str, int]] = {}
    for vnode, amounts, chunks, _ in placement.spots:
        here = held.setdefault(vnode, {})
        for resource, amount in amounts:
            here[resource] = here.get(resource, 0) + amount * chunks
    return {vnode: tuple(sorted(amounts.items())) for vnode, amounts in held.items()}


def is_running(texts: Attributes) -> bool:
    """Whether the reservation's time is now."""
    return _RUNNING in (texts.get("reserve_state", ""), texts.get("reserve_substate", ""))


def _running(picture: Picture) -> dict[str, dict[str, int]]:
    """What the reservations that run keep, which is what the server counts for them."""
    found: dict[str, dict[str, int]] = {}
    for texts in picture.reservations.values():
        if not is_running(texts):
            continue
        try:
            held = amounts_by_vnode(parse_exec_vnode(texts.get("resv_nodes", "")))
        except PlacementError:
            continue
        for vnode, amounts in held.items():
            here = found.setdefault(vnode, {})
            for resource, amount in amounts:
                here[resource] = here.get(resource, 0) + amount
    return found


def read_time_s(text: str) -> float | None:
    """Seconds since 1970, or a date as ``pbs_rstat`` prints it (``Sat Nov 21 03:28:00 2026``); None for any other."""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return time.mktime(time.strptime(text, "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None
