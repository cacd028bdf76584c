"""Places a request on the best ranked vnodes first: as many pieces on the best as it holds, then on the next.

The order is only a preference: if it leads nowhere although the request fits, the request is placed as unranked ones
are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Callable

from policy.fit.best_fit import fit, groups_for
from policy.fit.split_chunk_within_host import count_pieces, may_span, span
from policy.model.allocation import Allocation, Directory, Share, Spot
from policy.model.job_request import Amounts, Chunk, Request
from policy.model.vnode_bitsets import each_bit
from policy.state.vnodes_by_idle_cores import Capacity

Order = Callable[[int], Iterable[int]]
"""Yields a set of vnodes one by one, as sets of one, best first: ``functools.partial(ranking.ordered, preference)``."""


def fit_ranked(
    capacity: Capacity, request: Request, allowed: int, order: Order, ever: int | None = None
) -> Allocation | None:
    """An allocation for the request on the open ones of these vnodes, best first; None if it does not fit now.

    Vnodes that ``order`` leaves out are not used, so the order should know all ``allowed`` vnodes. ``ever`` is as for
    :func:`policy.fit.best_fit.fit`.
    """
    open_now = allowed & capacity.open_to(request)
    for chunk in request.chunks:
        if count_pieces(capacity, chunk, open_now & capacity.inventory.matching(chunk), chunk.pieces) < chunk.pieces:
            return None
    groups = groups_for(capacity, request, allowed if ever is None else ever)
    if request.group is not None and not groups and not request.group.may_span:
        return None
    sets = [group.vnodes for group in groups]
    allocation = _in_order(capacity, request, open_now, sets, order, parted=False)
    if allocation is not None or _tried_all(capacity, request):
        return allocation
    unranked = fit(capacity, request, allowed, ever)
    if unranked is None or not any(spot.joined for spot in unranked.spots):
        return unranked
    return _in_order(capacity, request, open_now, sets, order, parted=True) or unranked


def _in_order(
    capacity: Capacity, request: Request, vnodes: int, groups: Sequence[int], order: Order, parted: bool
) -> Allocation | None:
    """The allocation on the best of the places; ``parted`` lets chunks be on several vnodes of a host."""
    for there in _places(capacity, request, vnodes, groups, order):
        shares = _filled(capacity, request, there, order, parted)
        if shares is not None:
            return _allocation(shares, capacity.directory)
    return None


def _tried_all(capacity: Capacity, request: Request) -> bool:
    """Whether filling in order finds an allocation if there is one: with one kind of chunk, or on single vnodes.
    Several kinds, or hosts of several vnodes, may need another search."""
    if any(may_span(capacity, chunk, request.place) for chunk in request.chunks):
        return False
    if request.place == "pack":
        return capacity.inventory.one_vnode_per_host
    return len(request.chunks) == 1 and (request.place != "scatter" or capacity.inventory.one_vnode_per_host)


def _places(capacity: Capacity, request: Request, vnodes: int, groups: Sequence[int], order: Order) -> Iterator[int]:
    """The sets of vnodes to try one after the other, each for the whole request; parts of one group each, if there are
    groups."""
    inventory = capacity.inventory
    for group in _by_best(groups, vnodes, order) if groups else [vnodes]:
        if request.place != "pack":
            yield group
        elif inventory.one_vnode_per_host:
            able = group & _with_room(capacity, request.totals)
            for chunk in request.chunks:
                able &= inventory.matching(chunk)
            yield from order(able)
        else:
            enough = [host for host in inventory.hosts() if capacity.idle(host & group) >= request.cores]
            yield from _by_best(enough, group, order)


def _by_best(parts: Iterable[int], vnodes: int, order: Order) -> Iterator[int]:
    """The vnodes of each part, the part with the best ranked vnode first. A vnode may be in several parts."""
    parts_of: dict[int, list[int]] = {}
    everywhere = 0
    for part in parts:
        here = part & vnodes
        everywhere |= here
        for bit in each_bit(here):
            parts_of.setdefault(bit, []).append(here)
    seen: set[int] = set()
    for bit in order(everywhere):
        for part in parts_of[bit]:
            if part not in seen:
                seen.add(part)
                yield part


def _with_room(capacity: Capacity, amounts: Amounts) -> int:
    """The vnodes with at least these amounts free."""
    room = -1
    for resource, amount in amounts:
        if resource == "ncpus":
            here = 0
            for level, mask in capacity.levels.items():
                if level >= amount:
                    here |= mask
            room &= here
        else:
            room &= capacity.others.at_least(resource, amount)
    return room


def _filled(capacity: Capacity, request: Request, vnodes: int, order: Order, parted: bool) -> list[Share] | None:
    """Shares for all chunks on these vnodes, each chunk on what those before it left; None if they do not fit."""
    found: list[Share] = []
    complete = True
    for chunk in request.chunks:
        shares = _pieces(capacity, chunk, vnodes, order, request.place)
        if shares is None and parted and may_span(capacity, chunk, request.place):
            shares = span(capacity, chunk, vnodes, request.place == "scatter", order)
        if shares is None:
            complete = False
            break
        found += shares
        if len(request.chunks) == 1:
            return found
        capacity.take_amounts(shares)
        for share in shares:
            if request.place == "scatter":
                vnodes &= ~capacity.inventory.hosts_of(share.mask)
            elif request.place == "vscatter":
                vnodes &= ~share.mask
    capacity.take_amounts(found, -1)
    return found if complete else None


def _pieces(capacity: Capacity, chunk: Chunk, vnodes: int, order: Order, place: str) -> list[Share] | None:
    """The pieces of one chunk, vnode by vnode in order; scattered pieces each on a vnode or host of its own."""
    apart = place in ("scatter", "vscatter")
    held: list[int] = []
    for mask in capacity.held_at_least(chunk, vnodes & capacity.inventory.matching(chunk)):
        held.append(mask)
        if apart or len(held) == chunk.pieces:
            break
    shares: list[Share] = []
    left, used = chunk.pieces, 0
    for bit in order(held[0]) if held else ():
        if used & bit:
            continue
        if place == "scatter":
            used |= capacity.inventory.hosts_of(bit)
        each, most = 1, min(left, len(held))
        while each < most:
            middle = (each + most + 1) // 2
            each, most = (middle, most) if held[middle - 1] & bit else (each, middle - 1)
        shares.append(Share(bit, chunk.amounts, each))
        left -= each
        if not left:
            return shares
    return None


def _allocation(shares: list[Share], directory: Directory) -> Allocation:
    """The shares as an allocation. Its spots keep the order of the ranks; equal shares are merged into sets."""
    names = directory.names
    sets: dict[tuple[Amounts, int], int] = {}
    apart: list[Share] = []
    for share in shares:
        kind = (share.amounts, share.chunks)
        if sets.get(kind, 0) & share.mask:
            apart.append(share)
        else:
            sets[kind] = sets.get(kind, 0) | share.mask
    apart += [Share(mask, amounts, chunks) for (amounts, chunks), mask in sets.items()]
    spots = tuple(Spot(names[share.mask.bit_length() - 1], *share[1:]) for share in shares)
    return Allocation(spots, tuple(apart), directory)
