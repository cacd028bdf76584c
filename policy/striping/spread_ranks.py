"""Striping: a job's ranks spread evenly over more nodes than it needs (docs/policies.md, P5).

A chunk given once for many MPI ranks is cut into pieces if that comes out even; numbers of pieces on two nodes, and on
two NUMA domains of a node, differ by one at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import ceil, gcd
from typing import TYPE_CHECKING, Callable, NamedTuple

from policy.model.allocation import Allocation, Share
from policy.model.job_request import Chunk, Request
from policy.model.vnode_bitsets import count_vnodes, each_bit

if TYPE_CHECKING:
    from policy.ranking.ranked_fit import Order
    from policy.state.vnodes_by_idle_cores import Capacity

Load = tuple[int, ...]
"""The number of pieces of each chunk of the request that go to one place."""

Pick = Callable[[int, int], int]
"""Chooses the best ``count`` vnodes of a set that has at least that many."""


class Chosen(NamedTuple):
    """The load that each vnode of a set gets."""

    mask: int
    load: Load


@lru_cache(maxsize=65536)
def cut(request: Request) -> Request | None:
    """The request in pieces that may go to different nodes; None if its ``place`` does not allow that.

    A chunk given once with several ``mpiprocs`` is cut into the largest number of pieces by which its processes and all
    its amounts can be divided: ``1:ncpus=64:mpiprocs=64:mem=64gb`` into 64 pieces of one core and 1 GB. A chunk given
    several times, or with one process, is not cut. The amounts in total are the same.
    """
    if request.place != "free" or request.exclusive or request.group is not None:
        return None
    return Request(tuple(map(_cut, request.chunks)), request.place, request.sharing, owner=request.owner)


def _cut(chunk: Chunk) -> Chunk:
    processes = chunk.mpiprocs or 1
    if chunk.pieces > 1 or processes == 1:
        return chunk
    parts = gcd(processes, *(amount for _, amount in chunk.amounts))
    amounts = tuple((name, amount // parts) for name, amount in chunk.amounts)
    return chunk._replace(pieces=parts, amounts=amounts, mpiprocs=processes // parts)


def total_pieces(request: Request) -> int:
    """The number of pieces of all chunks."""
    return sum(chunk.pieces for chunk in request.chunks)


def widths(asked_for: int, fewest: int, most: int, nodes_per_stripe: int = 1) -> Iterator[int]:
    """The widths to try, in nodes: the one asked for within ``fewest`` and ``most``, then half of it and so on while
    that is more than the fewest. If a stripe spans several nodes, each is a whole number of stripes."""
    span = max(1, min(nodes_per_stripe, most))
    stripes = min(ceil(max(asked_for, fewest) / span), most // span)
    if stripes * span < fewest:
        return
    yield stripes * span
    while (stripes // 2) * span > fewest:
        stripes //= 2
        yield stripes * span


def policy_width(fewest: int, width_factor: float) -> int:
    """The width if the job names none: ``width_factor`` times the fewest nodes, rounded up."""
    return ceil(fewest * width_factor)


@lru_cache(maxsize=512)
def even_loads(pieces: Load, width: int) -> tuple[Load, ...]:
    """One load for each of ``width`` places; of every chunk, and in total, the numbers of pieces differ by one at most.

    The remainder of one chunk goes to the places after those that got the remainder of the chunk before.
    """
    columns = []
    first = 0
    for count in pieces:
        each, extra = divmod(count, width)
        columns.append([each + ((place - first) % width < extra) for place in range(width)])
        first = (first + extra) % width
    return tuple(zip(*columns))


def needs(request: Request, load: Load) -> dict[str, int]:
    """The amount of each consumable that a load takes."""
    sums: dict[str, int] = {}
    for chunk, pieces in zip(request.chunks, load):
        for name, amount in chunk.amounts if pieces else ():
            sums[name] = sums.get(name, 0) + amount * pieces
    return sums


def able(capacity: Capacity, request: Request, load: Load, allowed: int) -> int:
    """The allowed vnodes that have room for the load and match its chunks."""
    for chunk, pieces in zip(request.chunks, load):
        if pieces:
            allowed &= capacity.inventory.matching(chunk)
    wanted = needs(request, load)
    cores = wanted.pop("ncpus", 0)
    room = 0
    for level, mask in capacity.levels.items():
        if level >= cores:
            room |= mask
    allowed &= room
    for resource, amount in wanted.items():
        if not allowed:
            break
        allowed &= capacity.others.at_least(resource, amount)
    return allowed


def stripe(
    capacity: Capacity,
    request: Request,
    allowed: int,
    width: int,
    nodes_per_stripe: int,
    pick: Pick,
) -> Allocation | None:
    """The request, in pieces, spread evenly over ``width`` of the allowed vnodes, each a node of its own; None if they
    have no room for that. Stripes of several nodes are listed one after the other, so that consecutive ranks stay
    within one."""
    chosen: list[Chosen] = []
    kinds = [
        (able(capacity, request, load, allowed), load, count)
        for load, count in _kinds(request, width, nodes_per_stripe)
    ]
    # Loads that the fewest nodes can hold choose first.
    for room, load, count in sorted(kinds, key=lambda kind: count_vnodes(kind[0])):
        left = room & allowed
        if count_vnodes(left) < count:
            return None
        mask = pick(left, count)
        allowed &= ~mask
        chosen.append(Chosen(mask, load))
    if nodes_per_stripe == 1:
        return _placed(capacity, request, [chosen])
    nodes: dict[Load, list[Sequence[Chosen]]] = {
        load: [(Chosen(bit, load),) for bit in each_bit(mask)] for mask, load in chosen
    }
    return _placed(capacity, request, _by_stripe(request, width, nodes_per_stripe, nodes))


class Domains(NamedTuple):
    """Nodes of several vnodes: the order of vnodes, the node of a vnode (all its vnodes), and the number of vnodes of
    the largest node."""

    order: Order
    node_of: Callable[[int], int]
    most: int


def stripe_over_domains(
    capacity: Capacity, request: Request, allowed: int, width: int, nodes_per_stripe: int, domains: Domains
) -> Allocation | None:
    """The same for nodes of several vnodes: evenly over the nodes, and in each over those vnodes that have room."""
    nodes: dict[Load, list[Sequence[Chosen]]] = {}
    for load, count in _kinds(request, width, nodes_per_stripe):
        found = nodes[load] = _nodes_for(capacity, request, load, allowed, count, domains)
        if len(found) < count:
            return None
        for parts in found:
            allowed &= ~domains.node_of(parts[0].mask)
    return _placed(capacity, request, _by_stripe(request, width, nodes_per_stripe, nodes))


def _nodes_for(
    capacity: Capacity, request: Request, load: Load, allowed: int, count: int, domains: Domains
) -> list[Sequence[Chosen]]:
    """``count`` nodes for a load, or all there are. Only nodes are tried of which some vnode has room for the part that
    one of them must take at least."""
    roomy, seen = able(capacity, request, _least_part(request, load, domains.most), allowed), 0
    found: list[Sequence[Chosen]] = []
    if count_vnodes(roomy) < count:
        return found
    for bit in domains.order(roomy):
        if not bit & seen:
            node = domains.node_of(bit)
            seen |= node
            parts = spread_within(capacity, request, load, node & allowed)
            if parts:
                found.append(parts)
                if len(found) == count:
                    break
    return found


def _least_part(request: Request, load: Load, domains: int) -> Load:
    """What at least one of this many vnodes gets of a load: of a single kind its part, of several kinds some piece."""
    if len(load) == 1:
        return (-(-load[0] // domains),)
    smallest = min((index for index, pieces in enumerate(load) if pieces), key=lambda at: request.chunks[at].cores)
    return tuple(int(index == smallest) for index in range(len(load)))


def spread_within(capacity: Capacity, request: Request, load: Load, node: int) -> Sequence[Chosen] | None:
    """A load over the vnodes of one node: each piece to the vnode with the fewest of them that still has room."""
    bits = list(each_bit(node))
    free = [{name: capacity.free_on(bit, name) for name in needs(request, load)} for bit in bits]
    given: list[list[int]] = [[] for _ in bits]
    for chunk, pieces in zip(request.chunks, load):
        wanted = capacity.inventory.matching(chunk) if pieces else 0
        room = [
            min((has[name] // amount for name, amount in chunk.amounts), default=pieces) if bit & wanted else 0
            for bit, has in zip(bits, free)
        ]
        part = _fill([sum(before) for before in given], room, pieces)
        if part is None:
            return None
        for before, has, count in zip(given, free, part):
            before.append(count)
            for name, amount in chunk.amounts if count else ():
                has[name] -= amount * count
    return [Chosen(bit, tuple(part)) for bit, part in zip(bits, given) if any(part)]


def _fill(before: list[int], room: list[int], count: int) -> list[int] | None:
    """How many more pieces each place gets, so that the fullest rises as little as possible; None if there is no
    room."""
    given = [0] * len(room)
    while count:
        open_to = [place for place, most in enumerate(room) if given[place] < most]
        if not open_to:
            return None
        heights = sorted({before[place] + given[place] for place in open_to})
        lowest = [place for place in open_to if before[place] + given[place] == heights[0]]
        step = min(room[place] - given[place] for place in lowest)
        step = min([step, max(1, count // len(lowest)), *(height - heights[0] for height in heights[1:2])])
        for place in lowest:
            part = min(step, count)
            given[place] += part
            count -= part
    return given


@lru_cache(maxsize=512)
def _node_loads(request: Request, width: int, nodes_per_stripe: int) -> tuple[tuple[Load, ...], ...]:
    """The loads of the nodes of each stripe: first the stripes get equal parts, then the nodes of each."""
    pieces = tuple(chunk.pieces for chunk in request.chunks)
    stripes = even_loads(pieces, width // nodes_per_stripe)
    return tuple(even_loads(part, nodes_per_stripe) for part in stripes)


def _kinds(request: Request, width: int, nodes_per_stripe: int) -> list[tuple[Load, int]]:
    """The different loads, most cores first, with the number of nodes that get each."""
    counts: dict[Load, int] = {}
    for loads in _node_loads(request, width, nodes_per_stripe):
        for load in loads:
            counts[load] = counts.get(load, 0) + 1
    cores = [chunk.cores for chunk in request.chunks]
    return sorted(counts.items(), key=lambda kind: (-sum(map(int.__mul__, cores, kind[0])), kind[0]))


def _by_stripe(
    request: Request, width: int, nodes_per_stripe: int, nodes: dict[Load, list[Sequence[Chosen]]]
) -> list[list[Chosen]]:
    """The nodes chosen for each load, distributed to the stripes."""
    queues = {load: iter(found) for load, found in nodes.items()}
    return [
        [part for load in loads for part in next(queues[load])]
        for loads in _node_loads(request, width, nodes_per_stripe)
    ]


def _placed(capacity: Capacity, request: Request, stripes: Iterable[Sequence[Chosen]]) -> Allocation:
    """The allocation, by chunk and then by stripe; equal numbers of pieces are merged into one set."""
    shares: list[Share] = []
    stripes = list(stripes)
    for index, chunk in enumerate(request.chunks):
        for parts in stripes:
            masks: dict[int, int] = {}
            for mask, load in parts:
                if load[index]:
                    masks[load[index]] = masks.get(load[index], 0) | mask
            shares += [Share(mask, chunk.amounts, pieces) for pieces, mask in masks.items()]
    return Allocation(shares=tuple(shares), directory=capacity.directory)
