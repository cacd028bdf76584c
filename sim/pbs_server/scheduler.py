"""A simulated pbs_sched without pbsteer: each cycle starts every job that fits, first come, first served.

It serves the queues and vnodes of its partition, knows no quotas and makes no reservations. It starts jobs through the
server, so the runjob hook runs for them.
"""

from __future__ import annotations

from collections.abc import Callable

from policy.model.job_request import Chunk, Request
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.objects.jobs import SimJob
from sim.pbs_server.objects.vnodes import show_amount
from sim.pbs_server.server import SimServer

_DEFAULT_PARTITION = "pbs-default"

Free = dict[str, int]


class Scheduler:
    """The running program of the scheduler object called `name`."""

    def __init__(self, server: SimServer, name: str) -> None:
        self._server = server
        self._name = name

    @property
    def active(self) -> bool:
        """Whether its `scheduling` is on."""
        texts = self._server.scheds.get(self._name, {})
        return texts.get("scheduling") == "True"

    def cycle(self, may_start: Callable[[SimJob], bool] = lambda _: True) -> int:
        """Start the jobs that fit, of those that ``may_start``; returns how many were started."""
        texts = self._server.scheds[self._name]
        texts["state"] = "idle"
        served = texts.get("partition", _DEFAULT_PARTITION)
        queues = {
            name for name, texts in self._server.queues.items()
            if texts.get("partition", _DEFAULT_PARTITION) == served and texts.get("started") == "True"
        }  # fmt: skip
        room = {
            name: vnode.free() for name, vnode in self._server.vnodes.items()
            if vnode.texts.get("partition", _DEFAULT_PARTITION) == served and vnode.state == "free"
        }  # fmt: skip
        consumables = self._server.consumables
        started = 0
        too_large: set[Request] = set()
        for job in [job for job in self._server.jobs.values() if job.state in "QB" and job.texts["queue"] in queues]:
            if not may_start(job):
                continue
            request = job.request(consumables)
            for job_id in _startable(job):
                where = None if request in too_large else _place(request, room)
                if where is None:
                    too_large.add(request)
                    break
                started += self._start(job_id, where)
        return started

    def _start(self, job_id: str, exec_vnode: str) -> int:
        try:
            self._server.run_job(job_id, exec_vnode)
        except PbsError as error:
            self._server.alter_job(job_id, {"comment": f"Not Running: PBS Error: {error.text}"}, "Scheduler")
            return 0
        return 1


def _startable(job: SimJob) -> list[str]:
    return [job.subjob_id(index) for index in job.waiting] if job.is_array else [job.id]


def _place(request: Request, room: dict[str, Free]) -> str | None:
    """The `exec_vnode` of a request. Takes its amounts out of `room`, and drops vnodes without cores; None, with `room`
    unchanged, if the chunks do not all fit.
    """
    taken: list[tuple[str, Chunk]] = []
    spread = request.place in ("scatter", "vscatter")
    for chunk in request.chunks:
        left = chunk.pieces
        for name, free in room.items():
            if not left:
                break
            if spread and any(name == vnode for vnode, _ in taken):
                continue
            fitting = min((free.get(resource, 0) // amount for resource, amount in chunk.amounts), default=0)
            if fitting < 1:
                continue
            for _ in range(min(left, fitting, 1 if spread else fitting)):
                _take(free, chunk, 1)
                taken.append((name, chunk))
                left -= 1
        if left:
            for name, part in taken:
                _take(room[name], part, -1)
            return None
    for name in {name for name, _ in taken if room[name].get("ncpus", 0) < 1}:
        del room[name]
    return "+".join(
        "(" + ":".join([name, *(f"{resource}={show_amount(resource, n)}" for resource, n in chunk.amounts)]) + ")"
        for name, chunk in taken
    )


def _take(free: Free, chunk: Chunk, times: int) -> None:
    for resource, amount in chunk.amounts:
        free[resource] -= amount * times
