"""A centre in memory: targets that keep to the protocol, a network that loses, delays and repeats, a local scheduler,
and a source whose process may end at any step."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from migration.config.cluster_file import Cluster, ClusterFile, Here, Limits
from migration.passes.source.notes_on_other_clusters import read_notes
from migration.passes.source.source_context import Source
from migration.passes.source.source_pass import source_pass
from migration.passes.source.take_in_submissions_and_stops import SUBMIT
from migration.protocol.ask_cluster_over_ssh import FailedReply, NoReply
from migration.protocol.questions import ACCEPT, AVAIL, QUERY, STOP, WITHDRAW, About, Hand, Query
from migration.protocol.replies import (
    Busy,
    Failed,
    Refused,
    Reply,
    State,
    States,
    Taken,
    Unknown,
    reply_from_data,
    reply_to_data,
)
from migration.schedulers.scheduler_interface import (
    ENDED,
    HELD,
    QUEUED,
    RUNNING,
    Ended,
    JobState,
    LocalJob,
    SchedulerSilent,
    Verdict,
)
from migration.spool.drop_box import drop, make_drop_box
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.available_to_other_clusters import Answer, FreeNodes, Shape, make_answer
from policy.migration.job_record_and_copy_updates import Record, advance, amend
from policy.migration.job_states_and_transitions import FINAL
from policy.migration.place_on_first_free_cluster import Placements

USER = pwd.getpwuid(os.getuid()).pw_name
GOOD, LOST, UNANSWERED, DELAYED, REPEATED = NETWORK = ("good", "lost", "unanswered", "delayed", "repeated")


class Kill(BaseException):
    """The source's process ends here."""


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Target:
    """A cluster that keeps to the protocol. ``started`` are the runs that it has begun."""

    name: str
    clock: Clock
    cores: int = 8
    records: dict[str, Record] = field(default_factory=dict)
    withdrawn: dict[str, int] = field(default_factory=dict)
    started: list[str] = field(default_factory=list)
    landing: str = "writable"
    busy: bool = False
    refuses: bool = False
    paused: bool = False

    def reply(self, verb: str, body: Mapping[str, Any] | None) -> Reply:
        now = self.clock()
        if verb == AVAIL:
            return self._answer()._replace(landing=self.landing if body else "")
        if verb == QUERY:
            gids = Query.from_data(body).gids
            known = [self.records[gid] for gid in gids if gid in self.records]
            return States(tuple(known), tuple(gid for gid in gids if gid not in self.records))
        if verb == ACCEPT:
            return self._accept(Hand.from_data(body, now).record)
        about = About.from_data(body)
        record = self.records.get(about.gid)
        if record is not None and record.attempt == about.attempt:
            if verb == STOP:
                self._stop(record, about.discard)
            return State(self.records[about.gid])
        if verb == WITHDRAW:
            if record is not None and record.attempt < about.attempt and self._has(record):
                return State(record)
            if record is None or record.attempt < about.attempt:
                self.records.pop(about.gid, None)
                self.withdrawn[about.gid] = max(about.attempt, self.withdrawn.get(about.gid, 0))
        return Unknown(about.gid, about.attempt)

    def advance(self, gid: str, event: str, **changes: Any) -> None:
        """A step of the job at the target; one that the table does not have is left out."""
        record = self.records[gid]
        if event == "start":
            if record.state == "Submitted" and record.localid and not record.ran:
                self.started.append(gid)
                self.records[gid] = amend(record, ran=1)
            return
        if event == "given-back" and record.ran:
            return
        try:
            self.records[gid] = advance(record, event, self.clock(), **changes)
        except ValueError:
            return

    def alive(self, gid: str) -> bool:
        record = self.records.get(gid)
        return record is not None and record.state not in FINAL and record.state not in ("Requested", "Downloading")

    @staticmethod
    def _has(record: Record) -> bool:
        """Whether it is neither over nor given back."""
        return record.state not in FINAL and record.state != "Requested"

    def _accept(self, record: Record) -> Reply:
        there = self.records.get(record.gid)
        if there is not None and there.attempt == record.attempt and self._has(there):
            return Taken(there, "key")
        newest = max(self.withdrawn.get(record.gid, 0), there.attempt if there is not None else 0)
        if newest >= record.attempt or (there is not None and there.state != "Requested"):
            return Refused("old", "that attempt is closed", lasting=False)
        if self.refuses:
            return Refused("account", "no account", lasting=True)
        if self.busy or record.cores > self._answer().avail:
            return Busy("just filled", self._answer())
        self.records[record.gid] = advance(
            record, "accepted", self.clock(), dstdir=f"/landing{record.dir}", datakey="key"
        )
        return Taken(self.records[record.gid], "key")

    def _stop(self, record: Record, discard: bool) -> None:
        if record.state in FINAL or record.state == "Requested":
            return
        if record.state == "Downloading" and not discard:
            return
        event = "discard" if discard and record.state != "Waiting" else "stop"
        self.records[record.gid] = advance(record, event, self.clock(), then="Stopped")

    def _answer(self) -> Answer:
        used = sum(one.cores for one in self.records.values() if self.alive(one.gid))
        free = FreeNodes("pbs", self.cores, (Shape(1, max(0, self.cores - used), 10_000, 0),))
        return make_answer(self.name, free, [], 100)._replace(paused=self.paused)


