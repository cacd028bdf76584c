"""The order of waiting jobs under fair share, in which each start of a pass moves its entity back, as in PBS's
scheduler.

Usage only grows during a pass, so an entity's old claim is a lower bound, and a heap yields the next entity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from policy.eligibility.order_as_pbs_scheduler_would import ALONE, Line, Places, runs_of_equals
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
        self._levels, self._numbers, self._rows = places.levels, places.numbers, places.rows
        self._entities = places.entities
        if entries is not line.entries:
            place_of = {entry[3]: place for place, entry in enumerate(line.entries)}
            kept = [place_of[entry[3]] for entry in entries]
            self._levels, self._numbers, self._rows = ([each[place] for place in kept] for each in places[:3])
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
        entries, done = self._entries, 0
        for first, last in self._exchangeable():
            yield from entries[done:first]
            yield from self._by_claim(first, last)
            done = last
        yield from entries[done:]

    def _exchangeable(self) -> Iterator[tuple[int, int]]:
        """The index of the first of each group that fair share may exchange with each other, and that after its last.
        Promises are looked at when the group's turn comes."""
        marks, entries, fixed = self._marks(), self._entries, self._fixed
        for first, last in runs_of_equals(marks):
            if marks[first] is None:
                continue
            begin = first
            for index in range(first, last) if fixed else ():
                if entries[index][3] in fixed:
                    if index - begin > 1:
                        yield begin, index
                    begin = index + 1
            if last - begin > 1:
                yield begin, last

    def _marks(self) -> Sequence[object]:
        """For each entry what it has in common with those that fair share may exchange it with; None if with none."""
        levels, classes = self._levels, self._classes
        if classes:
            return [
                None if level == ALONE else (level, classes.get(entry[3], BASE))
                for level, entry in zip(levels, self._entries)
            ]
        return levels if ALONE not in levels else [None if level == ALONE else level for level in levels]

    def _by_claim(self, first: int, last: int) -> Iterator[Entry]:
        """The entries from one index until before another: a group in the order of the claims at the beginning of the
        pass. As long as nothing is charged that order holds; after a charge the heap finds each next entity."""
        charges, index = self._charges, first
        while index < last and not charges:
            yield self._entries[index]
            index += 1
            charges = self._charges
        if index < last:
            yield from self._by_heap(range(index, last))

    def _by_heap(self, group: Sequence[int]) -> Iterator[Entry]:
        """The entries with these indices, each time one of the entity with the least claim."""
        entries, numbers, entities = self._entries, self._numbers, self._entities
        of_entity: dict[str, list[int]] = defaultdict(list)
        for index, row in zip(group, self._rows[group[0] :]):
            of_entity[entities[row]].append(index)
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
