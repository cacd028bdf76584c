"""The sum of a consumable that the vnodes of each host have free, for chunks split over a host's vnodes
(:mod:`policy.fit.split_chunk_within_host`).

The sums are computed once and then updated vnode by vnode; an overcommitted vnode counts as 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from policy.model.vnode_bitsets import indices_of
from policy.state.vnode_totals_hosts_and_matching import Inventory

_KEPT = 4
"""At most this many sets of vnodes are updated beside the set of all; more would cost each change more than they
save."""


class HostSums:
    """Free amounts by host. ``each`` has the free amount of every vnode, in order."""

    __slots__ = ("_counts", "_inventory", "_sums", "each")

    def __init__(self, inventory: Inventory, each: list[int], sums: dict[int, list[int]]) -> None:
        self._inventory = inventory
        self.each = each
        self._sums = sums
        self._counts: dict[int, int] | None = None

    @classmethod
    def summed(cls, inventory: Inventory, free: Sequence[int]) -> HostSums:
        """The sums of these free amounts, one of each vnode in order; negative ones count as nothing."""
        each = [max(0, amount) for amount in free]
        everywhere = [sum([each[index] for index in host]) for host in inventory.host_indices()]
        return cls(inventory, each, {inventory.everywhere: everywhere})

    def copy(self) -> HostSums:
        """An independent copy."""
        twin = HostSums(self._inventory, self.each[:], {vnodes: sums[:] for vnodes, sums in self._sums.items()})
        twin._counts = None if self._counts is None else dict(self._counts)
        return twin

    def change(self, free: Iterable[tuple[int, int]]) -> None:
        """Set the free amounts of some vnodes, given as pairs of index and amount."""
        each, counts, everywhere = self.each, self._counts, self._inventory.everywhere
        host_of, together = self._inventory.host_of(), self._sums[everywhere]
        others = [(vnodes, sums) for vnodes, sums in self._sums.items() if vnodes != everywhere]
        for index, amount in free:
            more = max(0, amount) - each[index]
            if more:
                host = host_of[index]
                before = together[host]
                each[index] += more
                together[host] = before + more
                if counts is not None:
                    counts[before] -= 1
                    counts[before + more] = counts.get(before + more, 0) + 1
                for vnodes, sums in others:
                    if vnodes >> index & 1:
                        sums[host] += more

    def of(self, vnodes: int) -> Sequence[int]:
        """The free amounts on those of the vnodes that are on each host, summed; in the order of the hosts."""
        everywhere = self._inventory.everywhere
        vnodes &= everywhere
        sums = self._sums.get(vnodes)
        if sums is None:
            if len(self._sums) > _KEPT:
                self._sums = {everywhere: self._sums[everywhere]}
            sums = list(self._sums[everywhere])
            host_of, each = self._inventory.host_of(), self.each
            for index in indices_of(everywhere & ~vnodes):
                sums[host_of[index]] -= each[index]
            self._sums[vnodes] = sums
        return sums

    def counts(self) -> Mapping[int, int]:
        """How many hosts have each free amount on all their vnodes together; the count of an amount may be 0."""
        if self._counts is None:
            self._counts = dict(Counter(self._sums[self._inventory.everywhere]))
        return self._counts
