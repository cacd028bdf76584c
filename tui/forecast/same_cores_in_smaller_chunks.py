"""A request with the same cores in more, smaller chunks, for a job whose chunks no vnode has room for.

Each chunk is divided evenly with all that it asks for. Sizes, such as memory, are rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from policy.fit.best_fit import fits
from policy.fit.fits_idle_cluster import fits_idle_cluster
from policy.model.job_request import Chunk, Request
from policy.model.pbs_units import SIZES, parse_amount
from policy.state.cluster_index import ClusterIndex

_MOST = 12
"""So many divisions are tried at most, the coarsest first."""


def find_smaller_chunks(cluster: ClusterIndex, request: Request, queue: str) -> Request | None:
    """The fewest chunks for which the queue's vnodes have room now; else, if they could never hold the request itself,
    the fewest that they could hold without any run. None where neither helps."""
    vnodes = cluster.vnodes_of(queue)
    if fits(cluster.capacity, request, vnodes):
        return None
    first: Request | None = None
    for smaller in smaller_chunks(request):
        if fits(cluster.capacity, smaller, vnodes):
            return smaller
        if first is None and fits_idle_cluster(cluster, smaller, vnodes):
            first = smaller
    return None if fits_idle_cluster(cluster, request, vnodes) else first


def smaller_chunks(request: Request) -> Iterator[Request]:
    """The request with its chunks in two, three and so on, as far as that divides what they ask for. None where they
    must be on one host."""
    if request.place == "pack":
        return
    cores = request.hardest.cores
    for parts in islice((parts for parts in range(2, cores + 1) if not cores % parts), _MOST):
        chunks = tuple(_divided(chunk, parts) or chunk for chunk in request.chunks)
        if chunks != request.chunks:
            yield Request(chunks, request.place, request.sharing, request.group, request.owner)


def _divided(chunk: Chunk, parts: int) -> Chunk | None:
    """The chunk in so many; None if that does not divide it."""
    cores = chunk.cores // parts
    if chunk.cores % parts or not cores or any(_is_amount(value) for _, value in chunk.wants):
        return None
    amounts: list[tuple[str, int]] = []
    for name, amount in chunk.amounts:
        if amount % parts and name not in SIZES:
            return None
        amounts.append((name, -(-amount // parts)))
    ranks = chunk.mpiprocs
    if (ranks or 0) % parts or (chunk.ompthreads or 0) > cores:
        return None
    ranks = None if ranks is None else ranks // parts
    return chunk._replace(pieces=chunk.pieces * parts, amounts=tuple(amounts), mpiprocs=ranks)


def _is_amount(text: str) -> bool:
    """Whether what a chunk wants of its vnode may be a number that it would not need as a whole in each part."""
    return parse_amount(text) is not None
