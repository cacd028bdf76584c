"""The cluster index: four tables (vnodes, queues, jobs, runs) and what follows from them (the queue order, the runs by
expected end, what is free, and what each user, group and project uses).

What follows is updated with every change of an entry, and every change returns the change that undoes it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Callable

from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job, Queue, Reading, Run, Server, Vnode, Window
from policy.model.limit_attributes import EntityKey
from policy.state.regions_of_queues import join_overlapping, vnodes_open_to
from policy.state.usage_by_user import Scope, Usage
from policy.state.vnodes_by_idle_cores import Capacity

Op = tuple[str, str, Any]
"""A change: put a value in a table under a key. The value None removes the entry."""

OrderKey = tuple[int, float, int, str]

Entry = tuple[int, float, int, str, int, Job]
"""A waiting job in the queue order: its order key, its cores, and the job itself."""


_ONE_QUEUE = 1 << 32
"""More than any priority of a job, so that the queue's priority decides first."""


class ClusterIndex:
    """The tables and what follows from them. Mutable: only :class:`~policy.state.cluster_snapshot.Snapshot` hands it
    out.

    ``memo`` is what the last pass keeps here for an incremental one, and ``arrivals`` are the jobs that were added
    since. Any other change drops both.
    """

    __slots__ = (
        "_capacity", "_closed_kinds", "_held_back", "_idle_capacity", "_one_set_of_vnodes", "_own_priorities",
        "_partitions", "_queue_keys", "_queued", "_queues_without_gates", "_regions", "_shaped", "_vnodes_of_queue",
        "arrangements", "arrivals", "ends", "has_classes", "has_quotas", "has_site_order", "has_windows", "jobs",
        "memo", "order", "queues", "readings", "runs", "server", "usage", "vnodes",
    )  # fmt: skip

    def __init__(
        self,
        vnodes: Iterable[Vnode],
        queues: Iterable[Queue],
        jobs: Iterable[Job],
        runs: Iterable[Run],
        server: Server,
        readings: Mapping[str, Reading],
    ) -> None:
        self.server = server
        self.readings: dict[str, Reading] = dict(readings)
        self.vnodes: dict[str, Vnode] = {vnode.name: vnode for vnode in vnodes}
        self.queues: dict[str, Queue] = {queue.name: queue for queue in queues}
        self.jobs: dict[str, Job] = {job.id: job for job in jobs}
        self.runs: dict[str, Run] = {run.id: run for run in runs}
        self._queue_keys: dict[str, int] = {}
        for queue in self.queues.values():
            self._note_priority(queue)
        self.order: list[Entry] = self._sorted()
        self.ends: list[tuple[float, str]] = sorted((run.end_s, run.id) for run in self.runs.values())
        self.memo: object | None = None
        self.arrivals: list[Job] = []
        self._queued: dict[str, int] = {}
        self._held_back = 0
        self._own_priorities = 0
        self._shaped = 0
        for job in self.jobs.values():
            self._note_queued(job, 1)
        self._one_set_of_vnodes: bool | None = None
        self._regions: dict[str, int] | None = None
        self._partitions: tuple[tuple[int, tuple[str, ...], int], ...] | None = None
        self._note_limits()
        self._note_windows()
        self._queues_without_gates: frozenset[str] | None = None
        self._closed_kinds: tuple[tuple[tuple[Window, ...], int], ...] | None = None
        self._capacity: Capacity | None = None
        self._idle_capacity: Capacity | None = None
        self.arrangements: dict[tuple[Request, int], bool] = {}
        self.usage = Usage()
        self._vnodes_of_queue: dict[str, int] = {}

    def copy(self) -> ClusterIndex:
        """An independent copy, without the memo. It is cheap: tables are copied as a whole, values are shared."""
        twin = ClusterIndex((), (), (), (), self.server, self.readings)
        twin.vnodes, twin.queues = dict(self.vnodes), dict(self.queues)
        twin.jobs, twin.runs = dict(self.jobs), dict(self.runs)
        twin.order, twin.ends = list(self.order), list(self.ends)
        twin.has_quotas, twin.has_classes, twin.has_windows = self.has_quotas, self.has_classes, self.has_windows
        twin.has_site_order = self.has_site_order
        twin.arrangements = dict(self.arrangements)
        twin._queued, twin._vnodes_of_queue = dict(self._queued), dict(self._vnodes_of_queue)
        twin._queue_keys = dict(self._queue_keys)
        twin._held_back, twin._own_priorities, twin._shaped = self._held_back, self._own_priorities, self._shaped
        twin._regions = None if self._regions is None else dict(self._regions)
        twin._partitions, twin._closed_kinds = self._partitions, self._closed_kinds
        twin._queues_without_gates = self._queues_without_gates
        twin._capacity = None if self._capacity is None else self._capacity.copy()
        twin._idle_capacity = None if self._idle_capacity is None else self._idle_capacity.copy()
        return twin

    def perform(self, ops: Sequence[Op]) -> list[Op]:
        """Make the changes in order. Returns the changes that undo them."""
        if self.memo is not None:
            self._drop_memo()
        undo: list[Op] = []
        for table, key, value in ops:
            undo.append((table, key, _SETTERS[table](self, key, value)))
        undo.reverse()
        return undo

    # Entries

    def set_job(self, key: str, job: Job | None) -> Job | None:
        """Insert a waiting job in the queue order, or remove it (None). Returns the entry that was there."""
        old = self.jobs.get(key)
        if self.memo is not None:
            if old is None and job is not None:
                self.arrivals.append(job)
            else:
                self._drop_memo()
        if old is not None:
            # An order key sorts right before the entry that begins with it.
            del self.order[bisect_left(self.order, self.order_key(old))]
            del self.jobs[key]
            self._note_queued(old, -1)
        if job is not None:
            self.jobs[key] = job
            insort(self.order, (*self.order_key(job), job.request.cores, job))
            self._note_queued(job, 1)
        return old

    def order_key(self, job: Job) -> OrderKey:
        """The queue order: the queue's priority, highest first; the job's priority, highest first; the time it entered
        the queue; the job's number."""
        return (self._queue_keys.get(job.queue, 0) - job.priority, job.submit_s, job.sequence, job.id)

    def _note_priority(self, queue: Queue) -> None:
        """Note what the priority of a queue adds to the order keys of its jobs, where it has one."""
        if queue.priority:
            self._queue_keys[queue.name] = -queue.priority * _ONE_QUEUE

    def _sorted(self) -> list[Entry]:
        return sorted((*self.order_key(job), job.request.cores, job) for job in self.jobs.values())

    @property
    def has_own_priorities(self) -> bool:
        """Whether some waiting job has a priority among its owner's jobs."""
        return self._own_priorities > 0

    @property
    def queued(self) -> Collection[str]:
        """The queues with waiting jobs."""
        return self._queued.keys()

    @property
    def has_shapes(self) -> bool:
        """Whether some waiting job asks for more than single cores on any vnodes."""
        return self._shaped > 0

    def _note_queued(self, job: Job, by: int) -> None:
        queue = job.queue
        count = self._queued.get(queue, 0) + by
        if count:
            self._queued[queue] = count
        else:
            del self._queued[queue]
        if job.blocked or job.not_before_s is not None:
            self._held_back += by
        if job.own_priority:
            self._own_priorities += by
        if not job.request.only_cores:
            self._shaped += by

    def no_gate_applies(self) -> bool:
        """Whether no waiting job has a gate to pass: none is held back, and all their queues are without
        gates (:meth:`queues_without_gates`)."""
        if self._held_back:
            return False
        ungated = self._queues_without_gates
        return self._queued.keys() <= (self.queues_without_gates() if ungated is None else ungated)

    def set_run(self, key: str, run: Run | None) -> Run | None:
        """Add a run, which takes its resources, or remove it (None), which gives them back. Returns the run that was
        there."""
        if self.memo is not None:
            self._drop_memo()
        old = self.runs.get(key)
        capacity = self._capacity
        if old is not None:
            del self.runs[key]
            del self.ends[bisect_left(self.ends, (old.end_s, key))]
            if capacity is not None:
                capacity.give(old.allocation.shares(capacity.directory), old.job.request)
            self.usage.count(self, old, -1)
        if run is not None:
            self.runs[key] = run
            insort(self.ends, (run.end_s, key))
            if capacity is not None:
                capacity.take(run.allocation.shares(capacity.directory), run.job.request)
            self.usage.count(self, run, 1)
        return old

    def _set_vnode(self, key: str, vnode: Vnode | None) -> Vnode | None:
        old = self.vnodes.pop(key, None)
        if vnode is not None:
            self.vnodes[key] = vnode
        if old is None or vnode is None or self._capacity is None or not self._capacity.replace(old, vnode):
            self._capacity = None
            self._forget_regions()
            self._closed_kinds = None
        self._partitions = None
        self._idle_capacity = None
        self.arrangements.clear()
        self.usage.vnode_changed(old, vnode)
        if (old is not None and old.closed) or (vnode is not None and vnode.closed):
            self._closed_kinds = None
            self._note_windows()
        return old

    def _set_queue(self, key: str, queue: Queue | None) -> Queue | None:
        old = self.queues.pop(key, None)
        if queue is not None:
            self.queues[key] = queue
        if (old.priority if old else 0) != (queue.priority if queue else 0):
            self._queue_keys.pop(key, None)
            if queue is not None:
                self._note_priority(queue)
            self.order = self._sorted()
        self._forget_regions()
        self._forget_use()
        self._note_limits()
        self._note_windows()
        return old

    def _note_limits(self) -> None:
        """Note whether the server or any queue has soft quotas, whether the jobs of any queue have classes, and whether
        those of any are ordered as its scheduler orders them."""
        self.has_quotas = any(queue.quotas_by_resource() for queue in self.queues.values()) or any(
            self.server.quotas.values()
        )
        self.has_classes = any(queue.priorities or queue.is_express for queue in self.queues.values())
        self.has_site_order = any(queue.order is not None for queue in self.queues.values())

    def _note_windows(self) -> None:
        """Note whether any queue or vnode has windows."""
        closed = any(queue.closed for queue in self.queues.values())
        self.has_windows = closed or any(vnode.closed for vnode in self.vnodes.values())

    def _set_reading(self, key: str, reading: Reading | None) -> Reading | None:
        old = self.readings.pop(key, None)
        if reading is not None:
            self.readings[key] = reading
        return old

    def _set_server(self, _key: str, server: Server) -> Server:
        old, self.server = self.server, server
        self._forget_use()
        self._note_limits()
        return old

    # What follows from the tables

    @property
    def capacity(self) -> Capacity:
        """What is free."""
        if self._capacity is None:
            capacity = Capacity.of(self.vnodes)
            for run in self.runs.values():
                capacity.take(run.allocation.shares(capacity.directory), run.job.request)
            self._capacity = capacity
        return self._capacity

    @property
    def idle_capacity(self) -> Capacity:
        """What would be free without the runs; not to be changed. ``arrangements`` holds answers of
        :func:`policy.fit.fits_idle_cluster.fits_idle_cluster` and is dropped with it."""
        if self._idle_capacity is None:
            self._idle_capacity = Capacity.of(self.vnodes)
        return self._idle_capacity

    def vnodes_of(self, queue: str) -> int:
        """The vnodes that jobs of a queue may use."""
        mask = self._vnodes_of_queue.get(queue)
        if mask is None:
            bits = self.capacity.directory.bits
            open_to = vnodes_open_to(self.queues.get(queue) or Queue(queue), self.vnodes.values())
            mask = sum(bits[vnode.name] for vnode in open_to)
            self._vnodes_of_queue[queue] = mask
        return mask

    def regions(self) -> dict[str, int]:
        """Each queue's region: the vnodes of all queues that share vnodes with it, directly or by a chain of other
        queues."""
        if self._regions is None:
            self._regions = join_overlapping({queue: self.vnodes_of(queue) for queue in self.queues})
        return self._regions

    def partitions(self) -> tuple[tuple[int, tuple[str, ...], int], ...]:
        """Each region once: its vnodes, its queues, and the cores of those of its vnodes that take jobs."""
        if self._partitions is None:
            queues: dict[int, list[str]] = {}
            for queue, mask in self.regions().items():
                queues.setdefault(mask, []).append(queue)
            capacity = self.capacity
            self._partitions = tuple(
                (mask, tuple(names), capacity.inventory.total(mask & capacity.usable)) for mask, names in queues.items()
            )
        return self._partitions

    def has_one_set_of_vnodes(self) -> bool:
        """Whether there are queues, and the jobs of each may use the same vnodes as those of any other."""
        if self._one_set_of_vnodes is None:
            self._one_set_of_vnodes = len({self.vnodes_of(queue) for queue in self.queues}) == 1
        return self._one_set_of_vnodes

    def _forget_regions(self) -> None:
        self._one_set_of_vnodes = None
        self._vnodes_of_queue.clear()
        self._regions = None
        self._partitions = None

    def closed_kinds(self) -> tuple[tuple[tuple[Window, ...], int], ...]:
        """The vnodes that have windows, grouped by these: a reservation gives all its vnodes the same ones."""
        if self._closed_kinds is None:
            bits = self.capacity.directory.bits
            by_identity: dict[int, tuple[tuple[Window, ...], int]] = {}
            for vnode in self.vnodes.values():
                if vnode.closed:
                    _, mask = by_identity.get(id(vnode.closed), (vnode.closed, 0))
                    by_identity[id(vnode.closed)] = (vnode.closed, mask | bits[vnode.name])
            kinds: dict[tuple[Window, ...], int] = {}
            for windows, mask in by_identity.values():
                kinds[windows] = kinds.get(windows, 0) | mask
            self._closed_kinds = tuple(sorted(kinds.items(), key=lambda kind: kind[1]))
        return self._closed_kinds

    def queues_without_gates(self) -> frozenset[str]:
        """The managed and started queues without hard limits and windows; none where the server has hard limits or
        consumables of its own."""
        if self._queues_without_gates is None:
            bound = bool(self.server.shared or self.server.hard.by_resource())
            plain = (
                queue
                for queue in self.queues.values()
                if queue.managed and queue.started and not queue.closed and not queue.hard.by_resource()
            )
            self._queues_without_gates = frozenset(() if bound else (queue.name for queue in plain))
        return self._queues_without_gates

    def use_in(self, queue: str, resource: str) -> dict[EntityKey, int]:
        """What the runs of a queue ("" for all) occupy of a resource, by entity; the sum of all runs is under ``("o",
        "PBS_ALL")``."""
        return self.usage.occupied(self, (queue, resource))

    def used(self, scope: Scope) -> dict[EntityKey, int]:
        """What runs requested, by entity, in a scope that a hard limit counts."""
        return self.usage.requested(self, scope)

    def used_of_server(self) -> Mapping[str, int]:
        """What runs requested of each of the server's consumables."""
        return self.usage.of_server(self)

    def keep(self, memo: object) -> None:
        """Keep a memo for the next pass, until anything but an arrival changes."""
        self.memo = memo
        self.arrivals = []

    def _drop_memo(self) -> None:
        self.memo = None
        self.arrivals = []

    def _forget_use(self) -> None:
        self.usage.forget()
        self._queues_without_gates = None


_SETTERS: Mapping[str, Callable[[ClusterIndex, str, Any], Any]] = {
    "jobs": ClusterIndex.set_job,
    "runs": ClusterIndex.set_run,
    "vnodes": ClusterIndex._set_vnode,
    "queues": ClusterIndex._set_queue,
    "server": ClusterIndex._set_server,
    "readings": ClusterIndex._set_reading,
}
"""Plain functions, not bound methods: an index that referred to itself would stay in memory until a garbage
collection."""