class LocalQueue:
    """The scheduler at the source. Jobs start and end when the test says so. ``shows_ended``, as Slurm does for some
    minutes; ``forgets`` ended jobs, of which only the exit status in their folder is left, as PBS without a history."""

    kind = "pbs"

    def __init__(self, tick: Callable[[], None]) -> None:
        self.jobs: dict[str, JobState] = {}
        self.names: dict[str, str] = {}
        self.started: list[str] = []
        self.free_cores = 0
        self.silent = False
        self.shows_ended = False
        self.forgets = False
        self.exits: dict[str, str] = {}
        self._tick = tick

    def free(self) -> FreeNodes:
        self._speak()
        return FreeNodes("pbs", 8, (Shape(1, self.free_cores, 10_000, 0),))

    def would_start_now(self, job: LocalJob) -> Verdict:
        return Verdict(None)

    def submit(self, job: LocalJob) -> str:
        self._speak()
        job_id = f"{len(self.jobs) + 1}.s"
        self.jobs[job_id] = JobState(QUEUED)
        self.names[job_id] = job.name
        self._tick()
        return job_id

    def states(self, ids: Iterable[str]) -> Mapping[str, JobState]:
        self._speak()
        known = {one: self.jobs[one] for one in ids if one in self.jobs}
        return {one: job for one, job in known.items() if self.shows_ended or job.state != ENDED}

    def find_by_name(self, name: str, user: str) -> str | None:
        self._speak()
        return next((one for one, named in self.names.items() if named == name and self.jobs[one].state != ENDED), None)

    def find_ended_run(self, name: str, user: str) -> str | None:
        self._speak()
        ended = [one for one, job in self.jobs.items() if job.state == ENDED and job.runs and not self.forgets]
        return next((one for one in ended if self.names[one] == name), None)

    def hold(self, job_id: str, user: str) -> None:
        self._change(job_id, QUEUED, HELD)

    def release(self, job_id: str, user: str) -> None:
        self._change(job_id, HELD, QUEUED)

    def delete(self, job_id: str, user: str) -> None:
        self._speak()
        self.jobs[job_id] = self.jobs[job_id]._replace(state=ENDED)
        self._tick()

    def history(self, job_id: str) -> Ended | None:
        job = self.jobs.get(job_id)
        return None if job is None or self.forgets else Ended("0" if job.runs else "", bool(job.runs))

    def start(self, job_id: str) -> None:
        if self.jobs[job_id].state == QUEUED:
            self.jobs[job_id] = JobState(RUNNING, 1)
            self.started.append(self.gid_of(job_id))

    def end(self, job_id: str) -> None:
        if self.jobs[job_id].state == RUNNING:
            self.jobs[job_id] = JobState(ENDED, 1)
            if self.forgets:
                self.exits[self.gid_of(job_id)] = "0"

    def gid_of(self, job_id: str) -> str:
        return self.names[job_id].split("_")[1]

    def alive(self, gid: str) -> int:
        return sum(self.gid_of(one) == gid and job.state in (QUEUED, RUNNING) for one, job in self.jobs.items())

    def _change(self, job_id: str, old: str, new: str) -> None:
        self._speak()
        job = self.jobs[job_id]
        if job.state == old:
            self.jobs[job_id] = job._replace(state=new)
        self._tick()

    def _speak(self) -> None:
        self._tick()
        if self.silent:
            raise SchedulerSilent("no answer")


