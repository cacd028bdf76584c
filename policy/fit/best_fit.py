"""Where a request fits in what is free: the first allocation in a fixed order, or none.

Pieces of a chunk go to the tightest vnode that holds all of them, else to the emptiest vnodes first and the tightest
for the rest, ties by name. Chunks that differ are placed one after the other; where that fails, hosts are shared out
among them, so that a request which fits is placed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from policy.fit.share_out_hosts import TooManyWaysError, share_out
from policy.fit.split_chunk_within_host import count_pieces, may_span, span
from policy.model.allocation import Allocation, Share
from policy.model.job_request import Chunk, Request
from policy.model.vnode_bitsets import count_vnodes, each_bit, lowest
from policy.state.closure_windows import Closed
from policy.state.place_group_candidates import AbleGroup
from policy.state.vnodes_by_idle_cores import Capacity


def fit(capacity: Capacity, request: Request, vnodes: int, ever: int | None = None) -> Allocation | None:
    """An allocation for the request on the open ones of these vnodes; None where it does not fit now.

    ``ever`` are all vnodes that it may use, where some of them are closed to it for a while (otherwise: ``vnodes``). By
    those of them that take jobs is judged which placement sets could hold it, so that it waits for a set instead of
    being spread over several.
    """
    allowed = vnodes & capacity.open_to(request)
    if request.only_cores:
        shares = _single_cores(capacity, request.chunks[0], allowed)
        return None if shares is None else Allocation(None, tuple(shares), capacity.directory, request.cores)
    if request.group is not None:
        groups = groups_for(capacity, request, vnodes if ever is None else ever)
        if groups or not request.group.may_span:
            tightest = _tightest_groups(capacity, groups, allowed, request.cores)
            return next(filter(None, (_arranged(capacity, request, here) for here in tightest)), None)
    return _arranged(capacity, request, allowed)


def groups_for(capacity: Capacity, request: Request, vnodes: int) -> Sequence[AbleGroup]:
    """The placement sets that could hold the request on those of these vnodes that take jobs, the smallest first."""
    return capacity.groups.able(request, vnodes & capacity.usable)


def _tightest_groups(capacity: Capacity, groups: Sequence[AbleGroup], allowed: int, cores: int) -> Iterator[int]:
    """The allowed vnodes of each group that has so many idle cores on them. The smallest group comes first; of those of
    one size the one with the fewest idle cores, then the one with the least free memory, as PBS's scheduler has it."""
    for size, alike in groupby(groups, key=_size_of):
        here = [group.vnodes & allowed for group in alike]
        enough = [(idle, vnodes) for idle, vnodes in ((capacity.idle(each), each) for each in here) if idle >= cores]
        enough.sort(key=_idle_of)
        for idle, tied in groupby(enough, key=_idle_of):
            equal = [vnodes for _, vnodes in tied]
            if len(equal) > 1 and idle < size[0]:
                equal.sort(key=lambda vnodes: capacity.others.sum_of("mem", vnodes))
            yield from equal


def _size_of(group: AbleGroup) -> tuple[int, int]:
    return group.size


def _idle_of(group: tuple[int, int]) -> int:
    return group[0]


def fits(capacity: Capacity, request: Request, vnodes: int, ever: int | None = None) -> bool:
    """Whether :func:`fit` finds an allocation. Equal pieces on any vnodes are only counted, without making one."""
    if len(request.chunks) != 1 or request.place != "free" or request.group is not None:
        return fit(capacity, request, vnodes, ever) is not None
    chunk = request.chunks[0]
    here = vnodes & capacity.open_to(request) & capacity.inventory.matching(chunk)
    return count_pieces(capacity, chunk, here, chunk.pieces) >= chunk.pieces


def fits_where_open(capacity: Capacity, request: Request, vnodes: int, closed: Closed) -> bool:
    """As :func:`fits`, on these vnodes without what is closed to the job."""
    with closed.applied_to(capacity):
        return fits(capacity, request, vnodes & ~closed.vnodes, vnodes)


def _arranged(capacity: Capacity, request: Request, allowed: int) -> Allocation | None:
    if request.place == "pack":
        shares = _packed(capacity, request, allowed)
    else:
        shares = _spread(capacity, request, allowed)
    return None if shares is None else Allocation(shares=tuple(shares), directory=capacity.directory)


def _spread(capacity: Capacity, request: Request, allowed: int) -> list[Share] | None:
    """All chunks, each placed on what the chunks before it left."""
    if len(request.chunks) == 1 and request.place == "free":
        return _pieces(capacity, request.chunks[0], allowed)
    hardest = request.hardest
    here = allowed & capacity.inventory.matching(hardest)
    if count_pieces(capacity, hardest, here, hardest.pieces) < hardest.pieces:
        return None
    found: list[Share] = []
    try:
        if _all_chunks(capacity, request, allowed, found):
            return found
    finally:
        capacity.give(found, _SHARED)
    several = len(request.chunks) > 1 and allowed & (allowed - 1)
    return _shared_out(capacity, request, allowed & capacity.inventory.everywhere) if several else None


