"""What the vnodes of each host have free of one consumable together.

A chunk may be parted over the vnodes of a host (:mod:`policy.fit.host_chunks`), so what counts is their sum. The sums
are made once and then kept in step vnode by vnode. What is overcommitted counts as nothing, not as less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from policy.model.bitsets import indices_of
from policy.state.inventory import Inventory

_KEPT = 4
"""So many sets of vnodes are kept in step beside all of them; more would cost each change more than they spare."""


class HostSums:
    """``each`` has what every vnode has free, in order."""

    __slots__ = ("_counts", "_inventory", "_sums", "each")

    def __init__(self, inventory: Inventory, free: Sequence[int]) -> None:
        self._inventory = inventory
        self.each = [max(0, amount) for amount in free]
        everywhere = [sum([self.each[index] for index in host]) for host in inventory.host_indices()]
        self._sums: dict[int, list[int]] = {inventory.everywhere: everywhere}
        self._counts: dict[int, int] | None = None

    def copy(self) -> HostSums:
        """The same in a copy of its own."""
        twin = HostSums.__new__(HostSums)
        twin._inventory = self._inventory
        twin.each = self.each[:]
        twin._sums = {vnodes: sums[:] for vnodes, sums in self._sums.items()}
        twin._counts = None if self._counts is None else dict(self._counts)
        return twin

    def change(self, free: Iterable[tuple[int, int]]) -> None:
        """So much is free now on some vnodes, given by index."""
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
        """What those of the vnodes that are on each host have free together, in the order of the hosts."""
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
        """How many hosts have so much free on all their vnodes together; of some amounts none may be left."""
        if self._counts is None:
            self._counts = dict(Counter(self._sums[self._inventory.everywhere]))
        return self._counts
