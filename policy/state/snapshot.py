"""The cluster at one moment, and how it becomes the cluster at the next.

A snapshot is a value: changes give a new one and leave it as it was. All versions of one cluster share a single
:class:`~policy.state.cluster_index.World` of orders and counts, which belongs to the version used last; using another
version first carries it there by the changes between the two (Baker's rerooting, "Shallow binding makes functional
arrays fast", 1991). Going forward, which is what servers and simulators do, costs no more than the changes themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from policy.model.cluster import Finished, Job, Queue, Reading, Run, Server, Vnode
from policy.model.limits import EntityKey
from policy.state.cluster_index import Op, World
from policy.state.windows import windows_of


class Changes(NamedTuple):
    """What happened until ``time_s``: jobs that wait now (new, altered or requeued), runs that run now (started or
    altered), ids that are gone for good, vnodes and queues as they are now, vnodes that are no longer there, what
    vnodes reported, and the runs among the gone that ended by themselves."""

    time_s: float
    queued: Sequence[Job] = ()
    running: Sequence[Run] = ()
    gone: Sequence[str] = ()
    vnodes: Sequence[Vnode] = ()
    gone_vnodes: Sequence[str] = ()
    queues: Sequence[Queue] = ()
    server: Server | None = None
    readings: Mapping[str, Reading] = MappingProxyType({})
    finished: Sequence[Finished] = ()


class Snapshot:
    """Vnodes, queues, waiting jobs and runs at ``time_s`` (seconds, any epoch), and ``finished``, the runs that have
    ended since the snapshot before. Make one with :meth:`build`."""

    __slots__ = ("_delta", "_next", "_world", "finished", "time_s")

    def __init__(self, time_s: float, world: World, finished: Sequence[Finished] = ()) -> None:
        self.time_s = time_s
        self.finished = finished
        self._world = world
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
        return cls(time_s, World(vnodes, queues, jobs, runs, server, readings), finished)

    def world(self) -> World:
        """The shared orders and counts, carried to this version. Valid until another version is used."""
        if self._next is not None:
            path: list[Snapshot] = [self]
            while path[-1]._next is not None:
                path.append(path[-1]._next)
            world = self._world
            for newer, older in zip(path[::-1], path[-2::-1]):
                newer._delta = world.perform(older._delta)
                newer._next = older
                older._next, older._delta = None, []
        return self._world

    def after(self, undo: list[Op], time_s: float | None = None, finished: Sequence[Finished] = ()) -> Snapshot:
        """The version that the world, changed in place since :meth:`world`, is now; ``undo`` leads back to this one."""
        newer = Snapshot(self.time_s if time_s is None else time_s, self._world, finished)
        self._delta = undo
        self._next = newer
        return newer

    def apply(self, changes: Changes) -> Snapshot:
        """The snapshot after the changes; this one stays what it is."""
        time_s, queued, running, gone, vnodes, gone_vnodes, queues, server, readings, finished = changes
        world = self.world()
        undo: list[Op] = []
        for job_id in gone:
            undo.append(("runs", job_id, world.set_run(job_id, None)))
            if job_id in world.jobs:
                undo.append(("jobs", job_id, world.set_job(job_id, None)))
        for job in queued:
            if job.id in world.runs:
                undo.append(("runs", job.id, world.set_run(job.id, None)))
            undo.append(("jobs", job.id, world.set_job(job.id, job)))
        for run in running:
            if run.subjob is None and run.id in world.jobs:
                undo.append(("jobs", run.id, world.set_job(run.id, None)))
            undo.append(("runs", run.id, world.set_run(run.id, run)))
        if vnodes or gone_vnodes or queues or server is not None or readings:
            ops: list[Op] = [("server", "", server)] if server is not None else []
            ops += [("vnodes", name, None) for name in gone_vnodes]
            ops += [("vnodes", vnode.name, vnode) for vnode in vnodes]
            ops += [("queues", queue.name, queue) for queue in queues]
            ops += [("readings", name, reading) for name, reading in readings.items()]
            undo += reversed(world.perform(ops))
        undo.reverse()
        return self.after(undo, time_s, finished)

    @property
    def server(self) -> Server:
        """The server's own limits and consumables."""
        return self.world().server

    @property
    def vnodes(self) -> dict[str, Vnode]:
        """Vnodes by name (a copy)."""
        return dict(self.world().vnodes)

    @property
    def queues(self) -> dict[str, Queue]:
        """Queues by name (a copy)."""
        return dict(self.world().queues)

    @property
    def jobs(self) -> dict[str, Job]:
        """Waiting jobs by id (a copy)."""
        return dict(self.world().jobs)

    @property
    def runs(self) -> dict[str, Run]:
        """Runs by id (a copy)."""
        return dict(self.world().runs)

    @property
    def readings(self) -> dict[str, Reading]:
        """What each vnode reported last, by name (a copy)."""
        return dict(self.world().readings)

    def use(self, queue: str, counted: str = "ncpus") -> dict[EntityKey, int]:
        """What the queue's runs hold of the counted resource, by user, group and project, and in all."""
        return dict(self.world().use_in(queue, counted))

    def idle_cores(self) -> int:
        """Idle cores on the vnodes that take jobs, but for those that a reservation which runs keeps."""
        world = self.world()
        windows = windows_of(world, self.time_s, 0.0)
        return world.capacity.idle(-1) if windows is None else windows.idle_now(world.capacity, -1, self.time_s)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        return self._parts() == other._parts()

    def _parts(self) -> tuple[object, ...]:
        world = self.world()
        tables = (world.vnodes, world.queues, world.jobs, world.runs, world.readings)
        return (self.time_s, world.server, tuple(self.finished), *(dict(table) for table in tables))

    __hash__ = None  # type: ignore[assignment]  # a cluster is no key

    def __repr__(self) -> str:
        return (
            f"Snapshot(time_s={self.time_s}, {len(self.vnodes)} vnodes, {len(self.runs)} runs, {len(self.jobs)} jobs)"
        )
