"""PBS's fair share tree: what share of the machine each entity has, what it has used, and which one deserves more.

It computes as PBS's scheduler does (``fairshare.cpp``; Administrator's Guide, "Using Fairshare"), with percentages and
usage factors of 32 bits, so that equal shares compare as equal.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from policy.order.job_sort_formula import as_float32

ROOT, UNKNOWN = "TREEROOT", "unknown"
LEAST_USAGE = 1.0
"""The usage of an entity that has used nothing, and what decay stops at."""

Claim = tuple[float, ...]
"""Usage divided by share for each node from the root's child down to an entity: the lesser claim goes first."""


class Group(NamedTuple):
    """A line of the ``resource_group`` file: an entity or group, its parent's name, and its shares among its
    siblings."""

    name: str
    parent: str
    shares: int


class Node:
    """A node of the tree. ``share`` is its part of the machine (0 to 1), ``within`` that among its siblings, ``factor``
    PBS's ``fairshare_tree_usage``; ``path`` leads from below the root to the node itself."""

    __slots__ = ("children", "factor", "name", "parent", "path", "share", "shares", "usage", "within")

    def __init__(self, name: str, parent: Node | None, shares: int) -> None:
        self.name = name
        self.parent = parent
        self.shares = shares
        self.children: list[Node] = []
        self.share = self.within = self.factor = 0.0
        self.usage = LEAST_USAGE
        self.path: tuple[Node, ...] = () if parent is None else (*parent.path, self)
        if parent is not None:
            parent.children.append(self)


class FairShareTree:
    """The tree with its usage. ``decayed_s``: when it last decayed, in seconds since 1970; 0 if that is unknown.

    An entity that the ``resource_group`` file does not name is a child of the group ``unknown``, with one share.
    """

    def __init__(
        self,
        groups: Iterable[Group],
        unknown_shares: int,
        usage: Mapping[str, float],
        entities: Iterable[str] = (),
        decayed_s: int = 0,
    ) -> None:
        self.decayed_s = decayed_s
        self.root = Node(ROOT, None, 0)
        self.root.share = 1.0
        self._unknown = Node(UNKNOWN, self.root, unknown_shares)
        self.nodes: dict[str, Node] = {ROOT: self.root, UNKNOWN: self._unknown}
        for group in groups:
            parent = self.nodes.get(ROOT if group.parent == "root" else group.parent)
            if parent is not None and group.name not in self.nodes:
                self.nodes[group.name] = Node(group.name, parent, group.shares)
        for name in (*usage, *entities):
            if name not in self.nodes:
                self.nodes[name] = Node(name, self._unknown, 1)
        for name, used in usage.items():
            self._set_usage(self.nodes[name], used)
        self._divide()
        self.weigh()

    def _set_usage(self, node: Node, used: float) -> None:
        """Set what an entity has used; for a leaf it counts for the groups above as well."""
        node.usage = used
        if not node.children:
            for above in node.path[:-1]:
                above.usage += used
            if node is not self.root:
                self.root.usage += used

    def _divide(self) -> None:
        """Divide the share of each node among its children by their shares. A parent is in the table before its
        children."""
        for parent in self.nodes.values():
            total = sum(child.shares for child in parent.children)
            for child in parent.children:
                if total * parent.share != 0:
                    child.within = as_float32(as_float32(child.shares) / total)
                    child.share = as_float32(child.within * parent.share)

    def weigh(self) -> None:
        """Compute the usage factors anew, as at the beginning of a cycle."""
        of_all = self.root.usage
        for parent in self.nodes.values():
            for child in parent.children:
                usage = as_float32(child.usage / of_all)
                above = parent.factor - usage
                child.factor = usage if parent is self.root else as_float32(usage + above * child.within)

    def find(self, entity: str) -> Node:
        """The node of an entity; one that the tree does not have stands for a new child of ``unknown``, without
        share."""
        node = self.nodes.get(entity)
        return node if node is not None else self._unknown

    def charge(self, entity: str, amount: float) -> None:
        """Add to the usage of an entity and of all groups above it; a negative amount counts as nothing."""
        if amount > 0:
            self.root.usage += amount
            for node in self.find(entity).path:
                node.usage += amount

    def decay_until(self, now_s: int, interval_s: float, factor: float) -> bool:
        """Decay once for each whole interval since the last decay, as a scheduler does in its first cycle after it;
        False if none was due. Usage does not fall below :data:`LEAST_USAGE`."""
        if not self.decayed_s:
            self.decayed_s = now_s
        if not (math.isfinite(interval_s) and interval_s >= 1) or now_s - self.decayed_s <= interval_s:
            return False
        # The last whole interval only counts once it is over by more than nothing.
        times = math.ceil((now_s - self.decayed_s) / int(interval_s)) - 1
        for node in self.nodes.values():
            node.usage = max(LEAST_USAGE, node.usage * factor**times)
        self.decayed_s = now_s - (now_s - self.decayed_s) % int(interval_s)
        return True

    def claim(self, entity: str, added: Mapping[Node, float] = MappingProxyType({})) -> Claim:
        """The entity's claim, with usage ``added`` in this pass. Entities compare by it as ``pbsfs -c`` does; one
        without a share comes after all others.

        Where one claim is the beginning of another, PBS's comparison has no answer; the shorter one then goes first.
        """
        found: list[float] = []
        for node in self.find(entity).path:
            if node.share <= 0:
                return (*found, math.inf)
            found.append((node.usage + added.get(node, 0.0)) / node.share)
        return tuple(found)

    def ranks(self, entities: Collection[str]) -> Mapping[str, int]:
        """Where each of the entities comes by its claim, the same for equal claims.

        Claims are compared one level of the tree after the other: a tuple for each entity would have Python look for
        garbage in a pass's long lists.
        """
        names = list(entities)
        paths = [self.find(name).path for name in names]
        levels = [[_part(path, level) for path in paths] for level in range(max(map(len, paths), default=0))]
        rows = list(range(len(names)))
        for level in reversed(levels):
            rows.sort(key=level.__getitem__)
        rank, found = 0, {}
        before = rows[0] if rows else 0
        for row in rows:
            if any(level[row] != level[before] for level in levels):
                rank += 1
            found[names[row]], before = rank, row
        return found

    def used(self) -> Iterator[tuple[str, float]]:
        """The entities whose usage a scheduler writes to its file: the leaves that have used something."""
        for node in self.nodes.values():
            if not node.children and node.usage != LEAST_USAGE and node.name != UNKNOWN:
                yield node.name, node.usage

    def factor_of(self, entity: str) -> float:
        """PBS's ``fairshare_factor`` of an entity, between 0 and 1: 0.5 where it has used just its share."""
        node = self.find(entity)
        return 0.0 if node.share == 0 else math.pow(2, -(node.factor / node.share))

    def without_share(self, entities: Collection[str]) -> frozenset[str]:
        """Those of the entities that have no share of the machine."""
        return frozenset(entity for entity in entities if self.find(entity).share == 0)


def _part(path: Sequence[Node], level: int) -> float:
    """The number of a claim for one level of the tree; less than all others where the claim has ended above."""
    if level >= len(path) or (level and path[level - 1].share <= 0):
        return -math.inf
    node = path[level]
    return node.usage / node.share if node.share > 0 else math.inf
