"""Jobs that share nodes slow each other down: a model of memory bandwidth, and of the price of spreading ranks.

A job's memory-bound share stretches with the demand on its node, its share of communication grows with each doubling of
the nodes, and it runs at the pace of its slowest rank. README.md has the sources, and what uneven nodes add.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Callable

from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import Reading
from sim.workload.application_contention_traits import Traits
from sim.workload.uneven_nodes import EVEN, HOTTEST, LINK_MBIT, MEMORY_KIB_PER_CORE, Condition, draw_condition
from sim.workload.workload import Cluster

GBS_PER_CORE = 6.0
"""Sustained memory bandwidth of a node in GB/s for each of its cores: 192 GB/s for 32 cores, the order of what the
STREAM triad (McCalpin, IEEE TCCA Newsletter, Dec. 1995) gives on a node with two 16-core processors and six channels of
DDR4-2666 each, 256 GB/s at their peak."""


@dataclass(frozen=True)
class Shape:
    """One job of the workload: its cores, its recorded run time in seconds, and its traits."""

    cores: int
    run_s: float
    traits: Traits


class _Going:
    """A running job: its ranks by node, its pace (seconds of recorded run time per second), and what was left at
    `since_s`.
    """

    __slots__ = ("alone", "left_s", "pace", "ranks", "shape", "since_s", "spread")

    def __init__(self, shape: Shape, ranks: Mapping[str, int], left_s: float, now_s: float) -> None:
        self.shape = shape
        self.ranks = ranks
        self.left_s = left_s
        self.since_s = now_s
        self.pace = 0.0
        self.spread = 1.0
        self.alone = 1.0

    def end_s(self) -> float:
        return self.since_s + self.left_s / self.pace


class Contention:
    """The running jobs of a cluster, and how they slow each other down. Starts and ends must be reported in order of
    time.
    """

    def __init__(self, cluster: Cluster, jobs: Mapping[str, Shape]) -> None:
        self._cores_per_node = cluster.cores_per_node
        self._bandwidth_gbs = cluster.cores_per_node * GBS_PER_CORE
        self._jobs = jobs
        self._going: dict[str, _Going] = {}
        self._on: dict[str, dict[str, int]] = {}
        self._demand_gbs: dict[str, float] = {}
        self._uneven = cluster.uneven
        self._conditions: dict[str, Condition] = {}

    def started(
        self, job_id: str, allocation: Allocation, now_s: float, left_s: float | None = None
    ) -> list[tuple[str, float]]:
        """The job has started; ``left_s`` is what is left of its recorded run time in seconds, all of it if None.

        Returns the end of this job and the new ends of those that it slows down.
        """
        shape = self._jobs[job_id]
        ranks = {vnode: held["ncpus"] for vnode, held in allocation.by_vnode().items() if held.get("ncpus")}
        going = _Going(shape, ranks, shape.run_s if left_s is None else left_s, now_s)
        fewest = math.ceil(shape.cores / self._cores_per_node)
        going.spread = len(ranks) / fewest
        most = min(shape.cores, self._cores_per_node)
        going.alone = shape.traits.stretch(most * shape.traits.gbs_per_rank / self._bandwidth_gbs, 1)
        self._going[job_id] = going
        for node, count in ranks.items():
            self._on.setdefault(node, {})[job_id] = count
        return self._turn(ranks, now_s)

    def ended(self, job_id: str, now_s: float) -> list[tuple[str, float]]:
        """The job has ended or was preempted; returns the new ends of the jobs that speed up."""
        going = self._going.pop(job_id)
        for node in going.ranks:
            del self._on[node][job_id]
        return self._turn(going.ranks, now_s)

    def left_s(self, job_id: str, now_s: float) -> float:
        """What is left of a running job's recorded run time, in seconds."""
        going = self._going[job_id]
        return max(0.0, going.left_s - (now_s - going.since_s) * going.pace)

    def pace(self, job_id: str) -> float:
        """Seconds of recorded run time that a running job completes per second."""
        return self._going[job_id].pace

    def _turn(self, nodes: Iterable[str], now_s: float) -> list[tuple[str, float]]:
        """Recompute the pace of the jobs on these nodes; returns the ends that change."""
        touched: dict[str, None] = {}
        for node in nodes:
            on = self._on[node]
            # Summed anew in a fixed order, so that a demand returns to exactly its earlier value.
            self._demand_gbs[node] = sum(on[job] * self._jobs[job].traits.gbs_per_rank for job in sorted(on))
            touched.update(dict.fromkeys(on))
        moved = []
        for job_id in sorted(touched):
            going = self._going[job_id]
            pace = going.alone / self._stretch(going)
            if pace != going.pace:
                going.left_s = max(0.0, going.left_s - (now_s - going.since_s) * going.pace)
                going.since_s = now_s
                going.pace = pace
                moved.append((job_id, going.end_s()))
        return moved

    def _stretch(self, going: _Going) -> float:
        """How many times longer than at full speed a running job takes now: on the worst of its nodes."""
        traits = going.shape.traits
        if self._uneven is None:
            crowding = max(self._demand_gbs[node] for node in going.ranks) / self._bandwidth_gbs
            return traits.stretch(crowding, going.spread)
        worst = 0.0
        for node in going.ranks:
            load = self._load(node)
            slowed = self._condition(node).throttling(load)
            crowding = self._demand_gbs[node] / self._bandwidth_gbs
            worst = max(worst, slowed * traits.stretch(crowding, going.spread, load, self._traffic(node)))
        return worst

    # What uneven nodes report

    def reading(self, node: str, at_s: float) -> Reading:
        """What is left of a node."""
        cores, load = self._cores_per_node, self._load(node)
        memory_kib, condition = cores * MEMORY_KIB_PER_CORE, self._condition(node)
        filled = condition.memory + self._sum(node, lambda traits: traits.memory_used_per_rank) / cores
        return Reading(
            at_s,
            cores * max(0.0, 1 - load),
            cores,
            memory_kib * max(0.0, 1 - filled),
            memory_kib,
            LINK_MBIT * max(0.0, 1 - self._traffic(node)),
            LINK_MBIT,
            condition.temperature(load),
            HOTTEST,
        )

    def _load(self, node: str) -> float:
        """The demand on a node's cores over what it has: its ranks, and the background."""
        return self._condition(node).cores + self._sum(node, lambda _: 1.0) / self._cores_per_node

    def _traffic(self, node: str) -> float:
        """The demand on a node's link over what it has."""
        used = self._sum(node, lambda traits: traits.link_share_per_rank)
        return self._condition(node).network + used / self._cores_per_node

    def _sum(self, node: str, of_rank: Callable[[Traits], float]) -> float:
        """The sum over all ranks on a node, in a fixed order."""
        on = self._on.get(node, {})
        return sum(on[job] * of_rank(self._jobs[job].traits) for job in sorted(on))

    def _condition(self, node: str) -> Condition:
        condition = self._conditions.get(node)
        if condition is None:
            condition = EVEN if self._uneven is None else draw_condition(self._uneven, node)
            self._conditions[node] = condition
        return condition