class Folders:
    def __init__(self, exits: Mapping[str, str]) -> None:
        self._exits = exits

    def prepare(self, record: Record, name: str) -> LocalJob:
        return LocalJob(name, record.user, record.demand, record.dir, f"{record.dir}/w", "/o", "/e")

    def read_exit(self, record: Record) -> str:
        return self._exits.get(record.gid, "")

    def clear(self, record: Record) -> None:
        pass


class KillableSpool(Spool):
    """Ends the process before or after any write."""

    def __init__(self, home: Path, tick: Callable[[], None]) -> None:
        super().__init__(home)
        self._tick = tick

    def _save(self, queue: Queue, records: dict[str, Record], lines: dict[str, str]) -> None:
        self._tick()
        super()._save(queue, records, lines)
        self._tick()


class Centre:
    """A source ``a`` with targets ``b`` and ``c``; each pass is a process of its own."""

    def __init__(self, home: Path, fallback_s: int = 3600, **limits: int) -> None:
        self.home = home
        self.clock = Clock()
        self.targets = {name: Target(name, self.clock) for name in ("b", "c")}
        self.queue = LocalQueue(self.tick)
        self.network: list[str] = []
        self.cut: set[str] = set()
        self.late: list[tuple[str, str, Mapping[str, Any] | None]] = []
        self.left: int | None = None
        self.garble: Callable[[Reply], Reply] | None = None
        self.calls: list[tuple[str, str]] = []
        others = tuple(Cluster(name, f"mg@{name}") for name in self.targets)
        here = Here(min_uid=0, allowed_roots=("/home",), refused_groups=())
        self.file = ClusterFile(
            Cluster("a", "mg@a", "pbs", landing="/scratch"), others, here, Limits(fallback_s=fallback_s, **limits)
        )
        make_drop_box(home / "incoming")

    def tick(self) -> None:
        """One step of the source's process."""
        if self.left is not None:
            if self.left == 0:
                raise Kill
            self.left -= 1

    def call(self, cluster: Cluster, verb: str, body: Mapping[str, Any] | None = None) -> Reply:
        self.tick()
        self.calls.append((cluster.name, verb))
        way = self.network.pop(0) if self.network else GOOD
        if cluster.name in self.cut or way == LOST:
            raise NoReply("timed out")
        if way == DELAYED:
            self.late.append((cluster.name, verb, body))
            raise NoReply("timed out")
        target = self.targets[cluster.name]
        if way == REPEATED:
            target.reply(verb, body)
        reply = target.reply(verb, body)
        self.tick()
        if way == UNANSWERED:
            raise NoReply("timed out")
        if self.garble is not None:
            reply = self.garble(reply)
        answered = reply_from_data(reply_to_data(reply, self.clock()), self.clock())
        if isinstance(answered, Failed):
            raise FailedReply(answered.text)
        return answered

    def deliver_late(self) -> None:
        """What was delayed reaches its target now; its sender has given up."""
        for name, verb, body in self.late:
            self.targets[name].reply(verb, body)
        self.late.clear()

    def source(self) -> Source:
        spool = KillableSpool(self.home, self.tick)
        return Source(
            spool, self.file, self.call, self.queue, Folders(self.queue.exits), read_notes(self.home), self.clock
        )

    def run_pass(self, kill_after: int | None = None) -> Placements | None:
        """One pass; None if its process was killed."""
        self.left = kill_after
        try:
            return source_pass(self.source())
        except Kill:
            return None
        finally:
            self.left = None

    def submit(self, cores: int = 4, **fields: Any) -> str:
        base: dict[str, Any] = {"do": SUBMIT, "dir": "/home/u/d", "prog": "p", "cores": cores, "walltime": 60}
        return drop(self.home / "incoming", [{**base, **fields}])

    def stop(self, gid: str, discard: str = "0") -> None:
        drop(self.home / "incoming", [{"do": "stop", "gid": gid, "discard": discard}])

    def where(self) -> dict[str, tuple[Queue, Record]]:
        spool = Spool(self.home)
        with spool.change() as change:
            return {one.gid: (queue, one) for queue in Queue for one in change.records(queue)}

    def record(self, gid: str = "a.1") -> Record:
        return self.where()[gid][1]

    def runs(self, gid: str) -> int:
        """How often a run of the job was begun anywhere."""
        return self.queue.started.count(gid) + sum(one.started.count(gid) for one in self.targets.values())

    def alive(self, gid: str) -> int:
        """Jobs of the request that run, or may start by themselves."""
        return self.queue.alive(gid) + sum(one.alive(gid) for one in self.targets.values())