def _all_chunks(capacity: Capacity, request: Request, allowed: int, found: list[Share]) -> bool:
    """Take what each chunk needs, one after the other, and append it to ``found``; False as soon as one does not
    fit."""
    for chunk in request.chunks:
        if capacity.check_time is not None:
            capacity.check_time()
        if request.place == "free":
            shares = _pieces(capacity, chunk, allowed)
        else:
            shares = _one_each(capacity, chunk, allowed, request.place == "scatter")
        if shares is None:
            return False
        capacity.take(shares, _SHARED)
        found += shares
        if request.place != "free":
            for share in shares:
                allowed &= ~(capacity.inventory.hosts_of(share.mask) if request.place == "scatter" else share.mask)
    return True


def _shared_out(capacity: Capacity, request: Request, allowed: int) -> list[Share] | None:
    """All chunks, where one after the other they find no room: the hosts are shared out among them. The shares are in
    the order of the select, as an exec_vnode names them."""
    chunks, suiting = request.chunks, [capacity.inventory.matching(chunk) for chunk in request.chunks]
    if capacity.idle(allowed) < request.cores:
        return None
    for chunk, suits in zip(chunks, suiting):
        if count_pieces(capacity, chunk, allowed & suits, chunk.pieces) < chunk.pieces:
            return None
    found: list[list[Share]] = [[] for _ in chunks]
    taken: list[Share] = []
    try:
        parts = share_out(capacity, chunks, allowed, request.place)
        if parts is None:
            return None
        # On a host of several vnodes those chunks come first that fewest of them suit.
        for kind, vnodes, pieces in sorted(parts, key=lambda part: count_vnodes(part.vnodes & suiting[part.chunk])):
            shares = _pieces(capacity, chunks[kind]._replace(pieces=pieces), vnodes)
            if shares is None:
                capacity.gave_up = True
                return None
            capacity.take(shares, _SHARED)
            taken += shares
            found[kind] += shares
        return [share for shares in found for share in shares]
    except TooManyWaysError:
        capacity.gave_up = True
        return _scarcest_first(capacity, request, allowed)
    finally:
        capacity.give(taken, _SHARED)


def _scarcest_first(capacity: Capacity, request: Request, allowed: int) -> list[Share] | None:
    """All chunks, those first for which the fewest vnodes have room; their shares in the order of the select."""
    chunks, matching = request.chunks, capacity.inventory.matching
    able = [next(capacity.held_at_least(chunk, allowed & matching(chunk)), 0) for chunk in chunks]
    order = sorted(range(len(chunks)), key=lambda kind: count_vnodes(able[kind]))
    taken: list[Share] = []
    try:
        if not _all_chunks(capacity, Request(tuple(chunks[kind] for kind in order), request.place), allowed, taken):
            return None
    finally:
        capacity.give(taken, _SHARED)
    found: list[list[Share]] = [[] for _ in chunks]
    at = 0
    for kind in order:
        pieces = chunks[kind].pieces
        while at < len(taken) and (pieces or taken[at].joined):
            pieces -= 0 if taken[at].joined else taken[at].chunks * count_vnodes(taken[at].mask)
            found[kind].append(taken[at])
            at += 1
    return [share for shares in found for share in shares]


_SHARED = Request((), sharing="shared")


def _pieces(capacity: Capacity, chunk: Chunk, allowed: int) -> list[Share] | None:
    """``chunk.pieces`` pieces on any vnodes, split only where whole pieces do not fit."""
    shares = _whole_pieces(capacity, chunk, allowed)
    if shares is None and may_span(capacity, chunk):
        return span(capacity, chunk, allowed)
    return shares


