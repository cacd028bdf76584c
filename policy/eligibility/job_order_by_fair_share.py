"""The order of waiting jobs under fair share, in which each start of a pass moves its entity back, as in PBS's
scheduler.

Usage only grows during a pass, so an entity's old claim is a lower bound, and a heap yields the next entity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby

from policy.eligibility.order_as_pbs_scheduler_would import Line, Places
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.priority_class import BASE
from policy.order.fair_share_tree import Claim, FairShareTree, Node
from policy.order.site_order_settings import SiteOrder
from policy.state.cluster_index import ClusterIndex, Entry


class FairShareLine:
    """The jobs of one pass. Iterating yields each entry once; :meth:`charge` may be called in between."""

    def __init__(
        self,
        cluster: ClusterIndex,
        entries: Sequence[Entry],
        line: Line,
        places: Places,
        classes: Mapping[str, int],
        fixed: Collection[str],
    ) -> None:
        """``entries``: the jobs of the ``line`` that has the ``places``, perhaps in another order and not all of them.
        ``classes``: the classes of jobs (P2), which are not mixed; ``fixed``: the jobs that keep their place."""
        self._entries = entries
        self._rows: Sequence[int] = places.rows
        if entries is not line.entries:
            row_of = {entry[3]: row for entry, row in zip(line.entries, places.rows)}
            self._rows = [row_of[entry[3]] for entry in entries]
        self._places = places
        self._classes = classes
        self._fixed = fixed
        self._orders = {name: queue.order for name, queue in cluster.queues.items()}
        self._added: dict[Node, float] = {}
        self._charges = 0

    def charge(self, job: Job) -> None:
        """Count what a start of the job uses towards its entity's usage in this pass."""
        order = self._orders.get(job.queue)
        if order is None or order.fair_share is None:
            return
        amount = usage_of(order, job)
        if amount > 0:
            self._charges += 1
            for node in order.fair_share.tree.find(job.entity).path:
                self._added[node] = self._added.get(node, 0.0) + amount

    def __iter__(self) -> Iterator[Entry]:
        """The entries: those that fair share may exchange by the claims of the moment, all others as they are."""
        entries, fixed = self._entries, self._fixed
        first = 0
        for mixed, alike in groupby(self._marks()):
            last = first + len([*alike])
            while first < last:
                until = first if mixed is None else last
                if fixed:
                    until = next((index for index in range(first, until) if entries[index][3] in fixed), until)
                if until - first == 1:
                    yield entries[first]
                elif until > first:
                    yield from self._by_claim(first, until)
                if until < last:
                    yield entries[until]
                    until += 1
                first = until

    def _marks(self) -> list[object]:
        """For each entry what it has in common with those that fair share may exchange it with; None if with none."""
        levels, classes = self._places.levels, self._classes
        if classes:
            return [
                None if row < 0 else (levels[row], classes.get(entry[3], BASE))
                for row, entry in zip(self._rows, self._entries)
            ]
        return [None if row < 0 else levels[row] for row in self._rows]

    def _by_claim(self, first: int, last: int) -> Iterator[Entry]:
        """The entries from one index until before another: a group in the order of the claims at the beginning of the
        pass. As long as nothing is charged that order holds; after a charge the heap finds each next entity."""
        charges, index = self._charges, first
        while index < last and (not charges or last - first == 1):
            yield self._entries[index]
            index += 1
            charges = self._charges
        if index < last:
            yield from self._by_heap(range(index, last))

    def _by_heap(self, group: Sequence[int]) -> Iterator[Entry]:
        """The entries with these indices, each time one of the entity with the least claim."""
        entries, rows, entities = self._entries, self._rows, self._places.entities
        of_entity: dict[str, list[int]] = defaultdict(list)
        for index in group:
            of_entity[entities[rows[index]]].append(index)
        numbers = {index: self._places.numbers[rows[index]] for index in group}
        tree = self._tree_of(entries[group[0]][5])
        for jobs in of_entity.values():
            jobs.sort(key=numbers.__getitem__)
        heap = [(self._claim(tree, entity), numbers[jobs[0]], entity, 0) for entity, jobs in of_entity.items()]
        heapify(heap)
        seen = self._charges
        while heap:
            claim, number, entity, place = heappop(heap)
            if self._charges != seen:
                now = self._claim(tree, entity)
                if now != claim:
                    heappush(heap, (now, number, entity, place))
                    continue
            jobs = of_entity[entity]
            # Most claims differ, and then no number has to be looked at.
            is_least = not heap or claim < heap[0][0]
            charges = self._charges
            for place in range(place, len(jobs)):  # noqa: B020 - goes on where the entity stopped
                index = jobs[place]
                if not is_least and (claim, numbers[index]) > heap[0][:2]:
                    heappush(heap, (claim, numbers[index], entity, place))
                    break
                yield entries[index]
                if self._charges != charges:
                    charges = self._charges
                    claim = self._claim(tree, entity)
                    is_least = not heap or claim < heap[0][0]

    def _tree_of(self, job: Job) -> FairShareTree:
        order = self._orders[job.queue]
        assert order is not None and order.fair_share is not None  # noqa: S101 - only such jobs have a place
        return order.fair_share.tree

    def _claim(self, tree: FairShareTree, entity: str) -> Claim:
        return tree.claim(entity, self._added)


def usage_of(order: SiteOrder, job: Job) -> float:
    """What one start of the job adds to its entity's usage, by what it asks for (``fairshare_usage_res``)."""
    if order.fair_share is None:
        return 0.0
    asked = dict(zip(order.needs, job.order_values))
    columns = {name: [asked.get(name, 0)] for name in order.fair_share.usage.uses}
    return order.fair_share.usage.values(columns, 1)[0]
