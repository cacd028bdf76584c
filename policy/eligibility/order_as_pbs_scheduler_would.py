"""Sorts waiting jobs as the site's own PBS scheduler would (docs/policies.md, "The site's own order").

The least significant key is sorted first, one column of floats at a time, which is much faster than sorting tuples.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import accumulate, chain, compress, count, islice
from typing import NamedTuple

from policy.eligibility.order_by_qsub_priority import in_own_order
from policy.order.fair_share_tree import FairShareTree
from policy.order.job_sort_formula import (
    ELIGIBLE_TIME,
    OF_SHARE,
    QUEUE_PRIORITY,
    SHARE_FACTOR,
    TREE_USAGE,
    Column,
    JobSortFormula,
    as_float32s,
)
from policy.order.site_order_settings import BY_QUEUE, RANK, ROUND_ROBIN, SiteOrder
from policy.reasons.reason import Reason
from policy.state.cluster_index import ClusterIndex, Entry

_FAIR_SHARE_KEY, _PREEMPT_KEY = "fair_share_perc", "preempt_priority"
_NOTHING: Mapping[str, Reason] = {}
ALONE = -1
"""The level of a job that fair share does not order."""


class Places(NamedTuple):
    """The places of jobs beside fair share, each list but the last with one item for each entry of the line.

    ``levels`` are the same for jobs that fair share may exchange, and :data:`ALONE` for one that it does not order.
    ``numbers`` order those of one level that have equal claims, by sort keys and age. ``rows``: where in ``entities``
    the job's entity is."""

    levels: list[int]
    numbers: list[int]
    rows: list[int]
    entities: list[str]


class Line(NamedTuple):
    """The waiting jobs in their order. ``refused``: those of them that the site's own rules keep from starting.

    ``places``: those of the jobs that fair share orders; None if there is no fair share."""

    entries: Sequence[Entry]
    refused: Mapping[str, Reason] = _NOTHING
    places: Places | None = None


def queue_line(cluster: ClusterIndex, now_s: float) -> Line:
    """The waiting jobs in queue order, before classes and promises are applied.

    Where a scheduler's order is followed, its queues are in that order. Queues of different schedulers share no vnodes,
    so that it does not matter which come first.
    """
    if not cluster.has_site_order:
        return Line(in_own_order(cluster.order, now_s) if cluster.has_own_priorities else cluster.order)
    line: list[Entry] = []
    refused: dict[str, Reason] = {}
    places = Places([], [], [], [])
    shares = False
    for order, entries in _by_order(cluster):
        if order is None:
            line += in_own_order(entries, now_s) if cluster.has_own_priorities else entries
            _leave_alone(places, len(entries))
            continue
        sorting = _Sorting(cluster, order, entries, now_s)
        line += sorting.line(now_s, places)
        refused.update(sorting.refused())
        shares = shares or order.fair_share is not None
    return Line(line, refused, places if shares else None)


def _by_order(cluster: ClusterIndex) -> Iterable[tuple[SiteOrder | None, Sequence[Entry]]]:
    """The waiting jobs of each scheduler whose order is followed, and those of all others."""
    orders = {name: queue.order for name, queue in cluster.queues.items()}
    different = {id(order): order for order in orders.values()}
    if len(different) == 1 and orders.keys() >= set(cluster.queued):
        return [(next(iter(different.values())), cluster.order)]
    found: dict[int, tuple[SiteOrder | None, list[Entry]]] = {}
    for entry in cluster.order:
        order = orders.get(entry[5].queue)
        found.setdefault(id(order), (order, []))[1].append(entry)
    return list(found.values())


