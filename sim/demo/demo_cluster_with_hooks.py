"""The demo cluster: a simulated PBS server with users, on which the real hooks decide and act.

The hook files are those that would be imported into PBS, so passes do what they would do on a server. Safe for several
threads; no call takes much longer than `BUDGET_S` or, where that is longer, one pass.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hooks.deploy.bundle_hook import EVENTS, build
from hooks.pbs.server_status_type_and_attributes import (
    JOB_ATTRIBUTES,
    NAME,
    QUEUE_ATTRIBUTES,
    SCHED_ATTRIBUTES,
    SERVER_ATTRIBUTES,
    VNODE_ATTRIBUTES,
    Attributes,
    ServerStatus,
)
from hooks.record.day_of_activity import Day
from hooks.store.hook_settings import show_config
from hooks.store.state_files import DAY, LAST_PASS, State
from hooks.store.state_folder import state_folder
from policy.model.ledger_between_passes import Ledger, LedgerError
from policy.settings.site_settings import Settings
from sim.demo.generated_submissions import Load
from sim.demo.scratch_folder import Scratch
from sim.demo.site_setup_and_warm_up import (
    CALM_WARM_UP_S,
    GPU_SHARE,
    SERVER_NAME,
    Crowd,
    break_vnodes,
    cores_of,
    furnish,
    leave_one_idle,
    warm_up,
)
from sim.demo.trace_on_demo_cluster import Arrivals, furnish_for
from sim.hookenv.hook_runner import HookSite
from sim.pbs_server.objects.attributes import split_key
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.requests.client_programs import run_program
from sim.pbs_server.requests.qmgr import Reply
from sim.pbs_server.requests.status_requests import (
    Stat,
    stat_jobs,
    stat_queues,
    stat_resources,
    stat_scheds,
    stat_server,
    stat_vnodes,
)
from sim.pbs_server.scheduler import Scheduler
from sim.pbs_server.sensors import Sensors
from sim.pbs_server.server import SimServer
from sim.workload.workload import Workload

SPEEDS = (1.0, 1000.0)
DEFAULT_SPEED = 10.0
BUDGET_S = 0.05
"""Real seconds after which a call stops moving the clock; the rest of its time is dropped."""

BEGIN_S = 1_772_442_000.0
"""The start of the demo in seconds since 1970: a Monday, at 9:00 UTC. It is fixed, so that a seed always gives the same
events.
"""

_CALM_PASSES = 3
"""The passes made before a calm demo is first seen: they fill the cores that the warm-up left idle."""

_SCHED_INTERVAL_S = 60.0
_STATS: Mapping[str, Callable[[SimServer, str], Stat]] = {
    "queue": stat_queues,
    "server": lambda server, _name: stat_server(server),
    "vnode": stat_vnodes,
    "job": stat_jobs,
}


class DemoCluster:
    """One demo cluster. `settings` are the hooks'; `jobs`, where given, is how many jobs wait at the start.

    A `calm` one begins on a Monday at nine in the morning, a day into its work and after its first passes, with nobody
    far over a quota.

    It begins some hours into its work, with running and waiting jobs, before the first pass. With a `trace` it is the
    cluster on which that was recorded, empty, and the jobs arrive as they did. Call `close` when done with it.
    """

    def __init__(
        self,
        seed: int = 1,
        vnodes: int = 128,
        jobs: int | None = None,
        settings: Settings | None = None,
        speed: float = DEFAULT_SPEED,
        trace: Workload | None = None,
        *,
        calm: bool = False,
    ) -> None:
        if vnodes < 16:
            raise ValueError(f"vnodes {vnodes}: must be 16 or more")
        self.name = SERVER_NAME
        self.settings = settings or Settings()
        self.paused = False
        self.passes = 0
        self._lock = threading.RLock()
        self._views: dict[str, tuple[Mapping[str, str], Attributes]] = {}
        self._scratch = Scratch("pbsteer-demo-")
        home = self._scratch.path
        self.set_speed(speed)
        clock = Clock(BEGIN_S - CALM_WARM_UP_S if calm else BEGIN_S)
        self._clock = clock
        day = Day()
        if trace is None:
            self.server, day = _server_with_people(clock, vnodes, seed, jobs, calm)
        else:
            self.server = _server_with(clock, trace)
        self.state_folder = state_folder(str(home))
        self._state = State(self.state_folder)
        config = home / "pbsteer.json"
        config.write_text(show_config(self.settings), encoding="utf-8")
        self._site = HookSite(self.server, {event: build(event) for event in EVENTS}, home, config)
        clock.after(self.settings.schedule.interval_s, self._pass)
        clock.after(_SCHED_INTERVAL_S, self._schedule)
        Sensors(self.server, self.settings.ranking).start()
        if calm:
            with self._state.locked():
                self._state.publish(DAY, day.to_data(), shared=True)
            clock.run_until(clock.now_s + _CALM_PASSES * self.settings.schedule.interval_s)

    # ---- time

    @property
    def now_s(self) -> float:
        """The simulated time, in seconds since 1970."""
        return self._clock.now_s

    def set_speed(self, speed: float) -> None:
        """Set how many simulated seconds pass in a real one; ValueError for less than 1 or more than 1,000."""
        if not SPEEDS[0] <= speed <= SPEEDS[1]:
            raise ValueError(f"speed {speed:g}: must be from {SPEEDS[0]:g} to {SPEEDS[1]:,.0f}")
        self.speed = speed

    def pause(self) -> None:
        """Stop the time; `step` still works."""
        self.paused = True

    def resume(self) -> None:
        """Let the time pass again."""
        self.paused = False

    def advance(self, real_seconds: float) -> float:
        """Move the time by `real_seconds` at the set speed; returns the simulated seconds that it moved.

        It moves less where `BUDGET_S` ran out: the cluster is then slower than its speed, but is never behind.
        """
        with self._lock:
            if self.paused or real_seconds <= 0:
                return 0.0
            begun_s, target_s = self._clock.now_s, self._clock.now_s + real_seconds * self.speed
            deadline = time.perf_counter() + BUDGET_S
            while self._clock.next_s <= target_s:
                self._clock.fire_next()
                if time.perf_counter() > deadline:
                    return self._clock.now_s - begun_s
            self._clock.run_until(target_s)
            return self._clock.now_s - begun_s

    def step(self) -> None:
        """Move the time until exactly one more pass has run, paused or not."""
        with self._lock:
            wanted = self.passes + 1
            while self.passes < wanted:
                self._clock.fire_next()

    # ---- looking and changing

    def server_status(self) -> ServerStatus:
        """The server status as the console's reader gets it. Later changes of the server do not show in it."""
        with self._lock:
            server = self.server
            name, texts = stat_server(server)[0]
            jobs = self._view_jobs()
            return ServerStatus(
                self._clock.now_s,
                {NAME: name, **_choose(texts, _SERVER_NAMES)},
                _view(stat_queues(server), _QUEUE_NAMES),
                {vnode: self._seen(f"v {vnode}", texts, _VNODE_NAMES) for vnode, texts in stat_vnodes(server)},
                jobs,
                dict(stat_resources(server)),
                _view(stat_scheds(server), _SCHED_NAMES),
            )

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """The attributes of one job, vnode or queue, or None where it does not exist or the job has ended; with the
        kind ``ended job`` also those of a job in the history.
        """
        with self._lock, contextlib.suppress(PbsError):
            if kind == "ended job":
                return dict(stat_jobs(self.server, name, "x")[0][1])
            return dict(_STATS[kind](self.server, name)[0][1])
        return None

    def finished(self, window_s: float) -> dict[str, Mapping[str, str]]:
        """The jobs in the history that ended in the last `window_s` simulated seconds."""
        with self._lock:
            since_s = self._clock.now_s - window_s
            return {
                job.id: job.texts
                for job in self.server.jobs.values()
                if job.state == "F" and float(job.texts["mtime"]) >= since_s
            }

    def used(self) -> dict[str, Mapping[str, str]]:
        """The `resources_used` of each job and subjob that runs."""
        with self._lock:
            ids = {job_id for vnode in self.server.vnodes.values() for job_id in vnode.jobs}
            return {job_id: self.server.moms.used(job_id) for job_id in ids}

    def run(self, argv: Sequence[str]) -> Reply:
        """Run one of PBS's programs as a manager of the simulated server."""
        with self._lock:
            return run_program(self.server, argv)

    def journal(self, count: int = 50) -> list[dict[str, Any]]:
        """The journal entries of the last passes, as the periodic hook wrote them, oldest first."""
        with self._lock:
            return self._state.read_journal(count)

    def ledger(self) -> Ledger:
        """The ledger that the periodic hook published last; an empty one before the first pass."""
        with self._lock:
            data = self._state.read_published(LAST_PASS).get("ledger")
            try:
                return Ledger.from_data(data) if data else Ledger()
            except LedgerError:
                return Ledger()

    def log(self) -> list[str]:
        """The simulated server's log, oldest line first, as far as it is kept."""
        with self._lock:
            return list(self.server.log)

    def close(self) -> None:
        """Remove the files of the hooks. The cluster can still be read, but its time not moved."""
        self.paused = True
        self._scratch.close()

    # ---- within

    def _pass(self) -> None:
        self._clock.after(self.settings.schedule.interval_s, self._pass)
        self._site.periodic()
        self.passes += 1

    def _schedule(self) -> None:
        """A cycle of PBS's own schedulers, which run once an administrator enables one, on leaving `drive`."""
        self._clock.after(_SCHED_INTERVAL_S, self._schedule)
        for name in list(self.server.scheds):
            scheduler = Scheduler(self.server, name)
            if scheduler.active:
                scheduler.cycle()

    def _view_jobs(self) -> dict[str, Attributes]:
        """Jobs and arrays that have not ended, and running subjobs; views of unchanged objects are reused."""
        jobs: dict[str, Attributes] = {}
        kept: dict[str, tuple[Mapping[str, str], Attributes]] = {}
        for job in self.server.jobs.values():
            if job.state == "F":
                continue
            for each in (job, *(subjob for subjob in job.subjobs.values() if subjob.state == "R")):
                jobs[each.id] = self._seen(each.id, each.texts, _JOB_NAMES)
                kept[each.id] = self._views[each.id]
        kept.update({key: view for key, view in self._views.items() if key.startswith("v ")})
        self._views = kept
        return jobs

    def _seen(self, key: str, texts: Mapping[str, str], names: Collection[str]) -> Attributes:
        before = self._views.get(key)
        if before is None or before[0] is not texts:
            self._views[key] = before = (texts, _choose(texts, names))
        return before[1]


