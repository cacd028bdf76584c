"""The demo cluster's vnodes, queues, quotas, schedulers and users, with hours of work before pbsteer begins.

Two managed queues with vnodes of their own: `workq`, and `gpu` in a partition with its own scheduler. They are set up
by qmgr lines such as an administrator would type, and warmed up without pbsteer, first come and whatever fits: so in
the first pass users are far over their quotas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hooks.pbs.custom_resources import PRIORITY, RESOURCES
from hooks.record.day_of_activity import Day, Events
from hooks.record.hourly_use import Entity
from policy.model.limit_attributes import GENERIC, parse_limits
from sim.demo.generated_submissions import (
    CORES_PER_VNODE,
    GPUS_PER_VNODE,
    MEMORY_PER_CORE_GB,
    OTHERS_QUOTA,
    PEOPLE,
    Load,
    Submission,
)
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.objects.jobs import SimJob
from sim.pbs_server.objects.moms import Use
from sim.pbs_server.requests.qmgr import run_line
from sim.pbs_server.scheduler import Scheduler
from sim.pbs_server.server import SimServer

SERVER_NAME = "demo"
COMMENT = "a simulated cluster: nothing here is real"
QUEUES = ("workq", "gpu")
PRIORITIES = {"gpu": {"u:alice": 10}}
"""Priorities by queue: a job within alice's quota preempts the jobs of the base class there."""

GPU_SHARE = 8
"""One in this many vnodes has GPUs."""

_HISTORY = "24:00:00"
_SCHED_INTERVAL_S = 120.0
_COUNT_INTERVAL_S = 60.0
_WARM_UP_S = 5 * 3600.0
_WARM_UP_VNODES = 256
"""A cluster with more vnodes is warmed up for less time, in proportion to its higher rate of jobs."""

CALM_WARM_UP_S = 24 * 3600.0
_CALM_INTERVAL_S = 600.0
_CALM_ROOMS = (1.0, 1.3)
"""In a calm warm-up jobs within their users' quotas start first, then jobs that are a little over."""

_HARDLY = Use(cpu_percent=12, memory_percent=9)
_FIRST_LOAD = 1.3
"""The jobs submitted at the very start, in multiples of the cores."""


def furnish(clock: Clock, vnodes: int) -> SimServer:
    """A server with this many idle vnodes and its queues in `drive`."""
    server = SimServer(SERVER_NAME, clock)
    server.resources["ngpus"] = ("long", "hnq")
    server.resources.update(RESOURCES)
    server.add_queue("workq")
    with_gpus = vnodes // GPU_SHARE
    digits = len(str(vnodes))
    for number in range(1, vnodes + 1):
        resources = {"ncpus": str(CORES_PER_VNODE), "mem": f"{CORES_PER_VNODE * MEMORY_PER_CORE_GB * 2}gb"}
        if number > vnodes - with_gpus:
            resources["ngpus"] = str(GPUS_PER_VNODE)
            server.add_vnode(f"g{number - vnodes + with_gpus:0{digits}}", resources, partition="gpu")
        else:
            server.add_vnode(f"n{number:0{digits}}", resources)
    for line in _set_up_lines(server):
        reply = run_line(server, line)
        if not reply.ok:
            raise RuntimeError(f"{line}: {reply.text}")
    return server


def _set_up_lines(server: SimServer) -> Iterator[str]:
    """An administrator's qmgr lines; each is generated after the one before has been executed."""
    yield f'set server comment = "{COMMENT}"'
    yield f"set server job_history_duration = {_HISTORY}"
    yield "create queue gpu queue_type = execution, partition = gpu, enabled = true, started = true"
    yield "create sched gpu partition = gpu"
    for queue in QUEUES:
        yield f"set queue {queue} resources_available.pbsteer_mode = drive"
        yield from _quota_lines(server, queue)
        for entity, priority in PRIORITIES.get(queue, {}).items():
            yield f"set queue {queue} max_run_res_soft.{PRIORITY} += [{entity}={priority}]"


def cores_of(server: SimServer, queue: str) -> int:
    """The cores of the vnodes that serve a queue."""
    partition = server.queues[queue].get("partition", "")
    vnodes = [vnode for vnode in server.vnodes.values() if vnode.texts.get("partition", "") == partition]
    return sum(int(vnode.texts["resources_available.ncpus"]) for vnode in vnodes)


def _quota_lines(server: SimServer, queue: str) -> Iterator[str]:
    cores = cores_of(server, queue)
    quotas = {f"u:{person.name}": person.gpu_quota if queue == "gpu" else person.quota for person in PEOPLE}
    for entity, share in {**quotas, "u:PBS_GENERIC": OTHERS_QUOTA}.items():
        if share:
            yield f"set queue {queue} max_run_res_soft.ncpus += [{entity}={max(round(share * cores / 16000), 1) * 16}]"