def _whole_pieces(capacity: Capacity, chunk: Chunk, allowed: int) -> list[Share] | None:
    """The same without splitting a piece: on one vnode if one holds all, else on the emptiest first."""
    others = len(chunk.amounts) > 1 or not chunk.cores
    if chunk.wants:
        allowed &= capacity.inventory.matching(chunk)
    if others:
        for resource, amount in chunk.amounts:
            if resource != "ncpus":
                allowed &= capacity.others.at_least(resource, amount)
    if not allowed:
        return None
    levels = sorted(capacity.levels)
    one = _tightest(capacity, chunk, chunk.pieces, allowed, levels, others)
    if one:
        return [Share(one, chunk.amounts, chunk.pieces)]
    if others:
        return _pieces_by_kind(capacity, chunk, allowed, levels)
    shares: list[Share] = []
    left, cores = chunk.pieces, chunk.cores
    for level in reversed(levels):
        each = level // cores
        if each <= 0:
            return None
        here = capacity.levels[level] & allowed
        if not here:
            continue
        if left >= each:
            full = min(count_vnodes(here), left // each)
            taken = lowest(here, full)
            shares.append(Share(taken, chunk.amounts, each))
            left -= full * each
            allowed &= ~taken
        if left < each:
            rest = left and _tightest(capacity, chunk, left, allowed, levels, others=False)
            if rest:
                shares.append(Share(rest, chunk.amounts, left))
            if not left or rest:
                return shares
    return None


def _single_cores(capacity: Capacity, chunk: Chunk, allowed: int) -> list[Share] | None:
    """:func:`_pieces` for pieces of one core without preferences, the most frequent request."""
    levels = capacity.levels
    left, amounts = chunk.pieces, chunk.amounts
    order = sorted(levels)
    for level in order:
        if level >= left and levels[level] & allowed:
            here = levels[level] & allowed
            return [Share(here & -here, amounts, left)]
    shares: list[Share] = []
    for level in reversed(order):
        here = levels[level] & allowed if level > 0 else 0
        if not here:
            continue
        count = count_vnodes(here)
        full = min(count, left // level)
        if full:
            taken = lowest(here, full) if full < count else here
            shares.append(Share(taken, amounts, level))
            left -= full * level
            allowed &= ~taken
        if left < level:
            for tight in order if left else ():
                here = levels[tight] & allowed if tight >= left else 0
                if here:
                    shares.append(Share(here & -here, amounts, left))
                    return shares
            if not left:
                return shares
    return None


def _tightest(capacity: Capacity, chunk: Chunk, count: int, allowed: int, levels: list[int], others: bool) -> int:
    """The vnode with the fewest idle cores that still holds ``count`` pieces; 0 if none does."""
    need = chunk.cores * count
    for level in levels:
        if level >= need:
            here = capacity.levels[level] & allowed
            if here and not others:
                return here & -here
            for bit in each_bit(here):
                if capacity.could_hold(chunk, bit, level) >= count:
                    return bit
    return 0


def _pieces_by_kind(capacity: Capacity, chunk: Chunk, allowed: int, levels: list[int]) -> list[Share] | None:
    """:func:`_whole_pieces` where other consumables bind too: of equally empty vnodes, those that hold most pieces
    first."""
    left = chunk.pieces
    held: list[int] = []
    room = 0
    for mask in capacity.held_at_least(chunk, allowed):
        held.append(mask)
        room += count_vnodes(mask)
        if room >= left and len(held) >= left:
            break
    if room < left:
        return None
    shares: list[Share] = []
    for level in reversed(levels):
        here = capacity.levels[level] & held[0]
        for count in range(len(held), 0, -1) if here else ():
            each = min(count, left)
            most = here & held[count - 1]
            if not most:
                continue
            here &= ~most
            full = min(count_vnodes(most), left // each)
            shares.append(Share(lowest(most, full), chunk.amounts, each))
            left -= full * each
            if left and full < count_vnodes(most):
                rest = most & ~shares[-1].mask
                shares.append(Share(rest & -rest, chunk.amounts, left))
                left = 0
            if not left:
                return shares
    return shares


def _one_each(capacity: Capacity, chunk: Chunk, allowed: int, by_host: bool) -> list[Share] | None:
    """Each piece on a vnode (or host) of its own; on a host of its own it may be split."""
    shares = _whole_each(capacity, chunk, allowed, by_host)
    if shares is None and by_host and may_span(capacity, chunk):
        return span(capacity, chunk, allowed, one_a_host=True)
    return shares


def _whole_each(capacity: Capacity, chunk: Chunk, allowed: int, by_host: bool) -> list[Share] | None:
    """The same without splitting a piece, the tightest vnodes first."""
    allowed &= capacity.inventory.matching(chunk)
    shares: list[Share] = []
    left = chunk.pieces
    bulk = len(chunk.amounts) == 1 and chunk.cores > 0 and (not by_host or capacity.inventory.one_vnode_per_host)
    for level in sorted(capacity.levels):
        if level < chunk.cores:
            continue
        here = capacity.levels[level] & allowed
        if bulk and here:
            taken = lowest(here, min(left, count_vnodes(here)))
            shares.append(Share(taken, chunk.amounts, 1))
            left -= count_vnodes(taken)
        elif here:
            for bit in each_bit(here):
                if left and bit & allowed and capacity.could_hold(chunk, bit, level):
                    shares.append(Share(bit, chunk.amounts, 1))
                    left -= 1
                    allowed &= ~(capacity.inventory.hosts_of(bit) if by_host else bit)
        if not left:
            return shares
    return None


def _packed(capacity: Capacity, request: Request, allowed: int) -> list[Share] | None:
    """All chunks on one host: the one with the fewest idle cores that holds them."""
    spread = Request(request.chunks)
    for host in _hosts_by_idle(capacity, request.cores, allowed):
        shares = _spread(capacity, spread, host & allowed)
        if shares is not None:
            return shares
    return None


def _hosts_by_idle(capacity: Capacity, cores: int, allowed: int) -> Iterable[int]:
    if capacity.inventory.one_vnode_per_host:
        # A vnode of which more is used than it has is like a full one.
        full = 0
        for level, vnodes in capacity.levels.items():
            full |= vnodes if level <= 0 else 0
        yield from each_bit(full & allowed) if not cores else ()
        for level in sorted(capacity.levels):
            if level > 0 and level >= cores:
                yield from each_bit(capacity.levels[level] & allowed)
        return
    idle = [(capacity.idle(host & allowed), index, host) for index, host in enumerate(capacity.inventory.hosts())]
    yield from (host for free, _, host in sorted(idle) if free >= cores and host & allowed)
