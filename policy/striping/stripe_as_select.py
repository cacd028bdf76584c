"""A stripe as chunks for PBS's own scheduler: one chunk for each node, all equal or with one piece more.

Where pbsteer starts a job, it stripes it over particular vnodes (:mod:`policy.plan.job_placer`). PBS's own scheduler
can only be given the number of chunks, each on another host; the width follows the same rules (docs/policies.md, P5).
"""

from __future__ import annotations

from itertools import groupby

from policy.model.job_preferences import Layout
from policy.model.job_request import Chunk, Request
from policy.striping.batch_of_waiting_jobs import Extent
from policy.striping.fewest_nodes_that_hold_request import Sizes, fewest_nodes, hold
from policy.striping.spread_ranks import cut, even_loads, policy_width, widths


def stripe_chunks(
    request: Request, layout: Layout, nodes: Sizes, width_factor: float, most_chunks: int | None = None
) -> Request | None:
    """The request as one chunk for each node of a stripe, ``place=scatter``, with the same amounts in total.

    None if the request must stay as it is: it has several kinds of chunks, wants vnodes of some kind, has a ``place``
    of its own or no cores, or cannot be divided, or the nodes leave no room beyond the fewest. A narrower stripe is
    tried if the nodes could not hold a wide one even when idle. ``most_chunks``, where given, limits the chunks.
    """
    pieces = cut(request)
    if pieces is None or len(pieces.chunks) != 1 or pieces.chunks[0].wants or not pieces.chunks[0].cores:
        return None
    piece = pieces.chunks[0]
    room = _rooms(pieces, nodes)
    fewest, most = extent_of(pieces, nodes, most_chunks)
    if not fewest:
        return None
    asked_for = layout.width or policy_width(fewest, width_factor)
    for width in widths(asked_for, fewest, most, layout.nodes_per_stripe):
        loads = _loads(piece.pieces, width, min(layout.nodes_per_stripe, width))
        if width > fewest and _find_room(loads, room):
            chunks = [_chunk(piece, load, len([*alike])) for load, alike in groupby(loads)]
            return Request(tuple(chunks), "scatter", request.sharing)
    return None


def extent_of(request: Request, nodes: Sizes, most_chunks: int | None = None) -> Extent:
    """Over how many of the nodes, if they were idle, a request can be spread, with a chunk on each; only one kind of
    chunk can be."""
    pieces = cut(request)
    if pieces is None or len(pieces.chunks) != 1:
        return Extent()
    most = min(pieces.chunks[0].pieces, sum(count for held, count in _rooms(pieces, nodes) if held))
    return Extent(fewest_nodes(pieces, nodes), most if most_chunks is None else min(most, most_chunks))


def _rooms(pieces: Request, nodes: Sizes) -> list[tuple[int, int]]:
    """How many pieces a node of each size holds, and how many such nodes there are."""
    return [(hold(pieces, [pieces.chunks[0].pieces], size)[0], count) for size, count in nodes]


def _loads(pieces: int, width: int, nodes_per_stripe: int) -> list[int]:
    """The pieces of each node: equal parts for the stripes, then equal parts for the nodes of each."""
    stripes = even_loads((pieces,), width // nodes_per_stripe)
    return [load for (part,) in stripes for (load,) in even_loads((part,), nodes_per_stripe)]


def _find_room(loads: list[int], room: list[tuple[int, int]]) -> bool:
    """Whether idle nodes take the loads, each on another node; ``room`` has (pieces held, number of such nodes)."""
    return all(
        sum(count for most, count in room if most >= load) >= sum(other >= load for other in loads)
        for load in set(loads)
    )


def _chunk(piece: Chunk, load: int, nodes: int) -> Chunk:
    """This many pieces as one chunk. ``ompthreads`` is set if there are several: PBS's default is all cores of the
    chunk for each process, so the chunk states what each piece had."""
    if load == 1:
        return piece._replace(pieces=nodes)
    return piece._replace(
        pieces=nodes,
        amounts=tuple((name, amount * load) for name, amount in piece.amounts),
        mpiprocs=(piece.mpiprocs or 1) * load,
        ompthreads=piece.ompthreads or piece.cores,
    )
