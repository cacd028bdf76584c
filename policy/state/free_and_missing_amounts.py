"""What of an allocation is free now and what is missing: the part that a beneficiary has while its victims end.

Vnodes on which equal amounts are free or missing are one share, since an earmark is taken and given back in each pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from policy.model.allocation import Allocation, Share
from policy.model.vnode_bitsets import each_bit
from policy.state.vnodes_by_idle_cores import Capacity


def free_and_missing(capacity: Capacity, allocation: Allocation) -> tuple[tuple[Share, ...], tuple[Share, ...]]:
    """An allocation split, vnode by vnode, into what is free now and what is still missing."""
    inside: list[Share] = []
    missing: list[Share] = []
    for resource, amount, mask in _asked(allocation.shares(capacity.directory)):
        for free, vnodes in _by_free_amount(capacity, resource, mask):
            part = max(0, min(amount, free))
            if part:
                inside.append(Share(vnodes, ((resource, part),), 1))
            if amount > part:
                missing.append(Share(vnodes, ((resource, amount - part),), 1))
    return tuple(inside), tuple(missing)


def _asked(shares: Sequence[Share]) -> Iterable[tuple[str, int, int]]:
    """Each resource, with an amount and the vnodes on which the shares together hold that much of it."""
    asked: dict[str, dict[int, int]] = {}
    for mask, amounts, chunks, _ in shares:
        for resource, amount in amounts:
            by_amount = asked.setdefault(resource, {})
            more, rest = amount * chunks, mask
            for known, vnodes in list(by_amount.items()):
                both = vnodes & rest
                if both:
                    by_amount[known] ^= both
                    by_amount[known + more] = by_amount.get(known + more, 0) | both
                    rest ^= both
            by_amount[more] = by_amount.get(more, 0) | rest
    return [
        (resource, amount, vnodes)
        for resource, by_amount in asked.items()
        for amount, vnodes in by_amount.items()
        if vnodes
    ]


def _by_free_amount(capacity: Capacity, resource: str, vnodes: int) -> Iterator[tuple[int, int]]:
    """The vnodes by how much of the resource is free on them (negative where they are overcommitted)."""
    if resource == "ncpus":
        for idle, held in capacity.levels.items():
            if held & vnodes:
                yield idle, held & vnodes
    else:
        for bit in each_bit(vnodes):
            yield capacity.free_on(bit, resource), bit
