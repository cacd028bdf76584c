"""A stripe written as chunks, for PBS's own scheduler: one chunk for each node, all alike or with one piece more.

Where pbsteer starts a job it stripes it over the very vnodes of the moment (:mod:`policy.plan.placer`). Where PBS's own
scheduler does, all that can be said is into how many chunks the job falls and that each goes to another host. How wide
that is follows the same rules. See docs/policies.md, P5.
"""

from __future__ import annotations

from itertools import groupby

from policy.model.preferences import Layout
from policy.model.request import Chunk, Request
from policy.striping.node_sizes import Sizes, fewest_nodes, hold
from policy.striping.striping import cut, even_loads, policy_width, widths


def stripe_chunks(request: Request, layout: Layout, nodes: Sizes, width_factor: float) -> Request | None:
    """The request in one chunk for each node of a stripe, ``place=scatter``; the amounts in all are the same.

    None where it stays as it is: it asks for more than one kind of chunk, for vnodes of some kind, for a placement of
    its own or no cores, it cannot be divided, or the nodes leave no room to spread beyond the fewest. A narrower stripe
    is tried where the nodes cannot hold a wide one even when nothing else runs there.
    """
    pieces = cut(request)
    if pieces is None or len(pieces.chunks) != 1 or pieces.chunks[0].wants or not pieces.chunks[0].cores:
        return None
    piece = pieces.chunks[0]
    room = [(hold(pieces, [piece.pieces], size)[0], count) for size, count in nodes]
    fewest, most = fewest_nodes(pieces, nodes), min(piece.pieces, sum(count for most, count in room if most))
    if not fewest:
        return None
    wished = layout.width or policy_width(fewest, width_factor)
    for width in widths(wished, fewest, most, layout.nodes_per_stripe):
        loads = _loads(piece.pieces, width, min(layout.nodes_per_stripe, width))
        if width > fewest and _find_room(loads, room):
            chunks = [_chunk(piece, load, len([*alike])) for load, alike in groupby(loads)]
            return Request(tuple(chunks), "scatter", request.sharing)
    return None


def _loads(pieces: int, width: int, nodes_per_stripe: int) -> list[int]:
    """The pieces of each node: equal parts for the stripes, then equal parts for the nodes of each."""
    stripes = even_loads((pieces,), width // nodes_per_stripe)
    return [load for (part,) in stripes for (load,) in even_loads((part,), nodes_per_stripe)]


def _find_room(loads: list[int], room: list[tuple[int, int]]) -> bool:
    """Whether idle nodes take the loads, each another one; ``room`` is how many pieces so many nodes hold."""
    return all(
        sum(count for most, count in room if most >= load) >= sum(other >= load for other in loads)
        for load in set(loads)
    )


def _chunk(piece: Chunk, load: int, nodes: int) -> Chunk:
    """So many pieces as one chunk. PBS gives each process as many threads as its chunk has cores where nothing else is
    said: several pieces in one chunk say what each of them had."""
    if load == 1:
        return piece._replace(pieces=nodes)
    return piece._replace(
        pieces=nodes,
        amounts=tuple((name, amount * load) for name, amount in piece.amounts),
        mpiprocs=(piece.mpiprocs or 1) * load,
        ompthreads=piece.ompthreads or piece.cores,
    )
