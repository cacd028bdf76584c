"""The nodes (hosts) of the cluster in one pass: which are idle, which are shared by stripes, and where one started just
now (docs/policies.md, P5).

The tables are built when a job of the pass is first striped, in one walk over the vnodes, and updated by the starts of
the pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from policy.model.allocation import Allocation
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.vnode_bitsets import count_vnodes, each_bit, indices_of, lowest, mask_of
from policy.ranking.ranked_fit import Order
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.state.cluster_index import ClusterIndex
from policy.striping.fewest_nodes_that_hold_request import Size, Sizes, fewest_nodes, sort_sizes
from policy.striping.vnodes_of_applications import VnodesOfApplications, touched


class StripeNodes:
    """Sets of vnodes by striping's order of preference, and the time of the last stripe's start on each vnode.

    ``cooling``: vnodes of nodes on which a stripe started less than the stagger time ago.
    """

    __slots__ = (
        "_applications",
        "_capacity",
        "_cluster",
        "_counts",
        "_fewest",
        "_hosts",
        "_idle",
        "_largest",
        "_meets",
        "_now_s",
        "_shared",
        "_sizes",
        "_soon",
        "_stagger_s",
        "_starts",
        "cooling",
    )  # fmt: skip

    def __init__(
        self,
        cluster: ClusterIndex,
        starts: Mapping[str, float],
        settings: StripeSettings,
        now_s: float,
        applications: VnodesOfApplications | None = None,
    ) -> None:
        """``applications``: shared by the tables of one pass; it is told each start by the caller."""
        self._cluster = cluster
        self._capacity = capacity = cluster.capacity
        self._now_s = now_s
        self._stagger_s = settings.stagger_s
        self._meets = settings.prefer == "shared"
        self._hosts: list[int] | None = None
        self._largest = 0
        self._applications = applications or VnodesOfApplications(cluster)
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
        """The vnodes of nodes that are busy after ``at_s``: with a run by its estimated end, or with use by no run of
        the snapshot."""
        directory, runs, busy = self._capacity.directory, self._cluster.runs, 0
        for end_s, run_id in reversed(self._cluster.ends):
            if end_s <= at_s:
                break
            busy |= touched(runs[run_id].allocation, directory)
        vnodes = self._cluster.vnodes
        return self.whole(busy | self._named(name for name in vnodes if any(vnodes[name].elsewhere.values())))

    def _named(self, names: Iterable[str]) -> int:
        bits = self._capacity.directory.bits
        return mask_of(bits[name].bit_length() - 1 for name in names)

    # Nodes

    @property
    def single(self) -> bool:
        """True if each node is one vnode."""
        return self._capacity.inventory.one_vnode_per_host

    def node_of(self, bit: int) -> int:
        """All vnodes of this vnode's node."""
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
        """The number of vnodes of the node that has most."""
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
        """The number of nodes that a set touches."""
        if self.single:
            return count_vnodes(mask)
        nodes = 0
        while mask:
            mask &= ~self.node_of(mask & -mask)
            nodes += 1
        return nodes

    def fewest(self, request: Request, allowed: int) -> int:
        """The fewest of the allowed nodes that hold the request if nothing else runs; 0 if all of them do not."""
        key = (request, allowed)
        fewest = self._fewest.get(key)
        if fewest is None:
            fewest = self._fewest[key] = fewest_nodes(request, self._sizes_of(self._wanted(request, allowed)))
        return fewest

    def most(self, request: Request, allowed: int) -> int:
        """The number of allowed nodes that take jobs and match all chunks of the request."""
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
            vnodes, names = self._cluster.vnodes, self._capacity.directory.names
            nodes: dict[str, list[tuple[tuple[str, int], ...]]] = {}
            for index in indices_of(allowed_one_by_one):
                vnode = vnodes[names[index]]
                nodes.setdefault(vnode.host or vnode.name, []).append(tuple(sorted(vnode.available.items())))
            for parts in nodes.values():
                size = tuple(sorted(parts))
                counts[size] = counts.get(size, 0) + 1
            sizes = self._sizes[allowed] = sort_sizes([*counts.items()])
        return sizes

    # The order of preference

    def classes(self, vnodes: int, application: str) -> Iterator[int]:
        """A set of vnodes in parts, best first: idle nodes; nodes that soon will be; nodes shared by stripes, first
        those without another run of the application, as different applications need different things of a node (no
        name, no difference); other nodes. Where stripes are to meet, nodes that they share without the application come
        first."""
        apart = ~self.whole(self._applications.of(application)) if application else -1
        if self._meets:
            here = vnodes & self._shared & apart & ~self._idle
            if here:
                yield here
                vnodes ^= here
        for part in (self._idle, self._soon, self._shared & apart, self._shared, -1):
            here = vnodes & part
            if here:
                yield here
                vnodes ^= here

    def pick(self, application: str, vnodes: int, count: int) -> int:
        """``count`` vnodes of a set with at least as many: by class, then by name."""
        picked = 0
        for here in self.classes(vnodes, application):
            found = min(count, count_vnodes(here))
            picked |= lowest(here, found)
            count -= found
            if not count:
                break
        return picked

    def pick_ranked(self, application: str, ranked: Order, vnodes: int, count: int) -> int:
        """The same, by class, then as ranked."""
        picked = 0
        for bit in islice(self.ordered(application, ranked, vnodes), count):
            picked |= bit
        return picked

    def ordered(self, application: str, ranked: Order, vnodes: int) -> Iterator[int]:
        """All vnodes of a set, one by one, by class, then as ranked."""
        for here in self.classes(vnodes, application):
            yield from ranked(here)

    # Starts of stripes

    def note_start(self, job: Job, allocation: Allocation, striped: bool) -> None:
        """Note a start of this pass."""
        vnodes = touched(allocation, self._capacity.directory)
        nodes = self.whole(vnodes)
        self._idle &= ~nodes
        self._soon &= ~nodes
        if striped:
            self._shared |= nodes
            self.cooling |= nodes if self._stagger_s else 0
            self._starts.update(dict.fromkeys(self._capacity.directory.named(vnodes), self._now_s))

    def last_to_cool(self, vnodes: int) -> tuple[str, float]:
        """Of the nodes that a set touches, the vnode with the latest start of a stripe, and when its stagger time is
        over."""
        names = self._capacity.directory.named(self.whole(vnodes) & self.cooling)
        at_s, first = min((-self._starts[name], name) for name in names if name in self._starts)
        return first, -at_s + self._stagger_s

    def _cooled(self, name: str) -> bool:
        return self._now_s >= self._starts[name] + self._stagger_s

    def starts(self) -> Mapping[str, float]:
        """The last start of a stripe on each vnode; vnodes on idle nodes only while the stagger time lasts."""
        bits = self._capacity.directory.bits
        return {
            name: at_s for name, at_s in self._starts.items() if not (bits[name] & self._idle and self._cooled(name))
        }