class _Sorting:
    """The sorting of the jobs of one scheduler; columns have one number for each of ``entries``."""

    def __init__(self, cluster: ClusterIndex, order: SiteOrder, entries: Sequence[Entry], now_s: float) -> None:
        self._cluster = cluster
        self._now_s = now_s
        self._order = order
        self._entries = entries
        self._jobs = [entry[5] for entry in entries]
        self._columns: dict[str, Column] = {}
        values = list(chain.from_iterable([job.order_values for job in self._jobs]))
        if len(values) == len(order.needs) * len(entries):
            for index, name in enumerate(order.needs):
                self._columns[name] = values[index :: len(order.needs)]
        self._entities = [] if order.tree is None else [job.entity for job in self._jobs]
        self._different_entities = {*self._entities}
        self._formula: Sequence[float] = ()
        if order.formula is not None:
            self._formula = as_float32s(self._evaluate(order.formula))

    def _evaluate(self, formula: JobSortFormula) -> list[float]:
        columns = {name: self._column(name) for name in formula.uses}
        return formula.values(columns, len(self._jobs))

    def _column(self, name: str) -> Column:
        """The numbers of a name: of jobs, of their queues, or of their fair share entities, as PBS prints them into the
        formula."""
        found = self._columns.get(name)
        if found is not None:
            return found
        if name == QUEUE_PRIORITY:
            priorities = {name: queue.priority for name, queue in self._cluster.queues.items()}
            different = {priorities.get(name, 0) for name in self._cluster.queued}
            if len(different) == 1:
                return [*different] * len(self._jobs)
            return [priorities.get(job.queue, 0) for job in self._jobs]
        if name == ELIGIBLE_TIME:
            # The server does not report it: the job counts as eligible since it entered the queue.
            return [max(0.0, self._now_s - job.submit_s) for job in self._jobs]
        tree = self._order.tree
        if name in OF_SHARE and tree is not None:
            of_entity = {entity: _of_share(tree, name, entity) for entity in self._different_entities}
            return list(map(of_entity.__getitem__, self._entities))
        return [0] * len(self._jobs)

    def line(self, now_s: float, places: Places) -> list[Entry]:
        """The entries in order. For fair share ``places`` gets the places of the jobs."""
        order, jobs = self._order, self._jobs
        rows = list(range(len(jobs)))
        for key in (*_by_age(self._columns.get(RANK), self._entries), *self._by_keys()):
            rows.sort(key=key.__getitem__)
        later = rows[:] if order.fair_share is not None else rows
        above = list(self._above_fair_share())
        for key in above:
            rows.sort(key=key.__getitem__)
        levels: list[int] = []
        if order.fair_share is not None:
            levels = _levels(rows, above, len(places.levels))
            self._sort_equals_by_claim(rows, levels, order.fair_share.tree)
        if order.taken == ROUND_ROBIN:
            level_of = dict(zip(rows, levels))
            rows = self._in_turn(rows)
            levels = [level_of[row] for row in rows] if levels else levels
        if order.fair_share is None:
            _leave_alone(places, len(jobs))
        else:
            places.levels.extend(levels)
            places.numbers.extend(_numbers(rows, later))
            first = len(places.entities)
            places.rows.extend([first + row for row in rows] if first else rows)
            places.entities.extend(self._entities)
        entries = list(map(self._entries.__getitem__, rows))
        if order.is_explicit or not self._cluster.has_own_priorities:
            return entries
        return self._with_own_priorities(entries, rows, above, now_s)

    def _sort_equals_by_claim(self, rows: list[int], levels: Sequence[int], tree: FairShareTree) -> None:
        """Sort the rows of each level by the claims of their entities."""
        equals = list(runs_of_equals(levels))
        if not equals:
            return
        rows_of_equals = [row for first, last in equals for row in rows[first:last]]
        entities = list(map(self._entities.__getitem__, rows_of_equals))
        number_of = tree.ranks(set(entities))
        column = [0] * len(rows)
        for row, number in zip(rows_of_equals, map(number_of.__getitem__, entities)):
            column[row] = number
        for first, last in equals:
            rows[first:last] = sorted(rows[first:last], key=column.__getitem__)

    def _by_keys(self) -> Iterable[Column]:
        """The site's sort keys, the last one first; all in ascending order."""
        for name, descending in reversed(self._order.keys):
            tree = self._order.tree
            if name == _FAIR_SHARE_KEY and tree is not None:
                shares = {entity: tree.find(entity).share for entity in self._different_entities}
                column: Column = [shares[entity] for entity in self._entities]
            elif name == _PREEMPT_KEY:
                continue
            else:
                column = self._columns.get(name, ())
            if column:
                yield [-value for value in column] if descending else column

    def _above_fair_share(self) -> Iterable[Column]:
        """What counts more than fair share, the least significant first: the formula, the job's priority as managers
        set it, its queue's place, and whether that is an express queue."""
        if self._formula:
            if math.isnan(sum(self._formula)):
                # A value that is no number is as good as the least one.
                yield [math.inf if math.isnan(value) else -value for value in self._formula]
            else:
                yield list(map(operator.neg, self._formula))
        if any(map(operator.itemgetter(0), self._entries)) and any(job.priority for job in self._jobs):
            yield [-job.priority for job in self._jobs]
        if self._order.taken == BY_QUEUE and len(self._cluster.queued) > 1:
            yield self._of_queues(self._queue_places())
        if self._order.express_from is not None:
            least = self._order.express_from
            express = {
                name: (-queue.priority if queue.priority >= least else math.inf)
                for name, queue in self._cluster.queues.items()
            }
            if any(value < math.inf for value in express.values()):
                yield self._of_queues(express)

    def _of_queues(self, values: Mapping[str, float]) -> Column:
        return [values[job.queue] for job in self._jobs]

    def _queue_places(self) -> dict[str, float]:
        """The place of each queue: by priority, highest first, then as the server lists them."""
        queues = self._cluster.queues
        listed = {name: place for place, name in enumerate(self._order.queues)}
        names = sorted(queues, key=lambda name: (-queues[name].priority, listed.get(name, len(listed)), name))
        return {name: float(place) for place, name in enumerate(names)}

    def _in_turn(self, rows: Sequence[int]) -> list[int]:
        """One job from each queue of the highest priority in turn, then the same with the next priority. A job that
        could not start takes no turn."""
        places, queues = self._queue_places(), self._cluster.queues
        taken: dict[str, int] = {}
        turn: list[tuple[int, int, float]] = [(0, 0, 0.0)] * len(self._jobs)
        for row in rows:
            job = self._jobs[row]
            turn[row] = (-queues[job.queue].priority, taken.get(job.queue, 0), places[job.queue])
            if not job.blocked:
                taken[job.queue] = taken.get(job.queue, 0) + 1
        return sorted(rows, key=turn.__getitem__)

    def _with_own_priorities(
        self, entries: Sequence[Entry], rows: Sequence[int], above: Sequence[Column], now_s: float
    ) -> list[Entry]:
        """The same jobs with each user's own priorities applied, which move no other user's job."""
        levels = _levels(rows, above)
        placed: list[Entry] = [
            (level, float(place), 0, entry[3], entry[4], entry[5])
            for place, (level, entry) in enumerate(zip(levels, entries))
        ]
        return in_own_order(placed, now_s)

    def refused(self) -> dict[str, Reason]:
        """The jobs whose formula does not exceed the threshold, and those whose entity has no share."""
        order, found = self._order, {}
        for value, job in zip(self._formula, self._jobs) if min(self._formula, default=1) <= order.threshold else ():
            if value <= order.threshold:
                found[job.id] = Reason("under-threshold", (("has", _short(value)), ("limit", _short(order.threshold))))
        fair_share = order.fair_share
        if fair_share is not None and fair_share.enforced:
            without = fair_share.tree.without_share(self._different_entities)
            for job in self._jobs if without else ():
                if job.entity in without:
                    found[job.id] = Reason("no-fair-share", (("entity", job.entity),))
        return found


