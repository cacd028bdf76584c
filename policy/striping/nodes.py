"""The cluster as nodes, for one pass: which are idle, which stripes share, and where one started a moment ago.

A node is a host; on most clusters that is one vnode. Built only when a job of the pass is striped, in one walk over the
vnodes, and kept in step with the starts of the pass. See docs/policies.md, P5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from policy.model.allocation import Directory, Placement
from policy.model.bitsets import count_vnodes, each_bit, indices_of, lowest, mask_of
from policy.model.cluster import Job
from policy.model.request import Request
from policy.ranking.ranked_fit import Order
from policy.settings.site_settings import StripeSettings
from policy.state.cluster_index import World
from policy.striping.node_sizes import Size, Sizes, fewest_nodes, sort_sizes


def touched(placement: Placement, directory: Directory) -> int:
    """The vnodes of a placement."""
    mask = 0
    for share in placement.shares(directory):
        mask |= share.mask
    return mask


class StripeNodes:
    """Sets of vnodes by what striping prefers, and the table of the stripes' last starts."""

    __slots__ = (
        "_applications", "_capacity", "_counts", "_fewest", "_hosts", "_idle", "_largest", "_now_s", "_shared",
        "_sizes", "_soon", "_stagger_s", "_starts", "_world", "cooling",
    )  # fmt: skip

    def __init__(self, world: World, starts: Mapping[str, float], settings: StripeSettings, now_s: float) -> None:
        self._world = world
        self._capacity = capacity = world.capacity
        self._now_s = now_s
        self._stagger_s = settings.stagger_s
        self._hosts: list[int] | None = None
        self._largest = 0
        self._applications: dict[str, int] | None = None
        self._sizes: dict[int, Sizes] = {}
        self._fewest: dict[tuple[Request, int], int] = {}
        self._counts: dict[int, int] = {}
        bits = capacity.directory.bits
        everywhere = (1 << len(bits)) - 1
        self._starts = {name: at_s for name, at_s in starts.items() if name in bits}
        busy = self.whole(~capacity.empty() & everywhere)
        self._idle = everywhere & ~busy
        self._soon = busy & ~self._busy_after(now_s + settings.idle_within_s) if settings.idle_within_s else 0
        self._shared = self.whole(self._named(self._starts))
        self.cooling = self.whole(self._named(name for name in self._starts if not self._cooled(name)))

    def _busy_after(self, at_s: float) -> int:
        """The vnodes of nodes on which something runs after a time: a run by its expected end, or what is not ours."""
        directory, runs, busy = self._capacity.directory, self._world.runs, 0
        for end_s, run_id in reversed(self._world.ends):
            if end_s <= at_s:
                break
            busy |= touched(runs[run_id].placement, directory)
        vnodes = self._world.vnodes
        return self.whole(busy | self._named(name for name in vnodes if any(vnodes[name].elsewhere.values())))

    def _named(self, names: Iterable[str]) -> int:
        bits = self._capacity.directory.bits
        return mask_of(bits[name].bit_length() - 1 for name in names)

    # Nodes

    @property
    def single(self) -> bool:
        """True where each node is one vnode."""
        return self._capacity.inventory.one_vnode_per_host

    def node_of(self, bit: int) -> int:
        """All vnodes of the node that a vnode belongs to."""
        if self.single:
            return bit
        if self._hosts is None:
            self._hosts = [0] * len(self._capacity.directory.names)
            for host in self._capacity.inventory.hosts():
                for each in each_bit(host):
                    self._hosts[each.bit_length() - 1] = host
        return self._hosts[bit.bit_length() - 1]

    @property
    def largest(self) -> int:
        """How many vnodes the node of most vnodes has."""
        if not self._largest:
            self._largest = max(map(count_vnodes, self._capacity.inventory.hosts()), default=1)
        return self._largest

    def whole(self, mask: int) -> int:
        """All vnodes of the nodes that a set touches."""
        if self.single:
            return mask
        nodes = 0
        while mask:
            node = self.node_of(mask & -mask)
            nodes |= node
            mask &= ~node
        return nodes

    def count(self, mask: int) -> int:
        """How many nodes a set touches."""
        if self.single:
            return count_vnodes(mask)
        nodes = 0
        while mask:
            mask &= ~self.node_of(mask & -mask)
            nodes += 1
        return nodes

    def fewest(self, request: Request, allowed: int) -> int:
        """The fewest of the allowed nodes that hold the request when nothing else runs; 0 where all do not."""
        key = (request, allowed)
        fewest = self._fewest.get(key)
        if fewest is None:
            fewest = self._fewest[key] = fewest_nodes(request, self._sizes_of(self._wanted(request, allowed)))
        return fewest

    def most(self, request: Request, allowed: int) -> int:
        """How many of the allowed nodes there are that take jobs and are what all chunks of the request want."""
        wanted = self._wanted(request, allowed)
        count = self._counts.get(wanted)
        if count is None:
            count = self._counts[wanted] = self.count(wanted)
        return count

    def _wanted(self, request: Request, allowed: int) -> int:
        for chunk in request.chunks:
            allowed &= self._capacity.inventory.matching(chunk)
        return allowed & self._capacity.usable

    def _sizes_of(self, allowed: int) -> Sizes:
        sizes = self._sizes.get(allowed)
        if sizes is None:
            counts: dict[Size, int] = {}
            if self.single:
                here = ((kind, count_vnodes(mask & allowed)) for kind, mask in self._capacity.inventory.kinds())
                counts = {(kind,): count for kind, count in here if count}
                allowed_one_by_one = 0
            else:
                allowed_one_by_one = allowed
            vnodes, names = self._world.vnodes, self._capacity.directory.names
            nodes: dict[str, list[tuple[tuple[str, int], ...]]] = {}
            for index in indices_of(allowed_one_by_one):
                vnode = vnodes[names[index]]
                nodes.setdefault(vnode.host or vnode.name, []).append(tuple(sorted(vnode.available.items())))
            for parts in nodes.values():
                size = tuple(sorted(parts))
                counts[size] = counts.get(size, 0) + 1
            sizes = self._sizes[allowed] = sort_sizes([*counts.items()])
        return sizes

    # What is preferred

    def classes(self, vnodes: int, application: str) -> Iterator[int]:
        """A set of vnodes in parts, the better first: of idle nodes; of such as soon will be; of nodes that stripes
        share, first those without another run of the application, as unlike jobs want different things of a node (no
        name, no difference); of others."""
        apart = ~self._nodes_of(application) if application else -1
        for part in (self._idle, self._soon, self._shared & apart, self._shared, -1):
            here = vnodes & part
            if here:
                yield here
                vnodes ^= here

    def _nodes_of(self, application: str) -> int:
        """The nodes on which runs of an application are."""
        if self._applications is None:
            self._applications = {}
            for run in self._world.runs.values():
                self._note_application(run.job.application, run.placement)
        return self._applications.get(application, 0)

    def _note_application(self, application: str, placement: Placement) -> None:
        if application and self._applications is not None:
            nodes = self.whole(touched(placement, self._capacity.directory))
            self._applications[application] = self._applications.get(application, 0) | nodes

    def pick(self, application: str, vnodes: int, count: int) -> int:
        """So many of a set of vnodes, which has at least so many: by class, then by name."""
        picked = 0
        for here in self.classes(vnodes, application):
            found = min(count, count_vnodes(here))
            picked |= lowest(here, found)
            count -= found
            if not count:
                break
        return picked

    def pick_ranked(self, application: str, ranked: Order, vnodes: int, count: int) -> int:
        """The same by class, then as ranked."""
        picked = 0
        for bit in islice(self.ordered(application, ranked, vnodes), count):
            picked |= bit
        return picked

    def ordered(self, application: str, ranked: Order, vnodes: int) -> Iterator[int]:
        """All of a set of vnodes, one by one, by class, then as ranked."""
        for here in self.classes(vnodes, application):
            yield from ranked(here)

    # Starts

    def note_start(self, job: Job, placement: Placement, striped: bool) -> None:
        """A job starts there in this pass."""
        vnodes = touched(placement, self._capacity.directory)
        nodes = self.whole(vnodes)
        self._note_application(job.application, placement)
        self._idle &= ~nodes
        self._soon &= ~nodes
        if striped:
            self._shared |= nodes
            self.cooling |= nodes if self._stagger_s else 0
            self._starts.update(dict.fromkeys(self._capacity.directory.named(vnodes), self._now_s))

    def last_to_cool(self, vnodes: int) -> tuple[str, float]:
        """The vnode on whose node a stripe started last, of the nodes that a set touches, and when that was long
        enough ago."""
        names = self._capacity.directory.named(self.whole(vnodes) & self.cooling)
        at_s, first = min((-self._starts[name], name) for name in names if name in self._starts)
        return first, -at_s + self._stagger_s

    def _cooled(self, name: str) -> bool:
        return self._now_s >= self._starts[name] + self._stagger_s

    def starts(self) -> Mapping[str, float]:
        """The last start of a stripe on each vnode, without those that are long ago and left the node idle."""
        bits = self._capacity.directory.bits
        return {
            name: at_s for name, at_s in self._starts.items() if not (bits[name] & self._idle and self._cooled(name))
        }