def _server_with_people(clock: Clock, vnodes: int, seed: int, jobs: int | None, calm: bool) -> tuple[SimServer, Day]:
    """The demo's own site, some hours into its work, with `jobs` waiting jobs where given; and its day's activity."""
    server = furnish(clock, vnodes)
    load = Load(seed, cores_of(server, "workq"), cores_of(server, "gpu"))
    crowd = Crowd(server, load)
    day = warm_up(server, crowd, calm=calm)
    break_vnodes(server)
    if calm:
        leave_one_idle(server)
    waiting, number = sum(job.state in "QB" for job in server.jobs.values()), 0
    while jobs is not None and waiting < jobs:
        number += 1
        job = crowd.submit(load.draw("gpu" if number % GPU_SHARE == 0 else "workq", clock.now_s))
        waiting += job is not None and job.state == "Q"
    return server, day


def _server_with(clock: Clock, trace: Workload) -> SimServer:
    """The cluster on which a trace was recorded; its jobs arrive from now on."""
    server = furnish_for(clock, trace)
    if trace.cluster is not None:
        Arrivals(server, trace, trace.cluster).arrive()
    return server


_SERVER_NAMES = frozenset(SERVER_ATTRIBUTES)
_QUEUE_NAMES = frozenset(QUEUE_ATTRIBUTES)
_VNODE_NAMES = frozenset(VNODE_ATTRIBUTES)
_JOB_NAMES = frozenset(JOB_ATTRIBUTES)
_SCHED_NAMES = frozenset(SCHED_ATTRIBUTES)


def _choose(texts: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """The attributes that the reader requests from a server."""
    return {key: text for key, text in texts.items() if split_key(key)[0] in names}


def _view(objects: Stat, names: Collection[str]) -> dict[str, Attributes]:
    return {name: _choose(texts, names) for name, texts in objects}
