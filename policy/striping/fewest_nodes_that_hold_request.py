"""Nodes counted by size: the fewest that hold a request if nothing else runs on them.

A node is a host with its vnodes; its size is what each of these has. Counted by size, ten thousand equal nodes cost as
much as one.
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.model.job_request import Request

Size = tuple[tuple[tuple[str, int], ...], ...]
"""The total amounts of each vnode of a node, sorted."""

Sizes = Sequence[tuple[Size, int]]
"""Sizes with the number of nodes of each, those with most cores first."""


def cores_of(size: Size) -> int:
    """The cores of a node of this size."""
    return sum(amount for vnode in size for name, amount in vnode if name == "ncpus")


def sort_sizes(counts: Sequence[tuple[Size, int]]) -> Sizes:
    """The sizes in the order in which nodes are filled."""
    return sorted(counts, key=lambda item: (-cores_of(item[0]), item[0]))


def hold(request: Request, left: Sequence[int], size: Size) -> list[int]:
    """How many of the pieces ``left`` of each chunk an empty node of this size holds, filled chunk after chunk."""
    held = [0] * len(left)
    for has in size:
        free = dict(has)
        for index, chunk in enumerate(request.chunks):
            room = [free.get(name, 0) // amount for name, amount in chunk.amounts]
            pieces = min([left[index] - held[index], *room])
            held[index] += pieces
            for name, amount in chunk.amounts:
                free[name] = free.get(name, 0) - amount * pieces
    return held


def fewest_nodes(request: Request, sizes: Sizes) -> int:
    """The fewest nodes that hold the request; 0 if all of them do not. Fills nodes one by one, equal nodes at once."""
    left = [chunk.pieces for chunk in request.chunks]
    nodes = 0
    for size, count in sizes:
        unused = count
        while unused and any(left):
            held = hold(request, left, size)
            if not any(held):
                break
            times = min([unused, *(pieces // each for pieces, each in zip(left, held) if each)])
            left = [pieces - each * times for pieces, each in zip(left, held)]
            unused -= times
            nodes += times
    return 0 if any(left) else nodes
