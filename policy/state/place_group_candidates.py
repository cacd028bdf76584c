"""Placement sets: the groups of vnodes that could hold a request if nothing else were on them, the smallest first.

A job that some group could hold waits for one; a job that none could hold may use all vnodes, as in PBS unless
``do_not_span_psets`` is set (Administrator's Guide, "Placement Sets"; ``cmp_placement_sets`` of PBS's scheduler).
Answers depend on totals alone, so they are remembered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policy.model.job_request import Chunk, Grouping, Request
from policy.model.vnode_bitsets import indices_of
from policy.state.vnode_totals_hosts_and_matching import Inventory, most_on_vnode

_Wants = tuple[tuple[str, str], ...]
_Host = tuple[int, ...]
"""A kind of host: the kinds of its usable vnodes in a group, by number, in order."""

MOST_REMEMBERED = 1 << 17
"""At most this many groups (in answers) and kinds of hosts and vnodes (in tables) are remembered together."""


class AbleGroup(NamedTuple):
    """A group's vnodes, and its size: the cores and the memory of those asked about."""

    vnodes: int
    size: tuple[int, int]


class _Group(NamedTuple):
    """A group, and how many usable hosts of each kind it has."""

    group: AbleGroup
    hosts: Mapping[_Host, int]


class _Kind(NamedTuple):
    """A kind of vnode: what it has in all, and which preferences of chunks it meets."""

    has: Mapping[str, int]
    suits: frozenset[_Wants]


class _Table(NamedTuple):
    """The groups by one resource, and the kinds of vnodes that their hosts refer to."""

    groups: Sequence[_Group]
    kinds: Sequence[_Kind]


class Groups:
    """What groups of an inventory's vnodes could ever hold."""

    __slots__ = ("_able", "_inventory", "_remembered", "_tables")

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._able: dict[tuple[Request, int], tuple[AbleGroup, ...]] = {}
        self._tables: dict[tuple[Grouping, int, frozenset[_Wants]], _Table] = {}
        self._remembered = 0

    def able(self, request: Request, vnodes: int) -> Sequence[AbleGroup]:
        """The groups, whole, in which these vnodes could hold the request, the one with the fewest cores and then the
        least memory on these vnodes first; empty where the request is in no placement sets, or no group could."""
        if request.group is None:
            return ()
        able = self._able.get((request, vnodes))
        if able is None:
            table = self._table(request.group, request.chunks, vnodes)
            able = _able(table, request)
            self._remember(1 + len(able))
            self._able[request, vnodes] = able
        return able

    def _table(self, grouping: Grouping, chunks: Sequence[Chunk], vnodes: int) -> _Table:
        key = (grouping, vnodes, frozenset(chunk.wants for chunk in chunks))
        table = self._tables.get(key)
        if table is None:
            table = self._made(grouping, chunks, vnodes)
            self._remember(len(table.kinds) + sum(1 + len(group.hosts) for group in table.groups))
            self._tables[key] = table
        return table

    def _remember(self, count: int) -> None:
        """Account for ``count`` new items; over the bound, drop all that was remembered."""
        self._remembered += count
        if self._remembered > MOST_REMEMBERED:
            self._able.clear()
            self._tables.clear()
            self._remembered = count

    def _made(self, grouping: Grouping, chunks: Sequence[Chunk], vnodes: int) -> _Table:
        inventory = self._inventory
        suiting = {chunk.wants: inventory.matching(chunk) for chunk in chunks}
        usable = 0
        for mask in suiting.values():
            usable |= vnodes & mask
        parts: list[tuple[frozenset[_Wants], int]] = [(frozenset(), usable)]
        for wants, mask in suiting.items():
            parts = [(suits | {wants}, part & mask) for suits, part in parts] + [
                (suits, part & ~mask) for suits, part in parts
            ]
            parts = [each for each in parts if each[1]]
        kinds: list[_Kind] = []
        kind_of: dict[int, int] = {}
        for amounts, mask in inventory.kinds():
            for suits, part in parts:
                here = indices_of(mask & part)
                if here:
                    kind_of.update(dict.fromkeys(here, len(kinds)))
                    kinds.append(_Kind(dict(amounts), suits))
        sets = [
            AbleGroup(each, (inventory.total(each & vnodes), inventory.sum_of(each & vnodes, "mem")))
            for resource in grouping.resources
            for each in inventory.grouped_by(resource, has_rest=grouping.has_rest)
        ]
        sets.sort(key=lambda each: each.size)
        return _Table([_Group(each, self._hosts(each.vnodes & usable, kind_of)) for each in sets], kinds)

    def _hosts(self, vnodes: int, kind_of: Mapping[int, int]) -> Mapping[_Host, int]:
        """How many hosts of each kind these vnodes are on."""
        indices, host_of = indices_of(vnodes), self._inventory.host_of()
        if self._inventory.one_vnode_per_host:
            return Counter((kind_of[index],) for index in indices)
        hosts: dict[int, list[int]] = {}
        for index in indices:
            hosts.setdefault(host_of[index], []).append(kind_of[index])
        return Counter(tuple(sorted(host)) for host in hosts.values())


def _able(table: _Table, request: Request) -> tuple[AbleGroup, ...]:
    """The groups that have what the request needs, on one host where it is packed."""
    apart = request.place in ("scatter", "vscatter")
    pieces = [chunk.pieces for chunk in request.chunks]
    need = [*pieces, sum(pieces) if apart else 0, *(amount for _, amount in request.totals)]
    known: dict[_Host, list[int]] = {}

    def holds(host: _Host) -> list[int]:
        held = known.get(host)
        if held is None:
            held = known[host] = _held([table.kinds[kind] for kind in host], request)
        return held

    def is_able(group: _Group) -> bool:
        if request.place == "pack":
            return any(_covers(holds(host), need) for host in group.hosts)
        each = [[held * count for held in holds(host)] for host, count in group.hosts.items()]
        return _covers(list(map(sum, zip(*each))), need) if each else False

    return tuple(group.group for group in table.groups if is_able(group))


def _covers(held: Sequence[int], need: Sequence[int]) -> bool:
    return all(there >= asked for there, asked in zip(held, need))


def _held(vnodes: Sequence[_Kind], request: Request) -> list[int]:
    """What one host of such vnodes holds: pieces of each chunk by itself, places for pieces that are to be apart, and
    amounts of each consumable.

    Pieces may be split over the vnodes of a host except with ``vscatter``. Pieces that are to be apart each need a host
    (``scatter``) or a vnode (``vscatter``) of their own.
    """
    by_vnode = request.place == "vscatter"
    places = [[vnode] for vnode in vnodes] if by_vnode else [vnodes]
    apart = by_vnode or request.place == "scatter"
    held = []
    for chunk in request.chunks:
        each = [_pieces(chunk, [vnode for vnode in place if chunk.wants in vnode.suits]) for place in places]
        held.append(sum(min(1, count) if apart else count for count in each))
    return [*held, len(places), *(sum(vnode.has.get(name, 0) for vnode in vnodes) for name, _ in request.totals)]


def _pieces(chunk: Chunk, vnodes: Sequence[_Kind]) -> int:
    """How many pieces these vnodes of one host hold together."""
    each = [sum(vnode.has.get(name, 0) for vnode in vnodes) // amount for name, amount in chunk.amounts]
    return min([most_on_vnode(chunk) * len(vnodes), *each])