class Crowd:
    """The users: submits what the load draws, as the simulated time passes, and releases held jobs."""

    def __init__(self, server: SimServer, load: Load) -> None:
        self._server = server
        self._load = load
        self._cores = {queue: max(cores_of(server, queue), 1) for queue in QUEUES}
        self._waiting: dict[str, float] = {}
        self._counted_s = float("-inf")

    def arrive(self, queue: str) -> None:
        """Submit a job to the queue now, and put the next arrival on the clock."""
        self.submit(self._load.draw(queue, self._server.clock.now_s))
        gap_s = self._load.draw_gap_s(self._cores[queue], self._count_waiting(queue))
        self._server.clock.after(gap_s, lambda: self.arrive(queue))

    def rush(self, queue: str) -> None:
        """Submit enough jobs at once to more than fill the queue's vnodes."""
        cores = 0
        while cores < _FIRST_LOAD * self._cores[queue]:
            job = self.submit(self._load.draw(queue, self._server.clock.now_s))
            cores += int(job.texts["Resource_List.ncpus"]) * max(len(job.indices), 1) if job else 0

    def submit(self, submission: Submission) -> SimJob | None:
        """One qsub; None if the server refuses it."""
        server = self._server
        try:
            job_id = server.submit(
                submission.user,
                submission.group,
                submission.attributes,
                submission.run_s,
                submission.exit_status,
                submission.use,
            )
        except PbsError:
            return None
        if submission.held_s:
            server.clock.after(submission.held_s, lambda: self._release_hold(job_id))
        return server.jobs[job_id]

    def _release_hold(self, job_id: str) -> None:
        if job_id in self._server.jobs and self._server.jobs[job_id].state == "H":
            self._server.release_job(job_id, "u")

    def _count_waiting(self, queue: str) -> float:
        """The cores requested by a queue's waiting jobs, in multiples of its cores, at most a minute old."""
        if self._server.clock.now_s >= self._counted_s + _COUNT_INTERVAL_S:
            self._counted_s = self._server.clock.now_s
            cores: Counter[str] = Counter()
            for job in self._server.jobs.values():
                if job.state in "QB":
                    each = int(job.texts["Resource_List.ncpus"])
                    cores[job.texts["queue"]] += each * (len(job.waiting) if job.is_array else 1)
            self._waiting = {name: cores[name] / self._cores[name] for name in QUEUES}
        return self._waiting[queue]


class Shares:
    """Says of a waiting job whether it would leave its user's use within `room` times the quota. Use is as of the last
    :meth:`count`, so jobs that start together may take a user a little beyond.
    """

    def __init__(self, server: SimServer, room: float) -> None:
        self._server = server
        self._room = room
        self._quotas = {
            queue: parse_limits(server.queues[queue]["max_run_res_soft.ncpus"], queue).entries for queue in QUEUES
        }
        self._used: Counter[tuple[str, str]] = Counter()

    def count(self) -> None:
        """Count the cores in use anew."""
        self._used.clear()
        for job in self._server.jobs.values():
            self._used[_whose(job)] += _cores(job) * _count_running(job)

    def stays_within(self, job: SimJob) -> bool:
        """Whether the user's use with the job would be that small."""
        queue, user = _whose(job)
        quotas = self._quotas[queue]
        quota = quotas.get(("u", user), quotas.get(("u", GENERIC), 0))
        return self._used[queue, user] + _cores(job) <= self._room * quota


def _whose(job: SimJob) -> tuple[str, str]:
    return job.texts["queue"], job.texts["euser"]


def _count_running(job: SimJob) -> int:
    """1 for a job that runs; for an array, how many of its subjobs run."""
    return sum(subjob.state == "R" for subjob in job.subjobs.values()) if job.is_array else int(job.state == "R")


def _cores(job: SimJob) -> int:
    return int(job.texts["Resource_List.ncpus"])


def warm_up(server: SimServer, crowd: Crowd, *, calm: bool = False) -> Day:
    """Let the cluster work for some hours under PBS's own schedulers; afterwards the default scheduler is disabled.

    They know no quotas, so the first passes preempt many jobs, unless it is to be `calm`: then it is a whole day, in
    which users stay near theirs, and the activity of that day is returned.
    """
    clock = server.clock
    schedulers = [Scheduler(server, name) for name in server.scheds]
    begun_s = clock.now_s
    for queue in QUEUES:
        crowd.rush(queue)
        crowd.arrive(queue)
    warm_s = _WARM_UP_S * min(1.0, _WARM_UP_VNODES / len(server.vnodes))
    shares = [Shares(server, room) for room in _CALM_ROOMS] if calm else []
    warm_s, interval_s = (CALM_WARM_UP_S, _CALM_INTERVAL_S) if calm else (warm_s, _SCHED_INTERVAL_S)
    day = Day()
    while clock.now_s < begun_s + warm_s:
        started = 0
        for each in shares:
            each.count()
            started += sum(scheduler.cycle(each.stays_within) for scheduler in schedulers)
        if not calm:
            for scheduler in schedulers:
                scheduler.cycle()
        clock.run_until(clock.now_s + interval_s)
        if calm:
            day = _seen(server, day, started)
    run_line(server, "set sched default scheduling = false")
    return day


def _seen(server: SimServer, day: Day, started: int) -> Day:
    """The day with one more sample of the server."""
    used = sum(vnode.assigned.get("ncpus", 0) for vnode in server.vnodes.values())
    total = sum(int(vnode.texts["resources_available.ncpus"]) for vnode in server.vnodes.values())
    jobs = server.jobs.values()
    running = sum(map(_count_running, jobs))
    events = Events(started, max(0, day.running + started - running))
    use: Counter[Entity] = Counter()
    for job in jobs:
        use[job.texts["queue"], "u", job.texts["euser"]] += _cores(job) * _count_running(job)
    return day.sampled(server.clock.now_s, used, total, events, running, use)


def leave_one_idle(server: SimServer) -> None:
    """Let the largest job that runs hardly use its cores, as after a mistake in its script."""
    runs = [job for job in server.jobs.values() if job.state == "R"]
    if runs:
        server.moms.change_use(max(runs, key=_cores).id, _HARDLY)


def break_vnodes(server: SimServer) -> None:
    """Set one vnode offline for a repair, and one down."""
    names = list(server.vnodes)
    offline, down = names[len(names) // 3], names[len(names) // 2]
    run_line(server, f"set node {offline} state = offline")
    run_line(server, f'set node {offline} comment = "fan 2 replaced tomorrow"')
    server.fail_vnode(down)
