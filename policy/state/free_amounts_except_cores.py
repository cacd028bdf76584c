"""What is free of consumables other than cores, vnode by vnode.

For every amount that was queried, the set of vnodes with at least that much is stored and updated: a repeated query
costs a look-up, a change one step for each such amount between the old and the new value.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

from policy.model.jobs_runs_vnodes_queues import Vnode
from policy.model.vnode_bitsets import each_bit, indices_of


class Consumables:
    """The free amounts over some vnodes. A consumable that no vnode has is free nowhere."""

    __slots__ = ("_marks", "_thresholds", "free")

    def __init__(self, free: dict[str, list[int]]) -> None:
        self.free = free
        self._thresholds: dict[tuple[str, int], int] = {}
        self._marks: dict[str, list[int]] = {}

    @classmethod
    def of(cls, vnodes: Sequence[Vnode]) -> Consumables:
        """What is free on these vnodes while nothing of the cluster runs there."""
        names = {resource: None for vnode in vnodes for resource in vnode.available if resource != "ncpus"}
        return cls(
            {
                resource: [vnode.available.get(resource, 0) - vnode.elsewhere.get(resource, 0) for vnode in vnodes]
                for resource in names
            }
        )

    def copy(self) -> Consumables:
        """An independent copy."""
        twin = Consumables({resource: list(free) for resource, free in self.free.items()})
        twin._thresholds = dict(self._thresholds)
        twin._marks = {resource: list(amounts) for resource, amounts in self._marks.items()}
        return twin

    def shift(self, resource: str, vnodes: int, by: int) -> None:
        """Add ``by`` (which may be negative) to the free amount of a consumable on each of these vnodes."""
        free = self.free.get(resource)
        if free is None:
            return
        marks, thresholds = self._marks.get(resource, ()), self._thresholds
        for bit in each_bit(vnodes):
            index = bit.bit_length() - 1
            before = free[index]
            free[index] = after = before + by
            # Only for amounts between the two does the vnode become, or cease to be, sufficient.
            low, high = (before, after) if by > 0 else (after, before)
            for amount in marks[bisect_right(marks, low) : bisect_right(marks, high)]:
                thresholds[resource, amount] ^= bit

    def at_least(self, resource: str, amount: int) -> int:
        """The vnodes with at least this amount of a consumable free."""
        key = (resource, amount)
        mask = self._thresholds.get(key)
        if mask is None:
            mask = 0
            for index, free in enumerate(self.free.get(resource, ())):
                if free >= amount:
                    mask |= 1 << index
            self._thresholds[key] = mask
            insort(self._marks.setdefault(resource, []), amount)
        return mask

    def sum_of(self, resource: str, vnodes: int) -> int:
        """The free amount of a consumable on these vnodes together."""
        free = self.free.get(resource)
        return sum([free[index] for index in indices_of(vnodes)]) if free else 0

    def on(self, bit: int, resource: str) -> int:
        """The free amount of a consumable on one vnode (negative where it is overcommitted)."""
        free = self.free.get(resource)
        return free[bit.bit_length() - 1] if free else 0
