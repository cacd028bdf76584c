"""The line of waiting jobs under fair share, which changes with each start of a pass.

As PBS's scheduler does, a start adds what the job asks for to its entity's usage for the rest of the pass, and so does
a job that becomes the head; then the entity with the least claim comes next. Claims only grow, so an entity's old claim
is a lower bound: the next entity is found by looking again at the first one of a heap.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from operator import itemgetter

from policy.eligibility.classes_by_priority_quota import BASE
from policy.eligibility.order_by_site import Place
from policy.model.jobs_runs_vnodes_queues import Job
from policy.order.fair_share_tree import Claim, FairShareTree, Node
from policy.order.site_order import SiteOrder
from policy.state.cluster_index import ClusterIndex, Entry


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
            now = None if place is None else (self._classes.get(job_id, BASE), place.level)
            if now is None or now != mixed:
                yield from self._by_claim(group)
                group, mixed = [], now
            if now is None:
                yield entry
            else:
                group.append(entry)
        yield from self._by_claim(group)

    def _by_claim(self, group: Sequence[Entry]) -> Iterator[Entry]:
        if not group:
            return
        order = self._orders[group[0][5].queue]
        assert order is not None and order.fair_share is not None  # noqa: S101 - only such jobs have a number
        tree = order.fair_share.tree
        of_entity: dict[str, list[tuple[int, Entry]]] = {}
        for entry in group:
            of_entity.setdefault(entry[5].entity, []).append((self._places[entry[3]].later, entry))
        for waiting in of_entity.values():
            waiting.sort(key=itemgetter(0))
        heap = [(self._claim(tree, entity), jobs[0][0], entity, 0) for entity, jobs in of_entity.items()]
        heapify(heap)
        seen = self._charges
        while heap:
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
                if self._charges != before:
                    claim = self._claim(tree, entity)
            if index < len(jobs):
                heappush(heap, (claim, jobs[index][0], entity, index))

    def _claim(self, tree: FairShareTree, entity: str) -> Claim:
        return tree.claim(entity, self._added)


def usage_of(order: SiteOrder, job: Job) -> float:
    """What one start of the job adds to its entity's usage, by what it asks for (``fairshare_usage_res``)."""
    if order.fair_share is None:
        return 0.0
    asked = dict(zip(order.needs, job.order_values))
    columns = {name: [asked.get(name, 0)] for name in order.fair_share.usage.uses}
    return order.fair_share.usage.values(columns, 1)[0]
