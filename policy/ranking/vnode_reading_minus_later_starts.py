"""Headroom: what is left of each vnode now, from its reading less what has started since (docs/policies.md, P4).

Subtracted for each later run: of compute its cores' share, of memory its request, and of each, and of network, its
requirement if that is more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from policy.model.allocation import Allocation
from policy.model.job_preferences import Requirements
from policy.model.jobs_runs_vnodes_queues import Job, Reading, Vnode
from policy.model.vnode_bitsets import each_bit, mask_of
from policy.settings.built_in_and_custom_vnode_formulas import QUANTITIES, UNKNOWN, VnodeHeadroom
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.state.cluster_index import ClusterIndex
from policy.state.vnodes_by_idle_cores import Capacity


class _Use(NamedTuple):
    """What a run, started since the reading, is taken to use on one vnode."""

    cores: int
    memory_kib: float
    needs: Requirements


_NO_NEEDS = Requirements()


class Remaining:
    """One :class:`~policy.settings.built_in_and_custom_vnode_formulas.VnodeHeadroom` per vnode, by index of the
    directory.

    ``reporting``: the vnodes with a reading that is recent enough; ``stale``: those whose reading is not. ``known``:
    for each quantity, the vnodes with a known amount left; ``rated``: those with a known total as well.
    ``counting_cores``: those that have never reported their compute, so that idle cores count instead.
    """

    def __init__(self, cluster: ClusterIndex, settings: RankingSettings, now_s: float) -> None:
        self._capacity: Capacity = cluster.capacity
        directory = self._capacity.directory
        self._vnodes: list[Vnode] = [cluster.vnodes[name] for name in directory.names]
        oldest_s = now_s - settings.stale_intervals * settings.interval_s
        readings = [cluster.readings.get(name) for name in directory.names]
        stale = {index for index, reading in enumerate(readings) if reading and not reading.at_s >= oldest_s}
        self.stale = mask_of(stale)
        self.reporting = mask_of([index for index, reading in enumerate(readings) if reading]) & ~self.stale
        # A vnode that has ever reported its compute is not judged by its idle cores once it has fallen silent.
        self._counts_cores = [reading is None or reading.compute is None for reading in readings]
        self.counting_cores = mask_of([index for index, counts in enumerate(self._counts_cores) if counts])
        self._readings = [None if index in stale else reading for index, reading in enumerate(readings)]
        self._speeds = [speed_of(vnode) for vnode in self._vnodes]
        self._since: dict[int, list[_Use]] = {}
        self._note_runs(cluster, now_s)
        idle = self._capacity.idle_by_index()
        self.rows: list[VnodeHeadroom] = [self._left(index, idle[index]) for index in range(len(self._vnodes))]
        self.known: dict[str, int] = {}
        self.rated: dict[str, int] = {}
        for name in QUANTITIES:
            here = VnodeHeadroom.place_of(name)
            known = [index for index, row in enumerate(self.rows) if not math.isnan(row[here])]
            self.known[name] = mask_of(known)
            self.rated[name] = mask_of([index for index in known if self.rows[index][here + 1] > 0])

    # Runs that started since the reading

    def _note_runs(self, cluster: ClusterIndex, now_s: float) -> None:
        first_s = min((reading.at_s for reading in self._readings if reading is not None), default=math.inf)
        if first_s == math.inf:
            return
        first_s = min(first_s, now_s)
        for run in cluster.runs.values():
            if run.start_s >= first_s:
                self.note(run.job, run.allocation, run.start_s, now_s)

    def note(self, job: Job, allocation: Allocation, start_s: float, now_s: float) -> int:
        """Subtract a start from the readings that do not include it; returns the vnodes of the allocation."""
        touched = 0
        for bit, use in self._uses(job, allocation):
            touched |= bit
            reading = self._readings[bit.bit_length() - 1]
            if reading is not None and start_s >= min(reading.at_s, now_s):
                self._since.setdefault(bit.bit_length() - 1, []).append(use)
        return touched

    def give_back(self, job: Job, allocation: Allocation) -> int:
        """Undo :meth:`note`; returns the vnodes of the allocation."""
        touched = 0
        for bit, use in self._uses(job, allocation):
            touched |= bit
            uses = self._since.get(bit.bit_length() - 1, [])
            if use in uses:
                uses.remove(use)
        return touched

    def _uses(self, job: Job, allocation: Allocation) -> Iterable[tuple[int, _Use]]:
        needs = _NO_NEEDS if job.rank is None else job.rank.needs
        held: dict[int, tuple[int, int]] = {}
        for mask, amounts, chunks, _ in allocation.shares(self._capacity.directory):
            asked = dict(amounts)
            for bit in each_bit(mask):
                cores, memory = held.get(bit, (0, 0))
                held[bit] = (cores + chunks * asked.get("ncpus", 0), memory + chunks * asked.get("mem", 0))
        return [(bit, _Use(cores, memory, needs)) for bit, (cores, memory) in held.items()]

    # What is left

    def refresh(self, index: int) -> None:
        """Compute one vnode anew, after what is free or started there has changed."""
        self.rows[index] = self._left(index, self._capacity.free_at(index, "ncpus"))

    def _left(self, index: int, idle: int) -> VnodeHeadroom:
        vnode, reading = self._vnodes[index], self._readings[index] or _NO_READING
        cores = vnode.available.get("ncpus", 0)
        memory, network = _number(reading.memory_kib), _number(reading.network)
        memory_all = vnode.available.get("mem") if reading.memory_all_kib is None else reading.memory_all_kib
        if self._counts_cores[index]:
            alone = self._capacity.exclusive >> index & 1
            compute = (0 if alone else max(0, idle)) * self._speeds[index]
            compute_all = cores * self._speeds[index]
        else:
            compute, compute_all = _number(reading.compute), _number(reading.compute_all)
        uses = self._since.get(index)
        if uses:
            if not self._counts_cores[index]:
                each = compute_all / cores if cores and not math.isnan(compute_all) else 0.0
                compute = _less(compute, (max(use.cores * each, use.needs.compute or 0) for use in uses))
            memory = _less(memory, (max(use.memory_kib, use.needs.memory_kib or 0) for use in uses))
            network = _less(network, (use.needs.network or 0 for use in uses))
        return VnodeHeadroom(
            compute, compute_all, memory, _number(memory_all), network, _number(reading.network_all),
            _number(reading.temperature), _number(reading.temperature_most),
        )  # fmt: skip


_NO_READING = Reading(-math.inf)


def _less(left: float, used: Iterable[float]) -> float:
    """What is left after these uses, at least 0; the sum is exact, in whatever order the runs are."""
    return max(0.0, left - math.fsum(used)) if not math.isnan(left) else left


def _number(value: float | None) -> float:
    return float(value) if value is not None and -math.inf < value < math.inf else UNKNOWN


def speed_of(vnode: Vnode) -> float:
    """The vnode's ``speed`` (compute per core), a number above 0; 1 if it has none."""
    try:
        speed = float(vnode.attributes.get("speed", "1"))
    except ValueError:
        return 1.0
    return speed if 0 < speed < math.inf else 1.0
