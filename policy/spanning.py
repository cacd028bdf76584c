"""Chunks that no single vnode holds, over several vnodes of one host.

PBS keeps a chunk on one host, but not on one vnode: where a host shows its NUMA domains as vnodes they hold a chunk
together, each any part of each consumable, and each of them is what the chunk wants (PBS Professional User's Guide,
"Chunks"; the scheduler's ``eval_placement``). Only ``place=vscatter`` keeps a chunk on one vnode. So a host has room
for as many equal pieces as what is free on all its vnodes together holds, however the pieces before were laid out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Callable, NamedTuple

from policy.capacity import Capacity
from policy.masks import indices_of
from policy.placement import Share
from policy.request import Amounts, Chunk

_ANY_NUMBER = 1 << 30
_UNPARTED: tuple[Amounts, ...] = ((), (("ncpus", 1),))


class _Room(NamedTuple):
    """A host: those of its vnodes that may be used, what is free on each, and how many pieces they hold together."""

    pieces: int
    idle: int
    free: dict[int, dict[str, int]]


def may_span(capacity: Capacity, chunk: Chunk, place: str = "free") -> bool:
    """Whether such a chunk may be on several vnodes at all, as some host has several and it can be parted."""
    return place != "vscatter" and not capacity.inventory.one_vnode_per_host and chunk.amounts not in _UNPARTED


def count_pieces(capacity: Capacity, chunk: Chunk, vnodes: int, enough: int) -> int:
    """How many such pieces fit these vnodes now, parted or not; counted up to ``enough``, and not exactly where even
    the idle cores of all vnodes tell that these are fewer."""
    count = capacity.pieces(chunk, vnodes, enough)
    if count >= enough or not may_span(capacity, chunk):
        return count
    most = _most(capacity, chunk)
    if most < enough:
        return most
    return sum(room.pieces for room in _rooms(capacity, chunk, vnodes))


def ever_holds(capacity: Capacity, chunk: Chunk, vnodes: int, place: str) -> int:
    """How many such pieces these vnodes hold with nothing else on them, by what each has in all."""
    if not may_span(capacity, chunk, place):
        return capacity.inventory.ever_holds(chunk, vnodes)
    here = vnodes & capacity.inventory.matching(chunk)
    each = [
        [total // amount for total in capacity.inventory.host_sums(here, resource)]
        for resource, amount in chunk.amounts
    ]
    return sum(map(min, zip(*each)))


def span(
    capacity: Capacity,
    chunk: Chunk,
    vnodes: int,
    one_a_host: bool = False,
    order: Callable[[int], Iterable[int]] | None = None,
) -> list[Share] | None:
    """All pieces of the chunk on these vnodes, parted where no single vnode of a host holds one; None without room.

    They go to the fewest hosts: the tightest that holds all, else the roomiest first and the tightest for what is left
    over; ``one_a_host`` gives each a host of its own, those where a single vnode will do first. With an ``order``,
    which gives a set of vnodes one by one, best first, the hosts and their vnodes are taken as it has them.
    """
    if _most(capacity, chunk) < chunk.pieces:
        return None
    best_first = None if order is None else list(order(vnodes & capacity.inventory.matching(chunk)))
    rooms = _rooms(capacity, chunk, vnodes if best_first is None else sum(best_first))
    if one_a_host:
        rooms = [room._replace(pieces=1) for room in rooms]
    if sum(room.pieces for room in rooms) < chunk.pieces:
        return None
    if best_first is not None:
        rooms = _in_order(rooms, best_first)
    elif one_a_host:
        rooms.sort(key=lambda room: (not _whole_on(room, chunk), room.idle))
    else:
        rooms.sort(key=lambda room: (-room.pieces, -room.idle))
    shares: list[Share] = []
    left = chunk.pieces
    for at, next_best in enumerate(rooms):
        room = next_best
        if order is None and not one_a_host and room.pieces >= left:
            room = min((other for other in rooms[at:] if other.pieces >= left), key=lambda other: other.idle)
        count = min(left, room.pieces)
        shares += _on_host(chunk, count, room, ranked=order is not None)
        left -= count
        if not left:
            break
    return shares


def _most(capacity: Capacity, chunk: Chunk) -> int:
    """More pieces do not fit, as far as cores tell: the same for all shapes, so that most of them cost no walk."""
    if not chunk.cores:
        return _ANY_NUMBER
    return sum(hosts * (idle // chunk.cores) for idle, hosts in capacity.hosts_by_idle().items())


def _rooms(capacity: Capacity, chunk: Chunk, vnodes: int) -> list[_Room]:
    """The hosts that hold a piece at least, in their order."""
    here = vnodes & capacity.inventory.matching(chunk)
    free = capacity.free_of_each(here, [resource for resource, _ in chunk.amounts])
    rooms = []
    inside = set(indices_of(here & capacity.inventory.everywhere))
    asked = [(free[resource], amount) for resource, amount in chunk.amounts]
    for host in capacity.inventory.host_indices():
        indices = [index for index in host if index in inside]
        pieces = _ANY_NUMBER if indices else 0
        for listed, amount in asked:
            pieces = min(pieces, sum([max(0, listed[index]) for index in indices]) // amount)
            if not pieces:
                break
        if pieces > 0:
            parts = {1 << index: {resource: max(0, free[resource][index]) for resource in free} for index in indices}
            rooms.append(_Room(pieces, sum(has.get("ncpus", 0) for has in parts.values()), parts))
    return rooms


def _in_order(rooms: Sequence[_Room], best_first: Iterable[int]) -> list[_Room]:
    """The hosts by their best vnode, and the vnodes of each from the best on."""
    room_of = {bit: index for index, room in enumerate(rooms) for bit in room.free}
    found: dict[int, dict[int, dict[str, int]]] = {}
    for bit in best_first:
        index = room_of.get(bit)
        if index is not None:
            found.setdefault(index, {})[bit] = rooms[index].free[bit]
    return [rooms[index]._replace(free=free) for index, free in found.items()]


def _whole_on(room: _Room, chunk: Chunk, count: int = 1) -> list[int]:
    """The vnodes that hold so many pieces alone."""
    return [bit for bit, has in room.free.items() if all(has[name] >= amount * count for name, amount in chunk.amounts)]


def _on_host(chunk: Chunk, count: int, room: _Room, ranked: bool) -> list[Share]:
    """So many pieces on one host: all on one vnode if that holds them, whole ones next, and what is left in parts."""
    free = {bit: dict(has) for bit, has in room.free.items()}
    whole = _whole_on(room, chunk, count)
    if whole:
        bit = whole[0] if ranked else min(whole, key=lambda one: free[one].get("ncpus", 0))
        return [Share(bit, chunk.amounts, count)]
    shares: list[Share] = []
    vnodes = list(free) if ranked else sorted(free, key=lambda one: -free[one].get("ncpus", 0))
    for bit in vnodes:
        held = min([count, *(free[bit][name] // amount for name, amount in chunk.amounts)])
        if held:
            shares.append(Share(bit, chunk.amounts, held))
            count -= held
            for name, amount in chunk.amounts:
                free[bit][name] -= amount * held
    for _ in range(count):
        shares += _parted(chunk, free)
    return shares


def _parted(chunk: Chunk, free: dict[int, dict[str, int]]) -> list[Share]:
    """One piece over several vnodes, which have room for it together: each time the vnode that holds most of what is
    still missing, and of several that hold all of it the tightest. What is free is kept in step."""
    missing = dict(chunk.amounts)
    shares: list[Share] = []
    while missing:
        best = max(free, key=lambda bit: _usefulness(free[bit], missing, chunk.amounts))
        has = free[best]
        part = {name: min(has[name], amount) for name, amount in missing.items() if has[name]}
        for name, amount in part.items():
            has[name] -= amount
            missing[name] -= amount
        missing = {name: amount for name, amount in missing.items() if amount}
        shares.append(Share(best, tuple(sorted(part.items())), 1, joined=bool(shares)))
    return shares


def _usefulness(has: dict[str, int], missing: dict[str, int], amounts: Amounts) -> tuple[bool, float, int]:
    """Whether a vnode holds all that is missing, how much of it in parts of a piece, and how tight it is."""
    asked = dict(amounts)
    held = sum(min(has[name], amount) / asked[name] for name, amount in missing.items())
    return all(has[name] >= amount for name, amount in missing.items()), held, -has.get("ncpus", 0)
