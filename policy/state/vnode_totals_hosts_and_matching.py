"""The vnodes independent of what runs on them: their hosts and groups, what each has in all, and which a chunk may use.

Built once for a set of vnodes and shared by every capacity over it; answers that need a walk over all vnodes are
remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policy.model.allocation import Directory
from policy.model.host_names import is_host
from policy.model.job_request import Amounts, Chunk
from policy.model.jobs_runs_vnodes_queues import Vnode
from policy.model.pbs_units import parse_measure
from policy.model.vnode_bitsets import count_vnodes, indices_of

_ONE_CORE = (("ncpus", 1),)
# As PBS decodes a boolean (``is_true_or_false`` in attr_fn_b.c), beside True and False.
_TRUTHS = {"t": "true", "1": "true", "y": "true", "f": "false", "0": "false", "n": "false"}
_ANY_NUMBER = 1 << 30
MOST_CORELESS = 1000
"""At most this many pieces without cores fit one vnode. Nothing else bounds them: a request for 1e9 pieces of 1 KiB
would keep passes busy, and PBS too, which names the vnode of each piece."""


def most_on_vnode(chunk: Chunk) -> int:
    """The number of pieces of the chunk that are placed on one vnode at most, whatever it has."""
    return _ANY_NUMBER if chunk.cores else MOST_CORELESS


class Inventory:
    """The vnodes in order of their names. A set of them is an integer with a bit for each (lowest bit: first name).

    ``totals`` maps a number of cores to the vnodes that have exactly that many, busy or not. ``one_vnode_per_host`` is
    true where every host is one vnode, as on most clusters.
    """

    __slots__ = (
        "_ever", "_grouped", "_host_indices", "_host_of", "_host_sums", "_hosts", "_kinds", "_matching", "_sums",
        "_vnodes", "directory", "everywhere", "held_divided", "one_vnode_per_host", "totals",
    )  # fmt: skip

    def __init__(self, vnodes: Mapping[str, Vnode]) -> None:
        self.directory = Directory.of(vnodes)
        self._vnodes: list[Vnode] = [vnodes[name] for name in self.directory.names]
        self.everywhere = (1 << len(self._vnodes)) - 1
        self.totals: dict[int, int] = {}
        self._sums: dict[int, int] = {}
        self._ever: dict[tuple[object, object, int], int] = {}
        # What :func:`policy.fit.split_chunk_within_host.ever_holds` found, by vnodes and amounts.
        self.held_divided: dict[tuple[int, Amounts], int] = {}
        self._matching: dict[object, int] = {}
        self._host_sums: dict[tuple[int, str], list[int]] = {}
        self._kinds: tuple[tuple[Amounts, int], ...] | None = None
        self._hosts: dict[str, int] = {}
        self._host_indices: list[list[int]] | None = None
        self._host_of: list[int] | None = None
        self._grouped: dict[tuple[str, bool], tuple[int, ...]] = {}
        for vnode, bit in zip(self._vnodes, self.directory.bits.values()):
            cores, host = vnode.available.get("ncpus", 0), vnode.host or vnode.name
            self.totals[cores] = self.totals.get(cores, 0) | bit
            # A host of one vnode has the directory's own integer.
            self._hosts[host] = self._hosts[host] | bit if host in self._hosts else bit
        self.one_vnode_per_host = len(self._hosts) == len(self._vnodes)

    # Totals

    def total(self, vnodes: int) -> int:
        """All cores of these vnodes, busy or not."""
        total = self._sums.get(vnodes)
        if total is None:
            total = sum(cores * count_vnodes(mask & vnodes) for cores, mask in self.totals.items())
            self._sums[vnodes] = total
        return total

    def sum_of(self, vnodes: int, resource: str) -> int:
        """All of a consumable on these vnodes, in use or not."""
        return sum(dict(kind).get(resource, 0) * count_vnodes(mask & vnodes) for kind, mask in self.kinds())

    def available_on(self, bit: int, resource: str) -> int:
        """All of a consumable that one vnode has, in use or not."""
        return self._vnodes[bit.bit_length() - 1].available.get(resource, 0)

    def kinds(self) -> Sequence[tuple[Amounts, int]]:
        """The vnodes grouped by what they have in all: most clusters have few kinds, however many vnodes."""
        if self._kinds is None:
            kinds: dict[Amounts, int] = {}
            for index, vnode in enumerate(self._vnodes):
                kind = tuple(sorted(vnode.available.items()))
                kinds[kind] = kinds.get(kind, 0) | (1 << index)
            self._kinds = tuple(kinds.items())
        return self._kinds

    def ever_holds(self, chunk: Chunk, vnodes: int) -> int:
        """How many pieces of the chunk these vnodes hold with nothing else on them, each on one vnode."""
        if chunk.amounts == _ONE_CORE and not chunk.wants:
            return self.total(vnodes)
        known = self._ever.get((chunk.amounts, chunk.wants, vnodes))
        if known is not None:
            return known
        count = 0
        here = vnodes & self.matching(chunk)
        for kind, mask in self.kinds():
            available = dict(kind)
            each = min([most_on_vnode(chunk), *(available.get(name, 0) // amount for name, amount in chunk.amounts)])
            count += each * count_vnodes(mask & here)
        self._ever[chunk.amounts, chunk.wants, vnodes] = count
        return count

    # Attributes, hosts and groups

    def matching(self, chunk: Chunk) -> int:
        """The vnodes whose attributes are what the chunk wants."""
        if not chunk.wants:
            return -1
        mask = self._matching.get(chunk.wants)
        if mask is None:
            mask = 0
            wants = [(name, self._as_written(name, value)) for name, value in chunk.wants]
            for index, vnode in enumerate(self._vnodes):
                if all(_has(vnode, name, value) for name, value in wants):
                    mask |= 1 << index
            self._matching[chunk.wants] = mask
        return mask

    def _as_written(self, name: str, value: str) -> str:
        """``True`` or ``False`` for the short spellings that PBS takes for a boolean, where some vnode has it. Of a
        resource that no vnode has, ``f`` and ``0`` may be texts."""
        whole = _TRUTHS.get(value.lower())
        if whole is None:
            return value
        has = {vnode.attributes.get(name, "").lower() for vnode in self._vnodes}
        return value if has.isdisjoint(_TRUTHS.values()) else whole

    def hosts(self) -> Iterable[int]:
        """The vnodes of each host, in order of their first vnode."""
        return self._hosts.values()

    def host_indices(self) -> Sequence[Sequence[int]]:
        """The same as lists of vnode indices, for walks over what each vnode has."""
        if self._host_indices is None:
            self._host_indices = [indices_of(host) for host in self._hosts.values()]
        return self._host_indices

    def host_of(self) -> Sequence[int]:
        """For each vnode, the position of its host in the order of the hosts."""
        if self._host_of is None:
            self._host_of = [0] * len(self._vnodes)
            for number, host in enumerate(self.host_indices()):
                for index in host:
                    self._host_of[index] = number
        return self._host_of

    def host_sums(self, vnodes: int, resource: str) -> Sequence[int]:
        """All of a consumable on those of the vnodes that are on each host, in use or not; in the order of the
        hosts."""
        known = self._host_sums.get((vnodes, resource))
        if known is None:
            inside = set(indices_of(vnodes & self.everywhere))
            has = [vnode.available.get(resource, 0) for vnode in self._vnodes]
            known = [sum([has[n] for n in host if n in inside]) for host in self.host_indices()]
            self._host_sums[vnodes, resource] = known
        return known

    def hosts_of(self, vnodes: int) -> int:
        """All vnodes of the hosts that a set touches."""
        if self.one_vnode_per_host:
            return vnodes
        whole = 0
        for host in self._hosts.values():
            whole |= host if host & vnodes else 0
        return whole

    def grouped_by(self, resource: str, *, has_rest: bool = False) -> Sequence[int]:
        """The vnodes with each value of a resource that jobs may group by, in order of the first vnode of each; with
        ``has_rest`` also those without a value, as if they all had an empty one."""
        known = self._grouped.get((resource, has_rest))
        if known is not None:
            return known
        groups: dict[str, int] = {}
        for index, vnode in enumerate(self._vnodes):
            values = vnode.host or vnode.name if resource == "host" else vnode.attributes.get(resource, "")
            for value in filter(None, values.split(",")) if values or not has_rest else ("",):
                groups[value] = groups.get(value, 0) | (1 << index)
        known = tuple(groups.values())
        if groups.keys() - {""}:
            # Vnodes have few resources, but a job may name any text: of such a name nothing is remembered.
            self._grouped[resource, has_rest] = known
        return known


def is_what(has: str, wanted: str) -> bool:
    """Whether a vnode's non-numeric resource is what the job asks for: the same truth value, the same text, or an
    element of a list."""
    if has.lower() in ("true", "false"):
        return has.lower() == _TRUTHS.get(wanted.lower(), wanted.lower())
    return wanted in has.split(",")


def _has(vnode: Vnode, name: str, value: str) -> bool:
    if name == "vnode":
        return vnode.name == value
    if name == "host":
        return is_host((vnode.host or vnode.name).lower(), value.lower())
    most = vnode.measures.get(name)
    if most is not None:
        wanted = parse_measure(value)
        return wanted is not None and wanted <= most
    has = vnode.attributes.get(name)
    if has is None:
        # A boolean that is not set is False (PBS Professional Administrator's Guide, "Unset Resources").
        return value.lower() == "false"
    return is_what(has, value)
