"""Shares the hosts out among chunks that differ: how many pieces of each kind go where, so that all of them have room
(docs/policies.md, "Together, in one pass", 3).

To place one kind after the other may spend on an easy chunk what only a harder one can use. Here the kinds are looked
at together, and a way is found wherever there is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from policy.model.job_request import Chunk
from policy.model.vnode_bitsets import count_vnodes, each_bit, indices_of
from policy.state.vnode_totals_hosts_and_matching import most_on_vnode
from policy.state.vnodes_by_idle_cores import Capacity

_MOST_KINDS = 6
_MOST_STEPS = 1 << 13
"""The search ends after so many steps, or with more kinds of chunks, without a result: some hundredths of a second,
whatever a user asks for."""


class Part(NamedTuple):
    """So many ``pieces`` of the chunk with this number, on these vnodes of one host."""

    chunk: int
    vnodes: int
    pieces: int


class TooManyWaysError(Exception):
    """The search has ended before all ways were tried."""


class _Steps:
    """The steps that a search has left."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def spend(self, count: int) -> None:
        """Count so many. Raises :class:`TooManyWaysError` where that is more than are left."""
        self._left -= count
        if self._left < 0:
            raise TooManyWaysError


class _Host(NamedTuple):
    """The allowed vnodes of a host (with ``vscatter``: one vnode), and how many pieces of each chunk alone they
    hold."""

    vnodes: int
    most: tuple[int, ...]


_Left = tuple[int, ...]
"""How many pieces of each chunk have no host yet."""


class _Way(NamedTuple):
    """The pieces on one host, and the way before it."""

    before: _Way | None
    host: _Host
    pieces: tuple[int, ...]


def share_out(capacity: Capacity, chunks: Sequence[Chunk], vnodes: int, place: str) -> list[Part] | None:
    """The parts of all chunks, those of each in the order of the vnodes; None where they do not fit these vnodes in any
    way. Raises :class:`TooManyWaysError` where that would take too long to find out."""
    hosts = list(_hosts_with_room(capacity, chunks, vnodes, place))
    left = [chunk.pieces for chunk in chunks]
    if any(sum([host.most[kind] for host in hosts]) < pieces for kind, pieces in enumerate(left)):
        return None
    parts: list[Part] = []
    kinds = set(range(len(chunks)))
    while kinds:
        alone = _hosts_of_one_kind(hosts, kinds)
        enough = {kind for kind in kinds if sum([host.most[kind] for host in alone[kind]]) >= left[kind]}
        for kind in enough or kinds:
            for host in sorted(alone[kind], key=lambda host: -host.most[kind]):
                left[kind] -= _append(parts, kind, host, min(host.most[kind], left[kind]))
        if not enough:
            break
        kinds -= enough
    way: _Way | None = None
    if kinds:
        way = _search(capacity, chunks, [host for host in hosts if _count_of(host, kinds) > 1], tuple(left), place)
        if way is None:
            return None
    while way is not None:
        for kind, pieces in enumerate(way.pieces):
            left[kind] -= _append(parts, kind, way.host, min(pieces, left[kind]))
        way = way.before
    return sorted(parts, key=lambda part: (part.chunk, part.vnodes & -part.vnodes))


def _append(parts: list[Part], kind: int, host: _Host, pieces: int) -> int:
    """Append the part, if it has any pieces; returns their number."""
    if pieces:
        parts.append(Part(kind, host.vnodes, pieces))
    return pieces


def _count_of(host: _Host, kinds: Collection[int]) -> int:
    """How many of these kinds the host has room for."""
    return sum([1 for kind in kinds if host.most[kind]])


def _hosts_of_one_kind(hosts: Sequence[_Host], kinds: Collection[int]) -> Mapping[int, list[_Host]]:
    """For each of these kinds the hosts that have room for no other one of them."""
    alone: dict[int, list[_Host]] = {kind: [] for kind in kinds}
    for host in hosts:
        if _count_of(host, kinds) == 1:
            alone[next(kind for kind in kinds if host.most[kind])].append(host)
    return alone


def _hosts_with_room(capacity: Capacity, chunks: Sequence[Chunk], vnodes: int, place: str) -> Iterator[_Host]:
    """The hosts that hold a piece of some chunk. Where pieces are to be apart a host holds one."""
    inventory = capacity.inventory
    each = _free_amounts(capacity, chunks)
    suiting = [vnodes & inventory.matching(chunk) for chunk in chunks]
    by_vnode = inventory.one_vnode_per_host or place == "vscatter"
    able = 0
    for chunk, suits in zip(chunks, suiting) if by_vnode else ():
        able |= next(capacity.held_at_least(chunk, suits), 0)
    for host in each_bit(able) if by_vnode else inventory.hosts():
        here = host & vnodes
        most = tuple(
            min(_most_pieces(chunk, indices_of(here & suits), each), 1 if place != "free" else chunk.pieces)
            for chunk, suits in zip(chunks, suiting)
        )  # fmt: skip
        if any(most):
            yield _Host(here, most)