def _by_age(rank: Column | None, entries: Sequence[Entry]) -> Iterable[Column]:
    """Their place in the queue or, where the server does not tell it, the time at which they entered it."""
    if rank is not None:
        return (rank,)
    return ([entry[2] for entry in entries], [entry[1] for entry in entries])


def _levels(rows: Sequence[int], above: Sequence[Column], first: int = 0) -> list[int]:
    """For sorted rows: a number from ``first`` on that grows where one of the columns changes."""
    if not above:
        return [first] * len(rows)
    changes = reduce(partial(map, operator.or_), [_changes(column, rows) for column in above])
    return list(accumulate(changes, initial=first))[: len(rows)]


def _changes(column: Column, rows: Sequence[int]) -> Iterator[bool]:
    """For each of the rows but the first, whether the column has another value than in the row before."""
    values = list(map(column.__getitem__, rows))
    return map(operator.ne, values, islice(values, 1, None))


def _numbers(rows: Sequence[int], later: Sequence[int]) -> Sequence[int]:
    """For each of the rows its place in ``later``, which has the same ones."""
    if later == list(range(len(later))):
        return rows
    place_of = dict(zip(later, count()))
    return [place_of[row] for row in rows]


def _leave_alone(places: Places, entries: int) -> None:
    places.levels.extend([ALONE] * entries)
    places.numbers.extend([0] * entries)
    places.rows.extend([ALONE] * entries)


def runs_of_equals(values: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Where more than one value in succession are equal: the index of the first, and that after the last."""
    first = last = 0
    for index in compress(count(1), map(operator.eq, values, islice(values, 1, None))):
        if index != last:
            if last:
                yield first, last
            first = index - 1
        last = index + 1
    if last:
        yield first, last


def _of_share(tree: FairShareTree, name: str, entity: str) -> float:
    """A keyword of fair share, rounded to the six digits that PBS prints into the formula."""
    if name == TREE_USAGE:
        value = tree.find(entity).factor
    elif name == SHARE_FACTOR:
        value = tree.factor_of(entity)
    else:
        value = tree.find(entity).share
    return float(f"{value:f}")


def _short(value: float) -> float:
    return float(f"{value:.7g}")
