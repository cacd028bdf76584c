"""What is free, as sets of vnodes by their number of idle cores.

A set of vnodes is one integer with a bit for each (lowest bit, first name), so that taking, giving back and
choosing cost
a few operations per distinct level, not per vnode. Other consumables are kept vnode by vnode, with the set of
vnodes that
have at least so much of one remembered for every amount that was ever asked for. Taking and giving back are exact
inverses; nothing here checks whether a taking is allowed.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence

from policy.cluster import Vnode
from policy.masks import indices_of
from policy.placement import Directory, Placement, Share, count_vnodes
from policy.request import Amounts, Chunk, Request


def lowest(mask: int, count: int) -> int:
    """The ``count`` first vnodes of a set, which has at least so many."""
    if count == 1:
        return mask & -mask
    low, high = 0, mask.bit_length()
    while low < high:
        middle = (low + high) >> 1
        if count_vnodes(mask & ((1 << middle) - 1)) < count:
            low = middle + 1
        else:
            high = middle
    return mask & ((1 << low) - 1)


def each_bit(mask: int) -> Iterable[int]:
    """The vnodes of a set one by one, in order, as sets of one."""
    while mask:
        low = mask & -mask
        yield low
        mask ^= low


_ONE_CORE = (("ncpus", 1),)


class Capacity:
    """Levels of idle cores and amounts of other consumables over a directory of vnodes.

    ``levels`` maps idle cores (negative on an overcommitted vnode) to the vnodes that have exactly so many. ``usable``
    are those that take new jobs, ``exclusive`` those held by one job alone.
    """

    __slots__ = (
        "_alone", "_ever", "_forced", "_hosts", "_ignoring", "_kinds", "_marks", "_matching",
        "_others", "_sums", "_thresholds", "_totals", "_vnodes",
        "directory", "exclusive", "levels", "usable",
    )  # fmt: skip

    def __init__(self, vnodes: Mapping[str, Vnode]) -> None:
        self.directory = Directory(vnodes)
        self.levels: dict[int, int] = {}
        self.usable = 0
        self.exclusive = 0
        self._vnodes: list[Vnode] = [vnodes[name] for name in self.directory.names]
        self._totals: dict[int, int] = {}
        self._sums: dict[int, int] = {}
        self._ever: dict[tuple[object, object, int], int] = {}
        self._others: dict[str, list[int]] = {}
        self._thresholds: dict[tuple[str, int], int] = {}
        self._marks: dict[str, list[int]] = {}
        self._matching: dict[object, int] = {}
        self._hosts: dict[str, int] | None = None
        self._kinds: tuple[tuple[Amounts, int], ...] | None = None
        self._alone = 0
        self._forced = 0
        self._ignoring = 0
        for vnode in self._vnodes:
            for resource in vnode.available:
                if resource != "ncpus" and resource not in self._others:
                    self._others[resource] = [0] * len(self._vnodes)
        for index, vnode in enumerate(self._vnodes):
            self._add(vnode, 1 << index, index)

    def _add(self, vnode: Vnode, bit: int, index: int) -> None:
        cores = vnode.available.get("ncpus", 0)
        level = cores - vnode.elsewhere.get("ncpus", 0)
        self.levels[level] = self.levels.get(level, 0) | bit
        self._totals[cores] = self._totals.get(cores, 0) | bit
        for resource, free in self._others.items():
            free[index] = vnode.available.get(resource, 0) - vnode.elsewhere.get(resource, 0)
        self.usable |= bit if vnode.usable else 0
        self._alone |= bit if vnode.sharing in ("default_excl", "default_exclhost") else 0
        self._forced |= bit if vnode.sharing in ("force_excl", "force_exclhost") else 0
        self._ignoring |= bit if vnode.sharing == "ignore_excl" else 0

    def copy(self) -> Capacity:
        """The same in a copy of its own: cheap, as sets of vnodes are values."""
        twin = Capacity.__new__(Capacity)
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.levels = dict(self.levels)
        twin._thresholds = dict(self._thresholds)
        twin._marks = {resource: list(amounts) for resource, amounts in self._marks.items()}
        twin._others = {resource: list(free) for resource, free in self._others.items()}
        return twin

    def replace(self, old: Vnode, new: Vnode) -> bool:
        """Put a vnode's new state in place of the old one; False where only building anew gives the right picture."""
        same_kind = (
            old.sharing == new.sharing
            and old.host == new.host
            and old.available == new.available
            and old.attributes == new.attributes
            and (old.queue, old.partition) == (new.queue, new.partition)
        )
        bit = self.directory.bits.get(new.name, 0)
        if not same_kind or not bit:
            return False
        self._vnodes[bit.bit_length() - 1] = new
        self.usable = self.usable | bit if new.usable else self.usable & ~bit
        for resource in {*old.elsewhere, *new.elsewhere}:
            self._shift(resource, bit, old.elsewhere.get(resource, 0) - new.elsewhere.get(resource, 0))
        return True

    # Taking and giving back

    def take(self, shares: Iterable[Share], request: Request) -> None:
        """Take what the shares hold; vnodes held alone leave the open ones."""
        for mask, amounts, chunks in shares:
            for resource, amount in amounts:
                self._shift(resource, mask, -amount * chunks)
            self.exclusive |= self._held_alone(mask, request)

    def give(self, shares: Iterable[Share], request: Request) -> None:
        """Give back what :meth:`take` took."""
        for mask, amounts, chunks in shares:
            for resource, amount in amounts:
                self._shift(resource, mask, amount * chunks)
            self.exclusive &= ~self._held_alone(mask, request)

    def _held_alone(self, mask: int, request: Request) -> int:
        if request.exclusive:
            held = mask & ~self._ignoring
            return self.hosts_of(held) if request.sharing == "exclhost" else held
        return mask & self._lone(request)

    def _lone(self, request: Request) -> int:
        """The vnodes that give themselves to one such job alone (``sharing`` of the vnode; the job may ask to
        share)."""
        return self._forced if request.sharing == "shared" else self._forced | self._alone

    def _shift(self, resource: str, mask: int, by: int) -> None:
        if resource != "ncpus":
            self._shift_other(resource, mask, by)
            return
        levels = self.levels
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

    def _shift_other(self, resource: str, mask: int, by: int) -> None:
        free = self._others.get(resource)
        if free is None:
            return
        marks, thresholds = self._marks.get(resource, ()), self._thresholds
        for bit in each_bit(mask):
            index = bit.bit_length() - 1
            before = free[index]
            free[index] = after = before + by
            # What was or becomes enough for an amount lies between the two.
            low, high = (before, after) if by > 0 else (after, before)
            for amount in marks[bisect_right(marks, low) : bisect_right(marks, high)]:
                thresholds[resource, amount] ^= bit

    def take_amounts(self, shares: Iterable[Share], sign: int = 1) -> None:
        """Take amounts (or give them back, with -1) without closing or opening a vnode to others."""
        for mask, amounts, chunks in shares:
            for resource, amount in amounts:
                self._shift(resource, mask, -sign * amount * chunks)

    def close(self, shares: Iterable[Share], request: Request) -> int:
        """Close the vnodes that such a job holds alone; gives those that were open, for :meth:`reopen`."""
        mask = 0
        for share in shares:
            mask |= self._held_alone(share.mask, request)
        closed = mask & ~self.exclusive
        self.exclusive |= closed
        return closed

    def reopen(self, vnodes: int) -> None:
        """Open vnodes that :meth:`close` closed."""
        self.exclusive &= ~vnodes

    @property
    def has_lone_vnodes(self) -> bool:
        """True where some vnode gives itself to one job alone, whatever the job asks for."""
        return bool(self._alone | self._forced)

    # Asking

    def idle(self, vnodes: int) -> int:
        """Idle cores on the open ones of these vnodes."""
        allowed = vnodes & self.usable & ~self.exclusive
        idle = 0
        for level, mask in self.levels.items():
            if level > 0:
                idle += level * count_vnodes(mask & allowed)
        return idle

    def idle_of_each(self, vnodes: int) -> list[int]:
        """The idle cores of every vnode in order, 0 for those not in the set."""
        idle = [0] * len(self._vnodes)
        for level, mask in self.levels.items():
            for index in indices_of(mask & vnodes):
                idle[index] = level
        return idle

    def reaches(self, vnodes: int, cores: int) -> bool:
        """Whether one of these vnodes has at least so many idle cores."""
        return any(level >= cores and mask & vnodes for level, mask in self.levels.items())

    def total(self, vnodes: int) -> int:
        """All cores of these vnodes, busy or not."""
        total = self._sums.get(vnodes)
        if total is None:
            total = sum(cores * count_vnodes(mask & vnodes) for cores, mask in self._totals.items())
            self._sums[vnodes] = total
        return total

    def open_to(self, request: Request) -> int:
        """The vnodes open to such a job: where it would be alone, only those on which nothing runs."""
        allowed = self.usable & ~self.exclusive
        if request.exclusive:
            whole = self.empty()
            if request.sharing == "exclhost" and not self.one_vnode_per_host:
                whole &= ~self.hosts_of(~whole & ((1 << len(self._vnodes)) - 1))
            return allowed & (whole | self._ignoring)
        lone = self._lone(request)
        return allowed & (~lone | self.empty()) if lone else allowed

    def empty(self) -> int:
        """The vnodes on which nothing runs."""
        mask = 0
        for cores, vnodes in self._totals.items():
            mask |= vnodes & self.levels.get(cores, 0)
        for resource, free in self._others.items():
            for bit in each_bit(mask):
                if free[bit.bit_length() - 1] < self._vnodes[bit.bit_length() - 1].available.get(resource, 0):
                    mask ^= bit
        return mask & ~self.exclusive

    def matching(self, chunk: Chunk) -> int:
        """The vnodes whose other attributes are what the chunk wants."""
        if not chunk.wants:
            return -1
        mask = self._matching.get(chunk.wants)
        if mask is None:
            mask = 0
            for index, vnode in enumerate(self._vnodes):
                if all(_has(vnode, name, value) for name, value in chunk.wants):
                    mask |= 1 << index
            self._matching[chunk.wants] = mask
        return mask

    def at_least(self, resource: str, amount: int) -> int:
        """The vnodes with at least so much of a consumable other than cores free."""
        key = (resource, amount)
        mask = self._thresholds.get(key)
        if mask is None:
            mask = 0
            for index, free in enumerate(self._others.get(resource, ())):
                if free >= amount:
                    mask |= 1 << index
            self._thresholds[key] = mask
            insort(self._marks.setdefault(resource, []), amount)
        return mask

    def pieces(self, chunk: Chunk, vnodes: int, enough: int) -> int:
        """How many such pieces fit these vnodes now, as they are; counted up to ``enough``."""
        count = 0
        for held in self.held_at_least(chunk, vnodes):
            count += count_vnodes(held)
            if count >= enough:
                break
        return count

    def held_at_least(self, chunk: Chunk, vnodes: int) -> Iterator[int]:
        """Those of the vnodes that hold one such piece, then those that hold two, and so on until none does."""
        cores = chunk.cores
        others = [(name, amount) for name, amount in chunk.amounts if name != "ncpus"]
        levels = sorted(self.levels, reverse=True)
        # From the widest to the narrowest, so that each union is made once.
        wide: list[int] = []
        if cores:
            union, at = 0, 0
            most = levels[0] // cores if levels else 0
            for count in range(most, 0, -1):
                while at < len(levels) and levels[at] >= count * cores:
                    union |= self.levels[levels[at]]
                    at += 1
                wide.append(union)
        held = vnodes
        count = 0
        while held:
            count += 1
            if cores:
                if not wide:
                    return
                held &= wide.pop()
            for name, amount in others:
                held &= self.at_least(name, amount * count)
            if held:
                yield held

    def could_hold(self, chunk: Chunk, bit: int, level: int) -> int:
        """How many such chunks fit a vnode with ``level`` idle cores."""
        count = 1 << 30
        index = bit.bit_length() - 1
        for resource, amount in chunk.amounts:
            if resource == "ncpus":
                free = level
            else:
                listed = self._others.get(resource)
                free = listed[index] if listed else 0
            if free < amount:
                return 0
            count = min(count, free // amount)
        return count

    def ever_holds(self, chunk: Chunk, vnodes: int) -> int:
        """How many such chunks these vnodes hold with nothing else on them, by what each has in all."""
        if chunk.amounts == _ONE_CORE and not chunk.wants:
            return self.total(vnodes)
        known = self._ever.get((chunk.amounts, chunk.wants, vnodes))
        if known is not None:
            return known
        count = 0
        here = vnodes & self.matching(chunk)
        for kind, mask in self.kinds():
            available = dict(kind)
            each = min([1 << 30, *(available.get(name, 0) // amount for name, amount in chunk.amounts)])
            count += each * count_vnodes(mask & here)
        self._ever[chunk.amounts, chunk.wants, vnodes] = count
        return count

    def kinds(self) -> Sequence[tuple[Amounts, int]]:
        """The vnodes by what they have in all: most clusters have a few kinds, however many vnodes."""
        if self._kinds is None:
            kinds: dict[Amounts, int] = {}
            for index, vnode in enumerate(self._vnodes):
                kind = tuple(sorted(vnode.available.items()))
                kinds[kind] = kinds.get(kind, 0) | (1 << index)
            self._kinds = tuple(kinds.items())
        return self._kinds

    def part_within(self, placement: Placement) -> tuple[tuple[Share, ...], tuple[Share, ...]]:
        """A placement split into what is free now and what is still missing, vnode by vnode."""
        inside: list[Share] = []
        missing: list[Share] = []
        asked: dict[tuple[int, str], int] = {}
        for mask, amounts, chunks in placement.shares(self.directory):
            for bit in each_bit(mask):
                for resource, amount in amounts:
                    asked[bit, resource] = asked.get((bit, resource), 0) + amount * chunks
        for (bit, resource), amount in asked.items():
            part = max(0, min(amount, self.free_on(bit, resource)))
            if part:
                inside.append(Share(bit, ((resource, part),), 1))
            if amount > part:
                missing.append(Share(bit, ((resource, amount - part),), 1))
        return tuple(inside), tuple(missing)

    def free_on(self, bit: int, resource: str) -> int:
        """What one vnode has free of a consumable (negative where it is overcommitted)."""
        if resource == "ncpus":
            return next((level for level, mask in self.levels.items() if mask & bit), 0)
        free = self._others.get(resource)
        return free[bit.bit_length() - 1] if free else 0

    # Hosts and groups

    def _host_masks(self) -> dict[str, int]:
        if self._hosts is None:
            hosts: dict[str, int] = {}
            for index, vnode in enumerate(self._vnodes):
                host = vnode.host or vnode.name
                hosts[host] = hosts.get(host, 0) | (1 << index)
            self._hosts = hosts
        return self._hosts

    def hosts(self) -> Iterable[int]:
        """The vnodes of each host, in order of their first vnode."""
        return self._host_masks().values()

    @property
    def one_vnode_per_host(self) -> bool:
        """True where every host is one vnode, as on most clusters."""
        return len(self._host_masks()) == len(self._vnodes)

    def hosts_of(self, mask: int) -> int:
        """All vnodes of the hosts that a set touches."""
        if self.one_vnode_per_host:
            return mask
        whole = 0
        for host in self.hosts():
            whole |= host if host & mask else 0
        return whole

    def grouped_by(self, resource: str) -> list[int]:
        """The vnodes with each value of a resource that jobs may group by, in order of the values."""
        groups: dict[str, int] = {}
        for index, vnode in enumerate(self._vnodes):
            values = vnode.host or vnode.name if resource == "host" else vnode.attributes.get(resource, "")
            for value in filter(None, values.split(",")):
                groups[value] = groups.get(value, 0) | (1 << index)
        return [groups[value] for value in sorted(groups)]


def _has(vnode: Vnode, name: str, value: str) -> bool:
    if name == "vnode":
        return vnode.name == value
    if name == "host":
        return (vnode.host or vnode.name).split(".")[0] == value.split(".", maxsplit=1)[0]
    has = vnode.attributes.get(name)
    if has is None:
        return False
    if has.lower() in ("true", "false"):
        return has.lower() == {"t": "true", "1": "true", "y": "true", "f": "false", "0": "false", "n": "false"}.get(
            value.lower(), value.lower()
        )
    return value in has.split(",")
