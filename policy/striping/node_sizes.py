"""Nodes counted by size: how few of them hold a request when nothing else runs there.

A node is a host with its vnodes; a size is what each of them has. Counting by size, ten thousand equal nodes cost as
much as one.
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.model.request import Request

Size = tuple[tuple[tuple[str, int], ...], ...]
"""What a node has in all: the amounts of each of its vnodes, sorted."""

Sizes = Sequence[tuple[Size, int]]
"""Sizes with how many nodes have each, those with the most cores first."""


def cores_of(size: Size) -> int:
    """The cores of a node."""
    return sum(amount for vnode in size for name, amount in vnode if name == "ncpus")


def sort_sizes(counts: Sequence[tuple[Size, int]]) -> Sizes:
    """The sizes in the order in which nodes are filled."""
    return sorted(counts, key=lambda item: (-cores_of(item[0]), item[0]))


def hold(request: Request, left: Sequence[int], size: Size) -> list[int]:
    """How many of the pieces ``left`` of each chunk one node holds with nothing else on it, chunk after chunk."""
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
    """The fewest nodes that hold the request; 0 where all do not. Fills one after the other, all of one size at
    once."""
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
