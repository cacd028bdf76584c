"""Chunks that no single vnode holds, over several vnodes of one host, as PBS places them without ``place=vscatter``
(User's Guide, "Chunks"; the scheduler's ``eval_placement``).

The free amounts summed over the vnodes of a host give the number of equal pieces that it holds, however the pieces
before were placed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Callable, NamedTuple

from policy.model.allocation import Share
from policy.model.job_request import Amounts, Chunk
from policy.model.vnode_bitsets import indices_of
from policy.state.vnode_totals_hosts_and_matching import most_on_vnode
from policy.state.vnodes_by_idle_cores import Capacity

_ANY_NUMBER = 1 << 30
_UNPARTED: tuple[Amounts, ...] = ((), (("ncpus", 1),))


class _Room(NamedTuple):
    """A host with room: how many pieces its usable vnodes hold together; the idle cores on these, if the chunk asks for
    cores; its number; and, where an order is given, these vnodes by index in that order."""

    pieces: int
    idle: int
    host: int
    best_first: Sequence[int] = ()


def may_span(capacity: Capacity, chunk: Chunk, place: str = "free") -> bool:
    """Whether such a chunk may be on several vnodes: some host has several vnodes, and the chunk can be split."""
    return place != "vscatter" and not capacity.inventory.one_vnode_per_host and chunk.amounts not in _UNPARTED


def count_pieces(capacity: Capacity, chunk: Chunk, vnodes: int, enough: int) -> int:
    """How many pieces of the chunk fit these vnodes now, split or not; counted up to ``enough``.

    Where the idle cores of all hosts show that fewer than ``enough`` fit, the result is only an upper bound.
    """
    count = capacity.pieces(chunk, vnodes, enough)
    if count >= enough or not may_span(capacity, chunk):
        return count
    most = _most(capacity, chunk)
    if most < enough:
        return most
    return sum(room.pieces for room in _rooms(capacity, chunk, vnodes))


def ever_holds(capacity: Capacity, chunk: Chunk, vnodes: int, place: str) -> int:
    """How many pieces of the chunk these vnodes hold with nothing else on them, by what each has in all."""
    if not may_span(capacity, chunk, place):
        return capacity.inventory.ever_holds(chunk, vnodes)
    here = vnodes & capacity.inventory.matching(chunk)
    known = capacity.inventory.held_divided
    count = known.get((here, chunk.amounts))
    if count is None:
        each = [
            [total // amount for total in capacity.inventory.host_sums(here, resource)]
            for resource, amount in chunk.amounts
        ]
        most = [most_on_vnode(chunk) * len(indices) for indices in capacity.inventory.host_indices()]
        count = known[here, chunk.amounts] = sum(map(min, zip(most, *each)))
    return count


def span(
    capacity: Capacity,
    chunk: Chunk,
    vnodes: int,
    one_a_host: bool = False,
    order: Callable[[int], Iterable[int]] | None = None,
) -> list[Share] | None:
    """All pieces of the chunk on these vnodes, split where no single vnode of a host holds one; None without room.

    They go to the fewest hosts: the tightest that holds all, else the roomiest first and the tightest for the rest.
    ``one_a_host`` gives each piece a host of its own, preferring hosts where a single vnode holds it. ``order`` gives a
    set of vnodes one by one, best first; hosts and their vnodes are then taken in that order.
    """
    if _most(capacity, chunk, one_a_host) < chunk.pieces:
        return None
    best_first = None if order is None else list(order(vnodes & capacity.inventory.matching(chunk)))
    usable = vnodes if best_first is None else sum(best_first)
    rooms = _rooms(capacity, chunk, usable)
    if one_a_host:
        rooms = [room._replace(pieces=1) for room in rooms]
    if sum(room.pieces for room in rooms) < chunk.pieces:
        return None
    if best_first is not None:
        rooms = _in_order(capacity, rooms, best_first)
    elif one_a_host:
        whole = _hosts_of_whole(capacity, chunk, usable)
        rooms.sort(key=lambda room: (room.host not in whole, room.idle))
    else:
        rooms.sort(key=lambda room: (-room.pieces, -room.idle))
    shares: list[Share] = []
    left = chunk.pieces
    for at, next_best in enumerate(rooms):
        room = next_best
        if order is None and not one_a_host and room.pieces >= left:
            room = min((other for other in rooms[at:] if other.pieces >= left), key=lambda other: other.idle)
        count = min(left, room.pieces)
        shares += _on_host(chunk, count, _free_on(capacity, chunk, usable, room), ranked=order is not None)
        left -= count
        if not left:
            break
    return shares


def _most(capacity: Capacity, chunk: Chunk, one_a_host: bool = False) -> int:
    """An upper bound on the pieces that fit, by cores alone. One table of idle cores serves all chunks, so that most of
    them cost no walk over the hosts."""
    if one_a_host and len(capacity.inventory.host_indices()) < chunk.pieces:
        return 0
    if not chunk.cores:
        return _ANY_NUMBER
    cores, hosts_with = chunk.cores, capacity.by_host("ncpus").hosts_with()
    if one_a_host:
        return sum([len(hosts) for idle, hosts in hosts_with.items() if idle >= cores])
    return sum([len(hosts) * (idle // cores) for idle, hosts in hosts_with.items() if idle >= cores])


def _rooms(capacity: Capacity, chunk: Chunk, vnodes: int) -> list[_Room]:
    """The hosts that hold at least one piece, in the order of the hosts."""
    here = vnodes & capacity.inventory.matching(chunk)
    free = [(capacity.by_host(resource).of(here), amount) for resource, amount in chunk.amounts]
    idle = capacity.by_host("ncpus").of(here) if chunk.cores else None
    most, hosts = most_on_vnode(chunk), capacity.inventory.host_indices()
    # On a busy cluster few hosts have enough of the scarcest consumable, usually cores: test that one first.
    scarcest, least = ("ncpus", chunk.cores) if chunk.cores else chunk.amounts[0]
    return [
        _Room(
            min(most * len(hosts[host]), *(there[host] // amount for there, amount in free)),
            0 if idle is None else idle[host],
            host,
        )
        for host in capacity.by_host(scarcest).hosts_with_at_least(here, least)
        if all(there[host] >= amount for there, amount in free)
    ]


def _in_order(capacity: Capacity, rooms: Sequence[_Room], best_first: Iterable[int]) -> list[_Room]:
    """The hosts by their best vnode, and the vnodes of each from the best on."""
    room_of, host_of = {room.host: room for room in rooms}, capacity.inventory.host_of()
    found: dict[int, list[int]] = {}
    for bit in best_first:
        index = bit.bit_length() - 1
        if host_of[index] in room_of:
            found.setdefault(host_of[index], []).append(index)
    return [room_of[host]._replace(best_first=indices) for host, indices in found.items()]


def _hosts_of_whole(capacity: Capacity, chunk: Chunk, vnodes: int) -> frozenset[int]:
    """The hosts where a single vnode holds a piece."""
    host_of = capacity.inventory.host_of()
    whole = next(capacity.held_at_least(chunk, vnodes & capacity.inventory.matching(chunk)), 0)
    return frozenset(host_of[index] for index in indices_of(whole & capacity.inventory.everywhere))


def _free_on(capacity: Capacity, chunk: Chunk, vnodes: int, room: _Room) -> dict[int, dict[str, int]]:
    """The free amounts of what the chunk asks for, on each usable vnode of a host."""
    here = vnodes & capacity.inventory.matching(chunk)
    each = {resource: capacity.by_host(resource).each for resource, _ in chunk.amounts}
    indices = room.best_first or [n for n in capacity.inventory.host_indices()[room.host] if here >> n & 1]
    return {1 << index: {resource: free[index] for resource, free in each.items()} for index in indices}


def _on_host(chunk: Chunk, count: int, free: dict[int, dict[str, int]], ranked: bool) -> list[Share]:
    """``count`` pieces on one host: all on one vnode if that holds them, else whole pieces first and the rest split.
    ``free`` is kept in step."""
    whole = [bit for bit, has in free.items() if all(has[name] >= amount * count for name, amount in chunk.amounts)]
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
    """One piece over several vnodes that have room for it together. Each step takes the vnode that holds most of what
    is still missing; of several that hold all of it, the tightest. ``free`` is kept in step."""
    asked, missing = dict(chunk.amounts), dict(chunk.amounts)
    shares: list[Share] = []
    while missing:
        best = max(free, key=lambda bit: _usefulness(free[bit], missing, asked))
        has = free[best]
        part = {name: min(has[name], amount) for name, amount in missing.items() if has[name]}
        for name, amount in part.items():
            has[name] -= amount
            missing[name] -= amount
        missing = {name: amount for name, amount in missing.items() if amount}
        shares.append(Share(best, tuple(sorted(part.items())), 1, joined=bool(shares)))
    return shares


def _usefulness(has: dict[str, int], missing: dict[str, int], asked: dict[str, int]) -> tuple[bool, float, int]:
    """The sort key of a vnode: whether it holds all that is missing, how much of it (as shares of a piece), and how
    tight it is."""
    whole, held = True, 0.0
    for name, amount in missing.items():
        there = has[name]
        whole = whole and there >= amount
        held += min(there, amount) / asked[name]
    return whole, held, -has.get("ncpus", 0)
