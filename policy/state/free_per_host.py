"""The sum of a consumable that the vnodes of each host have free, for chunks split over a host's vnodes
(:mod:`policy.fit.split_chunk_within_host`).

The sums are computed once and then updated vnode by vnode; an overcommitted vnode counts as 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from policy.model.vnode_bitsets import indices_of
from policy.state.vnode_totals_hosts_and_matching import Inventory

_KEPT = 4
"""At most this many sets of vnodes are updated beside the set of all; more would cost each change more than they
save."""


_FEW = 8
"""Where fewer than one host in so many has enough, they are gathered by amount instead of looked for among all."""


class HostSums:
    """Free amounts by host. ``each`` has the free amount of every vnode, in order."""

    __slots__ = ("_hosts_with", "_inventory", "_sums", "each")

    def __init__(self, inventory: Inventory, each: list[int], sums: dict[int, list[int]]) -> None:
        self._inventory = inventory
        self.each = each
        self._sums = sums
        self._hosts_with: dict[int, set[int]] | None = None

    @classmethod
    def summed(cls, inventory: Inventory, free: Sequence[int]) -> HostSums:
        """The sums of these free amounts, one of each vnode in order; negative ones count as nothing."""
        each = [max(0, amount) for amount in free]
        everywhere = [sum([each[index] for index in host]) for host in inventory.host_indices()]
        return cls(inventory, each, {inventory.everywhere: everywhere})

    def copy(self) -> HostSums:
        """An independent copy."""
        twin = HostSums(self._inventory, self.each[:], {vnodes: sums[:] for vnodes, sums in self._sums.items()})
        known = self._hosts_with
        twin._hosts_with = None if known is None else {amount: hosts.copy() for amount, hosts in known.items()}
        return twin

    def change(self, free: Iterable[tuple[int, int]]) -> None:
        """Set the free amounts of some vnodes, given as pairs of index and amount."""
        each, hosts_with, everywhere = self.each, self._hosts_with, self._inventory.everywhere
        host_of, together = self._inventory.host_of(), self._sums[everywhere]
        others = [(vnodes, sums) for vnodes, sums in self._sums.items() if vnodes != everywhere]
        for index, amount in free:
            more = max(0, amount) - each[index]
            if more:
                host = host_of[index]
                before = together[host]
                each[index] += more
                together[host] = before + more
                if hosts_with is not None:
                    hosts_with[before].discard(host)
                    hosts_with.setdefault(before + more, set()).add(host)
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

    def hosts_with(self) -> Mapping[int, Collection[int]]:
        """The hosts that have each free amount on all their vnodes together; none may have an amount by now."""
        if self._hosts_with is None:
            found: dict[int, set[int]] = {}
            for host, amount in enumerate(self._sums[self._inventory.everywhere]):
                found.setdefault(amount, set()).add(host)
            self._hosts_with = found
        return self._hosts_with

    def hosts_with_at_least(self, vnodes: int, least: int) -> list[int]:
        """The hosts that have at least this amount free on those of the vnodes that are on them, in their order."""
        there = self.of(vnodes)
        if not self._inventory.everywhere & ~vnodes:
            enough = [hosts for amount, hosts in self.hosts_with().items() if amount >= least]
            if sum(map(len, enough)) * _FEW < len(there):
                return sorted([host for hosts in enough for host in hosts])
        return [host for host, amount in enumerate(there) if amount >= least]
