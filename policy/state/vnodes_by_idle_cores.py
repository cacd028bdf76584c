"""What is free: sets of vnodes by their number of idle cores.

A set of vnodes is an integer with a bit for each vnode (lowest bit: first name), so taking, giving back and choosing
cost a few operations per distinct level, not per vnode. Taking and giving back are exact inverses; neither checks
whether the amounts are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Callable

from policy.model.allocation import Share
from policy.model.job_request import Chunk, Request
from policy.model.jobs_runs_vnodes_queues import Vnode
from policy.model.vnode_bitsets import count_vnodes, each_bit, indices_of
from policy.state.free_amounts_except_cores import Consumables
from policy.state.free_per_host import HostSums
from policy.state.idle_cores_of_each_vnode import IdleOfEach
from policy.state.place_group_candidates import Groups
from policy.state.vnode_run_limits import RunCounts, count_runs
from policy.state.vnode_sharing import Sharing
from policy.state.vnode_totals_hosts_and_matching import MOST_CORELESS, Inventory, most_on_vnode


class Capacity:
    """Levels of idle cores, and amounts of other consumables, over an inventory of vnodes.

    ``levels`` maps a number of idle cores (negative on an overcommitted vnode) to the vnodes that have exactly that
    many. ``usable`` are the vnodes that take new jobs, ``exclusive`` those held by one job alone. ``run_counts`` are
    the jobs on vnodes that limit their number; None if no vnode does. Long searches call ``check_time``, if set, which
    may raise :class:`~policy.plan.pass_time_limit.TimeIsUp`; a copy keeps it. ``gave_up`` is set by a search that ends
    before all ways were tried.
    """

    __slots__ = (
        "_bare", "_by_host", "_changed", "_of_each", "_shared", "check_time", "directory", "exclusive", "gave_up",
        "groups", "inventory", "levels", "others", "run_counts", "sharing", "usable",
    )  # fmt: skip

    def __init__(
        self,
        inventory: Inventory,
        groups: Groups,
        sharing: Sharing,
        others: Consumables,
        run_counts: RunCounts | None,
    ) -> None:
        self.inventory = inventory
        self.directory = inventory.directory
        self.groups = groups
        self.sharing = sharing
        self.others = others
        self.run_counts = run_counts
        self.check_time: Callable[[], None] | None = None
        self.gave_up = False
        self.levels: dict[int, int] = {}
        self.usable = 0
        self.exclusive = 0
        # By vnode: the shares that hold nothing there, as chunks without cores do.
        self._bare: dict[int, int] = {}
        # From the first query on.
        self._of_each: IdleOfEach | None = None
        self._by_host: dict[str, HostSums] = {}
        # By consumable: the vnodes whose free amount has changed since its sums were updated.
        self._changed: dict[str, int] = {}
        # The consumables whose sums are shared with a copy; they are copied before they are changed.
        self._shared: frozenset[str] = frozenset()

    @classmethod
    def of(cls, vnodes: Mapping[str, Vnode]) -> Capacity:
        """What is free on these vnodes while nothing of the cluster runs there."""
        inventory = Inventory(vnodes)
        directory = inventory.directory
        others = Consumables.of([vnodes[name] for name in directory.names])
        run_counts = count_runs(vnodes, directory)
        capacity = cls(inventory, Groups(inventory), Sharing(vnodes, inventory), others, run_counts)
        levels = capacity.levels
        for name, bit in directory.bits.items():
            vnode = vnodes[name]
            level = vnode.available.get("ncpus", 0) - vnode.elsewhere.get("ncpus", 0)
            levels[level] = levels.get(level, 0) | bit
            capacity.usable |= bit if vnode.usable else 0
        return capacity

    def copy(self) -> Capacity:
        """An independent copy. It is cheap, as sets of vnodes are plain integers."""
        self._shared = frozenset(self._by_host)
        run_counts = None if self.run_counts is None else self.run_counts.copy()
        twin = Capacity(self.inventory, self.groups, self.sharing, self.others.copy(), run_counts)
        twin.check_time = self.check_time
        twin.levels = dict(self.levels)
        twin.usable = self.usable
        twin.exclusive = self.exclusive
        twin._bare = dict(self._bare)
        twin._of_each = None if self._of_each is None else self._of_each.copy()
        twin._by_host = dict(self._by_host)
        twin._changed = dict(self._changed)
        twin._shared = self._shared
        return twin

    def is_like(self, other: Capacity) -> bool:
        """Whether the same is free here as in the other."""
        here = (self.levels, self.exclusive, self.usable, self._bare, self.run_counts)
        there = (other.levels, other.exclusive, other.usable, other._bare, other.run_counts)
        return here == there and self.others.free == other.others.free

    def replace(self, old: Vnode, new: Vnode) -> bool:
        """Replace a vnode's state; False where the capacity has to be built anew, as more than its use and ``usable``
        changed."""
        same_kind = (
            old.sharing == new.sharing
            and old.host == new.host
            and old.available == new.available
            and (old.attributes, old.measures) == (new.attributes, new.measures)
            and (old.queue, old.partition, old.run_limits) == (new.queue, new.partition, new.run_limits)
        )
        bit = self.directory.bits.get(new.name, 0)
        if not same_kind or not bit:
            return False
        self.usable = self.usable | bit if new.usable else self.usable & ~bit
        for resource in {*old.elsewhere, *new.elsewhere}:
            self._shift(resource, bit, old.elsewhere.get(resource, 0) - new.elsewhere.get(resource, 0))
        return True

    # Taking and giving back

    def take(self, shares: Sequence[Share], request: Request) -> None:
        """Take what the shares of one job hold; vnodes that the job holds alone are closed to others."""
        for mask, amounts, chunks, _ in shares:
            for resource, amount in amounts:
                self._shift(resource, mask, -amount * chunks)
            if not amounts:
                self._count_bare(mask, 1)
            if request.exclusive or self.sharing.has_lone_vnodes:
                self.exclusive |= self.sharing.held_alone(mask, request)
        if self.run_counts is not None:
            self.run_counts.count(shares, request.owner, 1)

    def give(self, shares: Sequence[Share], request: Request) -> None:
        """Give back what :meth:`take` took."""
        for mask, amounts, chunks, _ in shares:
            for resource, amount in amounts:
                self._shift(resource, mask, amount * chunks)
            if not amounts:
                self._count_bare(mask, -1)
            if self.exclusive:
                self.exclusive &= ~self.sharing.held_alone(mask, request)
        if self.run_counts is not None:
            self.run_counts.count(shares, request.owner, -1)

    def _count_bare(self, mask: int, by: int) -> None:
        for bit in each_bit(mask):
            count = self._bare.pop(bit, 0) + by
            if count:
                self._bare[bit] = count

    def _shift(self, resource: str, mask: int, by: int) -> None:
        if resource in self._changed:
            self._changed[resource] |= mask
        if resource != "ncpus":
            self.others.shift(resource, mask, by)
            return
        of_each = self._of_each
        if of_each is not None and mask:
            if not mask & (mask - 1):
                of_each.cores[mask.bit_length() - 1] += by
            elif not of_each.add_to_many(mask, by):
                self._of_each = None
        levels = self.levels
        for level, held in levels.items():
            if mask and not mask & ~held:
                # All of them have as many idle cores, and the walk ends here.
                if held == mask:
                    del levels[level]
                else:
                    levels[level] = held ^ mask
                levels[level + by] = levels.get(level + by, 0) | mask
                return
        moved: list[tuple[int, int]] = []
        for level in list(levels):
            here = levels[level] & mask
            if here:
                if here == levels[level]:
                    del levels[level]
                else:
                    levels[level] ^= here
                moved.append((level + by, here))
                mask ^= here
                if not mask:
                    break
        for level, here in moved:
            levels[level] = levels.get(level, 0) | here

    def take_amounts(self, shares: Iterable[Share], sign: int = 1) -> None:
        """Take amounts (with ``sign`` -1, give them back) without closing or opening a vnode to other jobs."""
        for mask, amounts, chunks, _ in shares:
            for resource, amount in amounts:
                self._shift(resource, mask, -sign * amount * chunks)

    def close(self, shares: Sequence[Share], request: Request) -> int:
        """Close the vnodes that a job with this request holds alone, and count it among the jobs of the vnodes. Returns
        the vnodes that were open, for :meth:`reopen`."""
        if self.run_counts is not None:
            self.run_counts.count(shares, request.owner, 1)
        return self.hold_alone(shares, request)

    def hold_alone(self, shares: Sequence[Share], request: Request) -> int:
        """As :meth:`close`, for a job that is counted among the jobs of the vnodes already."""
        mask = 0
        for share in shares:
            mask |= self.sharing.held_alone(share.mask, request)
        closed = mask & ~self.exclusive
        self.exclusive |= closed
        return closed

    def reopen(self, vnodes: int, shares: Sequence[Share], request: Request) -> None:
        """Undo :meth:`close`, which has returned these vnodes."""
        self.exclusive &= ~vnodes
        if self.run_counts is not None:
            self.run_counts.count(shares, request.owner, -1)

    # Queries

    def is_bound_by_amounts(self) -> bool:
        """Whether only free amounts bind: no vnode is or could be held by one job alone, or limits its jobs."""
        return not self.exclusive and not self.sharing.has_lone_vnodes and self.run_counts is None

    def is_overcommitted(self) -> bool:
        """Whether more cores of some vnode are used than it has."""
        return bool(self.levels) and min(self.levels) < 0

    def idle(self, vnodes: int) -> int:
        """Idle cores on those of these vnodes that are open to jobs."""
        return self._idle(vnodes & self.usable & ~self.exclusive)

    def idle_held_alone(self, vnodes: int) -> int:
        """Idle cores on those of these vnodes that take jobs but are held by one job alone."""
        return self._idle(vnodes & self.usable & self.exclusive)

    def _idle(self, vnodes: int) -> int:
        idle = 0
        for level, mask in self.levels.items():
            if level > 0:
                idle += level * count_vnodes(mask & vnodes)
        return idle

    def idle_of_each(self, vnodes: int) -> list[int]:
        """The idle cores of every vnode in order; 0 for vnodes outside the set."""
        if self._of_each is not None and not self.inventory.everywhere & ~vnodes:
            return list(self.idle_by_index())
        idle = [0] * len(self.directory.names)
        for level, mask in self.levels.items():
            for index in indices_of(mask & vnodes):
                idle[index] = level
        return idle

    def idle_by_index(self) -> Sequence[int]:
        """The idle cores of every vnode in order (negative where it is overcommitted), closed vnodes included. It is
        kept up to date from the first call on, here and in copies made afterwards."""
        of_each = self._of_each
        if of_each is None:
            of_each = self._of_each = IdleOfEach(self.idle_of_each(-1))
        return of_each.up_to_date() if of_each.waiting else of_each.cores

    def free_on(self, bit: int, resource: str) -> int:
        """The free amount of a consumable on one vnode (negative where it is overcommitted)."""
        if resource == "ncpus":
            if self._of_each is not None:
                return self.idle_by_index()[bit.bit_length() - 1]
            return next((level for level, mask in self.levels.items() if mask & bit), 0)
        return self.others.on(bit, resource)

    def free_at(self, index: int, resource: str) -> int:
        """The same for the vnode with this index."""
        if resource == "ncpus":
            return self.idle_by_index()[index]
        free = self.others.free.get(resource)
        return free[index] if free else 0

    def by_host(self, resource: str) -> HostSums:
        """The free amounts of a consumable by host and by vnode, closed vnodes included."""
        sums, changed = self._by_host.get(resource), self._changed.get(resource, 0)
        if sums is None:
            nothing = (0,) * len(self.directory.names)
            free = self.idle_of_each(-1) if resource == "ncpus" else self.others.free.get(resource, nothing)
            sums = self._by_host[resource] = HostSums.summed(self.inventory, free)
        elif changed:
            if resource in self._shared:
                sums = self._by_host[resource] = sums.copy()
                self._shared -= {resource}
            sums.change(self._free_on_each(resource, changed))
        self._changed[resource] = 0
        return sums

    def _free_on_each(self, resource: str, vnodes: int) -> Iterator[tuple[int, int]]:
        """The free amount on each of these vnodes, with the vnode's index."""
        if resource == "ncpus":
            for level, mask in self.levels.items():
                for index in indices_of(mask & vnodes):
                    yield index, level
        else:
            listed = self.others.free.get(resource, ())
            for index in indices_of(vnodes) if listed else ():
                yield index, listed[index]

    def reaches(self, vnodes: int, cores: int) -> bool:
        """Whether one of these vnodes has at least ``cores`` idle cores."""
        return any(level >= cores and mask & vnodes for level, mask in self.levels.items())

    def open_to(self, request: Request) -> int:
        """The vnodes open to a job with this request. Where the job would hold a vnode alone, nothing may run on it."""
        allowed = self.usable & ~self.exclusive
        if self.run_counts is not None and request.owner is not None:
            allowed &= ~self.run_counts.closed_to(request.owner)
        sharing = self.sharing
        if not (request.exclusive or sharing.has_lone_vnodes):
            return allowed
        shared = sharing.shared_by(request)
        return allowed & (shared | sharing.whole(self.empty(), request)) if ~shared else allowed

    def empty(self) -> int:
        """The vnodes on which nothing runs."""
        mask = 0
        for cores, vnodes in self.inventory.totals.items():
            mask |= vnodes & self.levels.get(cores, 0)
        for resource, free in self.others.free.items():
            for bit in each_bit(mask):
                if free[bit.bit_length() - 1] < self.inventory.available_on(bit, resource):
                    mask ^= bit
        for bit in self._bare:
            mask &= ~bit
        return mask & ~self.exclusive

    # Pieces

    def pieces(self, chunk: Chunk, vnodes: int, enough: int) -> int:
        """How many pieces of the chunk fit these vnodes now, each on one vnode; counted up to ``enough``."""
        if not chunk.amounts:
            return min(enough, MOST_CORELESS * count_vnodes(vnodes))
        count = 0
        for held in self.held_at_least(chunk, vnodes):
            count += count_vnodes(held)
            if count >= enough:
                break
        return count

    def held_at_least(self, chunk: Chunk, vnodes: int) -> Iterator[int]:
        """The subset of the vnodes that hold one piece of the chunk, then those that hold two, and so on until it is
        empty."""
        cores = chunk.cores
        others = [(name, amount) for name, amount in chunk.amounts if name != "ncpus"]
        # Of the levels of idle cores, the vnodes at that one or a higher one; each union is made once.
        levels = sorted(self.levels)
        at_least = [0] * (len(levels) + 1)
        for at in range(len(levels) - 1, -1, -1):
            at_least[at] = at_least[at + 1] | self.levels[levels[at]]
        held = vnodes
        count = at = 0
        while held and (cores or count < MOST_CORELESS):
            count += 1
            if cores:
                while at < len(levels) and levels[at] < count * cores:
                    at += 1
                held &= at_least[at]
            for name, amount in others:
                held &= self.others.at_least(name, amount * count)
            if held:
                yield held

    def could_hold(self, chunk: Chunk, bit: int, level: int) -> int:
        """How many pieces of the chunk fit a vnode with ``level`` idle cores."""
        count = most_on_vnode(chunk)
        index = bit.bit_length() - 1
        for resource, amount in chunk.amounts:
            if resource == "ncpus":
                free = level
            else:
                listed = self.others.free.get(resource)
                free = listed[index] if listed else 0
            if free < amount:
                return 0
            count = min(count, free // amount)
        return count