def _free_amounts(capacity: Capacity, chunks: Sequence[Chunk]) -> Mapping[str, Sequence[int]]:
    """What each vnode has free of each consumable that the chunks ask for."""
    return {name: capacity.by_host(name).each for chunk in chunks for name, _ in chunk.amounts}


def _most_pieces(chunk: Chunk, vnodes: Sequence[int], each: Mapping[str, Sequence[int]]) -> int:
    """How many pieces of the chunk these vnodes of a host hold together."""
    pieces = most_on_vnode(chunk) * len(vnodes)
    for name, amount in chunk.amounts:
        free = each[name]
        pieces = min(pieces, sum([free[index] for index in vnodes]) // amount)
    return pieces


def _search(
    capacity: Capacity, chunks: Sequence[Chunk], hosts: Sequence[_Host], needed: _Left, place: str
) -> _Way | None:
    """The way that leaves no piece of ``needed`` without a host. Host by host, of all ways so far those are kept that
    leave less of some kind than every other one."""
    if sum([1 for pieces in needed if pieces]) > _MOST_KINDS:
        raise TooManyWaysError
    each = _free_amounts(capacity, chunks)
    suiting = [capacity.inventory.matching(chunk) for chunk in chunks]
    ways: dict[_Left, _Way | None] = {needed: None}
    steps = _Steps()
    for host in sorted(hosts, key=lambda host: -sum(map(min, host.most, needed))):
        if capacity.check_time is not None:
            capacity.check_time()
        most = [min(pieces, left) for pieces, left in zip(host.most, needed)]
        filled = _fillings(chunks, suiting, host, most, each, steps) if place == "free" else _one_piece(most)
        grown = dict(ways)
        for pieces in filled:
            steps.spend(len(ways))
            for left, way in ways.items():
                after = tuple([max(0, there - taken) for there, taken in zip(left, pieces)])
                if after not in grown:
                    grown[after] = _Way(way, host, pieces)
        done = grown.get((0,) * len(needed))
        if done is not None:
            return done
        steps.spend(len(grown) ** 2 // 4)
        ways = {left: way for left, way in grown.items() if not any(_is_less(other, left) for other in grown)}
    return None


def _is_less(left: _Left, other: _Left) -> bool:
    return left != other and all(map(int.__le__, left, other))


def _one_piece(most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The fillings of a host that holds one piece."""
    for kind, pieces in enumerate(most):
        if pieces:
            yield tuple(int(each == kind) for each in range(len(most)))


def _fillings(
    chunks: Sequence[Chunk],
    suiting: Sequence[int],
    host: _Host,
    most: Sequence[int],
    each: Mapping[str, Sequence[int]],
    steps: _Steps,
) -> Iterator[tuple[int, ...]]:
    """The numbers of pieces that the host holds together, each with as many of the last kind as there is room for.

    Pieces may be split over the vnodes of a host, so they fit where, for each set of the kinds, the vnodes that suit
    some of them have together what all of them ask for.
    """
    kinds = [kind for kind, pieces in enumerate(most) if pieces]
    free = {
        which: {
            name: sum([amounts[index] for index in indices_of(_union(suiting, kinds, which) & host.vnodes)])
            for name, amounts in each.items()
        }
        for which in range(1, 1 << len(kinds))
    }
    vnodes = {which: count_vnodes(_union(suiting, kinds, which) & host.vnodes) for which in free}

    def most_of(at: int, taken: Sequence[int]) -> int:
        """How many pieces of the kind at this place have room beside those taken of the kinds before it."""
        chunk, pieces = chunks[kinds[at]], most[kinds[at]]
        steps.spend(1 << at)
        for beside in range(1 << at):
            which = beside | 1 << at
            for name, amount in chunk.amounts:
                used = sum(
                    dict(chunks[kinds[other]].amounts).get(name, 0) * taken[other]
                    for other in range(at)
                    if beside >> other & 1
                )
                pieces = min(pieces, (free[which][name] - used) // amount)
            pieces = min(pieces, most_on_vnode(chunk) * vnodes[which])
        return pieces

    def fill(taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        room = most_of(len(taken), taken)
        if len(taken) + 1 == len(kinds):
            yield (*taken, room)
            return
        for pieces in range(room, -1, -1):
            yield from fill((*taken, pieces))

    for taken in fill(()):
        by_kind = dict(zip(kinds, taken))
        yield tuple(by_kind.get(kind, 0) for kind in range(len(most)))


def _union(suiting: Sequence[int], kinds: Sequence[int], which: int) -> int:
    """The vnodes that suit one of the kinds in a set of them."""
    vnodes = 0
    for at, kind in enumerate(kinds):
        vnodes |= suiting[kind] if which >> at & 1 else 0
    return vnodes
