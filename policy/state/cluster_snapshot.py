"""The cluster at one moment, as a value: changes make a new snapshot and leave the old one as it was.

All versions of one cluster share a single :class:`~policy.state.cluster_index.ClusterIndex`, which stands at the
version used last; using another version first applies the changes between the two (Baker's rerooting, "Shallow binding
makes functional arrays fast", 1991). Going forward, as servers and simulators do, costs no more than the changes
themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from policy.model.jobs_runs_vnodes_queues import Finished, Job, Queue, Reading, Run, Server, Vnode
from policy.model.limit_attributes import EntityKey
from policy.state.closure_windows import windows_of
from policy.state.cluster_index import ClusterIndex, Op
from policy.values.value_made_often import ValueMadeOften


class Changes(ValueMadeOften):
    """What happened until ``time_s``.

    ``queued``: jobs that wait now (new, altered or requeued). ``running``: runs that are there now (started or
    altered). ``gone``: ids of jobs and runs that no longer exist; ``finished``: the runs among these that ended by
    themselves. ``vnodes``, ``queues`` and ``server``: as they are now. ``gone_vnodes``: names of removed vnodes.
    ``readings``: what vnodes reported.
    """

    __slots__ = (
        "finished", "gone", "gone_vnodes", "queued", "queues", "readings", "running", "server", "time_s",
        "vnodes",
    )  # fmt: skip

    def __init__(
        self,
        time_s: float,
        queued: Sequence[Job] = (),
        running: Sequence[Run] = (),
        gone: Sequence[str] = (),
        vnodes: Sequence[Vnode] = (),
        gone_vnodes: Sequence[str] = (),
        queues: Sequence[Queue] = (),
        server: Server | None = None,
        readings: Mapping[str, Reading] = MappingProxyType({}),
        finished: Sequence[Finished] = (),
    ) -> None:
        self.time_s: Final = time_s
        self.queued: Final = queued
        self.running: Final = running
        self.gone: Final = gone
        self.vnodes: Final = vnodes
        self.gone_vnodes: Final = gone_vnodes
        self.queues: Final = queues
        self.server: Final = server
        self.readings: Final = readings
        self.finished: Final = finished

    @property
    def changes_more_than_jobs(self) -> bool:
        """Whether vnodes, queues, the server or readings are other than before."""
        return bool(self.vnodes or self.gone_vnodes or self.queues or self.server is not None or self.readings)


class Snapshot:
    """Vnodes, queues, waiting jobs and runs at ``time_s`` (seconds, any epoch), and ``finished``, the runs that have
    ended since the snapshot before. Make one with :meth:`build`."""

    __slots__ = ("_cluster", "_delta", "_next", "finished", "time_s")

    def __init__(self, time_s: float, cluster: ClusterIndex, finished: Sequence[Finished] = ()) -> None:
        self.time_s = time_s
        self.finished = finished
        self._cluster = cluster
        self._next: Snapshot | None = None
        self._delta: list[Op] = []

    @classmethod
    def build(
        cls,
        time_s: float,
        vnodes: Iterable[Vnode] = (),
        queues: Iterable[Queue] = (),
        jobs: Iterable[Job] = (),
        runs: Iterable[Run] = (),
        server: Server = Server(),  # noqa: B008 - a frozen value
        readings: Mapping[str, Reading] = MappingProxyType({}),
        finished: Sequence[Finished] = (),
    ) -> Snapshot:
        """A snapshot from its parts, in any order."""
        return cls(time_s, ClusterIndex(vnodes, queues, jobs, runs, server, readings), finished)

    def cluster(self) -> ClusterIndex:
        """The shared cluster index, brought to this version. Valid until another version is used."""
        if self._next is not None:
            path: list[Snapshot] = [self]
            while path[-1]._next is not None:
                path.append(path[-1]._next)
            cluster = self._cluster
            for newer, older in zip(path[::-1], path[-2::-1]):
                newer._delta = cluster.perform(older._delta)
                newer._next = older
                older._next, older._delta = None, []
        return self._cluster

    def fork(self) -> Snapshot:
        """An equal snapshot with a cluster index of its own. Where many versions are made and all given up, that is
        cheaper than to come back to this one."""
        return Snapshot(self.time_s, self.cluster().copy(), self.finished)

    def after(self, undo: list[Op], time_s: float | None = None, finished: Sequence[Finished] = ()) -> Snapshot:
        """The version for the cluster index as it is now, changed in place since :meth:`cluster`; ``undo`` leads back
        to this version."""
        newer = Snapshot(self.time_s if time_s is None else time_s, self._cluster, finished)
        self._delta = undo
        self._next = newer
        return newer

    def apply(self, changes: Changes) -> Snapshot:
        """The snapshot after the changes; this one is unaffected."""
        cluster = self.cluster()
        undo: list[Op] = []
        for job_id in changes.gone:
            undo.append(("runs", job_id, cluster.set_run(job_id, None)))
            if job_id in cluster.jobs:
                undo.append(("jobs", job_id, cluster.set_job(job_id, None)))
        for job in changes.queued:
            if job.id in cluster.runs:
                undo.append(("runs", job.id, cluster.set_run(job.id, None)))
            undo.append(("jobs", job.id, cluster.set_job(job.id, job)))
        for run in changes.running:
            if run.subjob is None and run.id in cluster.jobs:
                undo.append(("jobs", run.id, cluster.set_job(run.id, None)))
            undo.append(("runs", run.id, cluster.set_run(run.id, run)))
        if changes.changes_more_than_jobs:
            ops: list[Op] = [("server", "", changes.server)] if changes.server is not None else []
            ops += [("vnodes", name, None) for name in changes.gone_vnodes]
            ops += [("vnodes", vnode.name, vnode) for vnode in changes.vnodes]
            ops += [("queues", queue.name, queue) for queue in changes.queues]
            ops += [("readings", name, reading) for name, reading in changes.readings.items()]
            undo += reversed(cluster.perform(ops))
        undo.reverse()
        return self.after(undo, changes.time_s, changes.finished)

    @property
    def server(self) -> Server:
        """The server's own limits and consumables."""
        return self.cluster().server

    @property
    def vnodes(self) -> dict[str, Vnode]:
        """Vnodes by name (a copy)."""
        return dict(self.cluster().vnodes)

    @property
    def queues(self) -> dict[str, Queue]:
        """Queues by name (a copy)."""
        return dict(self.cluster().queues)

    @property
    def jobs(self) -> dict[str, Job]:
        """Waiting jobs by id (a copy)."""
        return dict(self.cluster().jobs)

    @property
    def runs(self) -> dict[str, Run]:
        """Runs by id (a copy)."""
        return dict(self.cluster().runs)

    @property
    def readings(self) -> dict[str, Reading]:
        """The last reading of each vnode, by name (a copy)."""
        return dict(self.cluster().readings)

    def use(self, queue: str, counted: str = "ncpus") -> dict[EntityKey, int]:
        """What the queue's runs hold of the counted resource, by user, group and project, and in all."""
        return dict(self.cluster().use_in(queue, counted))

    def idle_cores(self) -> int:
        """Idle cores on the vnodes that take jobs, without those that a window keeps now, such as a running
        reservation."""
        cluster = self.cluster()
        windows = windows_of(cluster, self.time_s, 0.0)
        return cluster.capacity.idle(-1) if windows is None else windows.idle_now(cluster.capacity, -1, self.time_s)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        return self._parts() == other._parts()

    def _parts(self) -> tuple[object, ...]:
        cluster = self.cluster()
        tables = (cluster.vnodes, cluster.queues, cluster.jobs, cluster.runs, cluster.readings)
        return (self.time_s, cluster.server, tuple(self.finished), *(dict(table) for table in tables))

    __hash__ = None  # type: ignore[assignment]  # a cluster is no key

    def __repr__(self) -> str:
        return (
            f"Snapshot(time_s={self.time_s}, {len(self.vnodes)} vnodes, {len(self.runs)} runs, {len(self.jobs)} jobs)"
        )
