"""The order of waiting jobs under fair share, in which each start of a pass moves its entity back, as in PBS's
scheduler.

Usage only grows during a pass, so an entity's old claim is a lower bound, and a heap yields the next entity.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from operator import itemgetter

from policy.eligibility.order_as_pbs_scheduler_would import Place
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.priority_class import BASE
from policy.order.fair_share_tree import Claim, FairShareTree, Node
from policy.order.site_order_settings import SiteOrder
from policy.state.cluster_index import ClusterIndex, Entry

_MOST_SORTS, _QUIET = 8, 64
"""How often the rest of a group is sorted anew, and after how many entries without a charge."""


class FairShareLine:
    """The jobs of one pass. Iterating yields each entry once; :meth:`charge` may be called in between."""

    def __init__(
        self,
        cluster: ClusterIndex,
        entries: Sequence[Entry],
        places: Mapping[str, Place],
        classes: Mapping[str, int],
        fixed: Container[str],
    ) -> None:
        """``classes``: the classes of jobs (P2), which are not mixed; ``fixed``: the jobs that keep their place."""
        self._entries = entries
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
        group: list[Entry] = []
        mixed: tuple[int, int] | None = None
        for entry in self._entries:
            job_id = entry[3]
            place = None if job_id in self._fixed else self._places.get(job_id)
            now = None if place is None else (self._classes.get(job_id, BASE), place[0])
            if now is None or now != mixed:
                yield from self._by_claim(group)
                group, mixed = [], now
            if now is None:
                yield entry
            else:
                group.append(entry)
        yield from self._by_claim(group)

    def _by_claim(self, group: Sequence[Entry]) -> Iterator[Entry]:
        """The entries of a group that is in the order of the claims at the beginning of the pass.

        As long as nothing is charged that order holds. After a charge the heap finds each next entity. When many
        entries in a row brought no charge, the rest is sorted once and goes on without the heap; a few times only.
        """
        if not group:
            return
        tree, sorts = self._tree_of(group[0][5]), _MOST_SORTS
        rest: Sequence[Entry] = group if self._charges else (yield from self._until_charged(group))
        while rest:
            rest = yield from self._by_heap(tree, rest, flattens=sorts > 0)
            sorts -= 1
            if rest:
                rest = yield from self._until_charged(rest)

    def _until_charged(self, entries: Sequence[Entry]) -> Generator[Entry, None, Sequence[Entry]]:
        """Yield the entries as they are, until one was charged; returns the rest."""
        charges = self._charges
        for index, entry in enumerate(entries):
            yield entry
            if self._charges != charges:
                return entries[index + 1 :]
        return ()

    def _by_heap(
        self, tree: FairShareTree, entries: Sequence[Entry], *, flattens: bool
    ) -> Generator[Entry, None, Sequence[Entry]]:
        """Yield the entries, each time one of the entity with the least claim. With ``flattens``: ends when many in a
        row brought no charge, and returns the rest in order."""
        of_entity: dict[str, list[tuple[int, Entry]]] = {}
        for entry in entries:
            of_entity.setdefault(entry[5].entity, []).append((self._places[entry[3]][1], entry))
        for waiting in of_entity.values():
            waiting.sort(key=itemgetter(0))
        heap = [(self._claim(tree, entity), jobs[0][0], entity, 0) for entity, jobs in of_entity.items()]
        heapify(heap)
        seen, quiet = self._charges, 0
        while heap:
            if flattens and quiet > _QUIET:
                return self._in_order(tree, [(of_entity[entity], index) for _, _, entity, index in heap])
            claim, place, entity, index = heappop(heap)
            if self._charges != seen:
                now = self._claim(tree, entity)
                if now != claim:
                    heappush(heap, (now, place, entity, index))
                    continue
            jobs = of_entity[entity]
            while index < len(jobs):
                place, entry = jobs[index]
                if heap and (claim, place) > heap[0][:2]:
                    break
                before = self._charges
                yield entry
                index += 1
                quiet += 1
                if self._charges != before:
                    claim, quiet = self._claim(tree, entity), 0
            if index < len(jobs):
                heappush(heap, (claim, jobs[index][0], entity, index))
        return ()

    def _in_order(self, tree: FairShareTree, left: Sequence[tuple[list[tuple[int, Entry]], int]]) -> list[Entry]:
        """What is left of each entity's jobs, from an index on, in the order of the claims of the moment."""
        keyed = []
        for jobs, index in left:
            claim = self._claim(tree, jobs[0][1][5].entity)
            keyed.append((claim, jobs[index:]))
        keyed.sort(key=itemgetter(0))
        found: list[Entry] = []
        first = 0
        while first < len(keyed):
            last = first
            while last < len(keyed) and keyed[last][0] == keyed[first][0]:
                last += 1
            equal = [each for _, jobs in keyed[first:last] for each in jobs]
            found += [entry for _, entry in sorted(equal, key=itemgetter(0))]
            first = last
        return found

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
