"""PBS as a local scheduler, through its own programs.

PBS cannot test whether a job would start now, so free cores are counted. Where pbsteer starts the queue's jobs, its own
decision is the test, and its last pass has the reserved and earmarked cores; elsewhere those reserved for the head are
known only if the scheduler writes estimates (``estimated.start_time``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from hooks.pbs.custom_resources import DEFAULT_PARTITION
from hooks.pbs.files_and_output.json_output import read_json
from hooks.store.state_folder import state_folder
from migration.programs.run_external_program_with_limits import NOT_STARTED, TIMED_OUT, TOO_MUCH, Finished, Run
from migration.schedulers.pbs_job_texts import (
    JobTexts,
    end_of,
    number_of,
    parse_seconds,
    read_jobs,
    run_of,
    start_s_of,
)
from migration.schedulers.scheduler_interface import (
    ENDED,
    HELD,
    QUEUED,
    RUNNING,
    Ended,
    JobState,
    LocalJob,
    RequestUnanswered,
    SchedulerSilent,
    SubmitRefused,
    SubmitUnclear,
    Verdict,
    find_submitted,
)
from policy.migration.available_to_other_clusters import FreeNodes, Shape, reserved_for_head
from policy.migration.job_demand import Demand
from policy.model.pbs_units import parse_measure, parse_size_kib
from policy.state.vnode_totals_hosts_and_matching import is_what

if TYPE_CHECKING:
    from migration.schedulers.pbsteer_earmarks_and_would_start import LastPass

_UNUSABLE = frozenset(
    (
        "offline", "down", "stale", "Stale", "unknown", "state-unknown", "provisioning", "wait-provisioning",
        "maintenance", "sleep", "job-exclusive", "resv-exclusive", "unresolvable", "initializing",
    )
)  # fmt: skip
_STATES = {"Q": QUEUED, "W": QUEUED, "T": QUEUED, "M": QUEUED, "H": HELD, "F": ENDED, "X": ENDED}
_NO_HISTORY = "not configured to maintain job history"
_GONE = ("Unknown Job Id", "illegally formed job identifier", "Job has finished", _NO_HISTORY)
_SILENT = (
    "cannot connect to server", "Unknown Host", "No route to host", "Connection refused", "End of File", "timed out",
    "Premature end of message",
)  # fmt: skip
_FOR_NOW = (
    "would exceed", "not enabled", "not running", "Maximum number of jobs", "Server shutting down", "limit",
    "inform Admin", "Invalid credential", "Expired credential", "System error", "internal error", "Failed to save job",
    "No free connections", "connection table full", "protocol error", "out of memory", "tmp file",
    "writing copy of script", "requested ID already exists",
)  # fmt: skip
"""What PBS says while it has no room or time for the job. "inform Admin": a hook ended by its alarm, or failed. It is
the server that chooses an id: the next one may be free."""
_FOR_GOOD = ("violates queue",)
_SERVER_ERRORS = frozenset(code & 0xFF for code in (*range(15001, 15101), *range(15107, 15230)))
"""``qsub`` ends with the last byte of the error number with which the server has answered (PBS's ``pbs_error.h``). Not
among them are 1, 2, 126 and 127 of a shell, and what it and the root helper make of a signal, 128 and its number."""
_OWN_ERRORS = (1, 2)
"""How ``qsub`` ends for what it finds itself; a site's program in its place may end so too."""
_MOST_JOBS_READ = 5_000
"""Above this many jobs, reading the estimates of all of them costs too much."""
_MOST_ONE_BY_ONE = 20
_LAST_PASS = "last-pass.json"  # noqa: S105 - what pbsteer's passes publish
_Texts = Mapping[str, Any]
"""A queue's or a vnode's attributes, in PBS's JSON."""


class PbsScheduler:
    """PBS with the queue in which guests land."""

    kind = "pbs"

    def __init__(
        self, run: Run, queue: str, timeout_s: float = 60, *, pbs_home: str = "", pbs_exec: str = "/opt/pbs"
    ) -> None:
        """``pbs_home`` is where pbsteer's passes write; empty, there are none."""
        self._run = run
        self._queue = queue
        self._timeout_s = timeout_s
        self._pbs_home = pbs_home
        self._pbs_exec = pbs_exec

    def free(self) -> FreeNodes:
        """What is idle on vnodes open to the queue."""
        queues = self._json(["qstat", "-Q", "-f", "-F", "json"]).get("Queue", {})
        queue = queues.get(self._queue)
        if queue is None:
            raise SchedulerSilent(f"PBS has no queue {self._queue!r}; cluster.toml names it as the landing queue")
        # Without -v a host of several vnodes is one entry, whose differing states and queues are "<various>".
        nodes = self._json(["pbsnodes", "-a", "-v", "-F", "json"]).get("nodes", {})
        open_to = _find_open(nodes, self._queue, queue)
        usable = {name: _shape(node) for name, node in open_to.items() if _is_usable(node)}
        if queue.get("enabled") != "True" or queue.get("started") != "True":
            usable = {}
        shapes: dict[Shape, int] = {}
        for shape in _sum_by_host(nodes, usable):
            if shape.cores > 0:
                shapes[shape] = shapes.get(shape, 0) + 1
        free = FreeNodes(
            self.kind,
            sum(int(node.get("resources_available", {}).get("ncpus", 0)) for node in nodes.values()),
            tuple(shape._replace(nodes=count) for shape, count in sorted(shapes.items())),
            max_walltime_s=parse_seconds(queue.get("resources_max", {}).get("walltime")),
        )
        last = self._last_pass()
        if last is not None:
            free = free._replace(earmarked=last.count_earmarked({name: shape.cores for name, shape in usable.items()}))
        if sum(int(one.get("total_jobs", 0)) for one in queues.values()) > _MOST_JOBS_READ:
            return free
        return self._with_head(free, last)

    def would_start_now(self, job: LocalJob) -> Verdict:
        """What a pass of pbsteer would decide now, where it starts the jobs of the queue; PBS itself has no test."""
        last = self._last_pass()
        if last is None or self._queue not in last.driven:
            return Verdict(None)
        from migration.schedulers import pbsteer_earmarks_and_would_start as pbsteer  # noqa: PLC0415 - as below

        status = pbsteer.read_status(self._run, self._pbs_exec, self._timeout_s)
        return pbsteer.would_start(status, last, job, self._queue, select_of(job.demand)) if status else Verdict(None)

    def submit(self, job: LocalJob) -> str:
        """``qsub`` in the job's folder, with names relative to it: PBS takes a colon in a path for a host's end.

        With ``-f`` it submits by itself. Else it hands the job to a process that listens at a known path below
        ``/var/tmp``, and takes any user's for its own.
        """
        done = self._call(
            [
                "qsub", "-f", "-N", job.name, "-q", self._queue, "-l", f"select={select_of(job.demand)}",
                "-l", "place=scatter" if job.demand.nodes else "place=free", "-l", f"walltime={job.demand.walltime_s}",
                "-o", _relative(job.out, job.cwd), "-e", _relative(job.err, job.cwd), "-r", "y", "--", job.wrapper,
            ],
            user=job.user, cwd=job.cwd,
        )  # fmt: skip
        text = done.problem
        is_for_now = any(part in text for part in _FOR_NOW) and not any(part in text for part in _FOR_GOOD)
        if done.status in _SERVER_ERRORS or (done.status in _OWN_ERRORS and is_for_now):
            raise SubmitRefused(text, lasting=not is_for_now)
        if done.status:
            raise SubmitUnclear(f"qsub: {text}")
        return find_submitted(self, job)

    def states(self, ids: Iterable[str]) -> Mapping[str, JobState]:
        """Job by job; of many jobs, all of the queue at once, and job by job those that are not in it. Jobs that PBS
        does not know are left out.
        """
        wanted = list(dict.fromkeys(ids))
        jobs = self._jobs([self._queue]) if len(wanted) > _MOST_ONE_BY_ONE else {}
        found: dict[str, JobState] = {}
        for job_id in wanted:
            job = jobs.get(job_id) or self._job(job_id)
            if job is not None:
                state = _STATES.get(job.get("job_state", ""), RUNNING)
                found[job_id] = JobState(state, number_of(job, "run_count"), job.get("comment", ""))
        return found

    def find_by_name(self, name: str, user: str) -> str | None:
        """``qselect`` by name and owner."""
        done = self._answered(["qselect", "-N", name, "-u", user])
        ids = done.text.split()
        return ids[0] if ids else None

    def find_ended_run(self, name: str, user: str) -> str | None:
        """``qselect -x``, where PBS's job history is on."""
        done = self._call(["qselect", "-x", "-N", name, "-u", user])
        if done.status and _NO_HISTORY not in done.problem:
            raise SchedulerSilent(f"qselect: {done.problem}")
        ended = {job_id: self.history(job_id) for job_id in done.text.split()}
        return next((job_id for job_id, one in ended.items() if one is not None and one.ran), None)

    def hold(self, job_id: str, user: str) -> None:
        """``qhold``, as the user."""
        self._change(["qhold", "-h", "u", job_id], user)

    def release(self, job_id: str, user: str) -> None:
        """``qrls``, as the user."""
        self._change(["qrls", "-h", "u", job_id], user)

    def delete(self, job_id: str, user: str) -> None:
        """``qdel``, as the user."""
        self._change(["qdel", job_id], user)

    def history(self, job_id: str) -> Ended | None:
        """What PBS remembers, where its job history is on."""
        job = self._job(job_id, "-x")
        return end_of(job) if job is not None else None

    def _last_pass(self) -> LastPass | None:
        if not self._pbs_home or not os.access(state_folder(self._pbs_home) / _LAST_PASS, os.R_OK):
            return None
        from migration.schedulers import pbsteer_earmarks_and_would_start as pbsteer  # noqa: PLC0415 - loads the policy

        return pbsteer.read_last_pass(self._pbs_home, time.time())

    def _with_head(self, free: FreeNodes, last: LastPass | None) -> FreeNodes:
        """The answer with the cores reserved for the queued job that is expected, or promised, to start first."""
        found = self._jobs([])
        promises = last.ledger.promises if last is not None else {}
        jobs = found.values()
        starts = []
        for job_id, job in found.items():
            start_s = promises.get(job_id, start_s_of(job))
            if job.get("job_state") == "Q" and start_s is not None:
                starts.append((start_s, number_of(job, "Resource_List.ncpus")))
        if not starts:
            return free
        start_s, cores = min(starts)
        head_in_s = max(0, int(start_s - time.time()))
        running = [run_of(job) for job in jobs if job.get("job_state") == "R"]
        return free._replace(reserved=reserved_for_head(free.idle, cores, head_in_s, running), head_in_s=head_in_s)

    def _change(self, argv: Sequence[str], user: str) -> None:
        try:
            done = self._call(argv, user=user)
        except SchedulerSilent as silent:
            raise RequestUnanswered(str(silent)) from silent
        if done.status and not any(part in done.problem for part in _GONE):
            raise RequestUnanswered(f"{argv[0]}: {done.problem}")

    def _job(self, job_id: str, *options: str) -> JobTexts | None:
        """A job; None if PBS does not know it. It is asked for by its number alone: ``qstat`` connects to the host that
        an id names.
        """
        return self._jobs([*options, job_id.partition(".")[0]]).get(job_id)

    def _jobs(self, arguments: Sequence[str]) -> Mapping[str, JobTexts]:
        """Jobs by id, as far as they have room in the output that is taken; ids that PBS does not know are no error."""
        done = self._call(["qstat", "-f", "-w", *arguments])
        lines = [line for line in done.err.decode("utf-8", "replace").splitlines() if line.strip()]
        is_cut = done.status == TOO_MUCH
        if done.status and not is_cut and not all(any(part in line for part in _GONE) for line in lines):
            raise SchedulerSilent(f"qstat: {done.problem}")
        jobs = read_jobs(done.text)
        if is_cut and len(jobs) > 1:
            jobs.popitem()
        return jobs

    def _json(self, argv: Sequence[str]) -> dict[str, Any]:
        try:
            return read_json(self._answered(argv).text, argv[0])
        except ValueError as error:
            raise SchedulerSilent(str(error)) from error

    def _answered(self, argv: Sequence[str]) -> Finished:
        done = self._call(argv)
        if done.status:
            raise SchedulerSilent(f"{argv[0]}: {done.problem}")
        return done

    def _call(self, argv: Sequence[str], *, user: str | None = None, cwd: str | None = None) -> Finished:
        done = self._run(argv, user=user, cwd=cwd, timeout_s=self._timeout_s)
        if done.status in (NOT_STARTED, TIMED_OUT) or (done.status and _is_silent(done)):
            raise SchedulerSilent(f"{argv[0]}: {done.problem}")
        return done


def select_of(demand: Demand) -> str:
    """PBS's select: a chunk a core where placement is free, else equal chunks."""
    if not demand.nodes:
        return f"{demand.cores}:ncpus=1:mpiprocs=1"
    chunk = f"{demand.nodes}:ncpus={demand.chunk_cores}:mpiprocs={demand.chunk_cores}"
    memory = f":mem={demand.mem_mib}mb" if demand.mem_mib else ""
    return chunk + memory + (f":ngpus={demand.gpus}" if demand.gpus else "")


def _find_open(nodes: Mapping[str, _Texts], name: str, queue: _Texts) -> Mapping[str, _Texts]:
    """The vnodes that jobs of the queue may use: those of its own, or where there are none those of its partition
    without a queue. Each has the texts that the queue's ``default_chunk`` asks for.
    """
    own = {vnode: texts for vnode, texts in nodes.items() if name in str(texts.get("queue", "")).split(",")}
    shared = (vnode for vnode, texts in nodes.items() if not texts.get("queue") and _is_beside(texts, queue))
    chunk = {what: str(text) for what, text in queue.get("default_chunk", {}).items()}
    wanted = {what: text for what, text in chunk.items() if parse_measure(text) is None}
    return {vnode: nodes[vnode] for vnode in own or shared if _has(nodes[vnode], wanted)}


def _is_beside(vnode: _Texts, queue: _Texts) -> bool:
    """Whether both are in one partition."""
    mine, its = (str(texts.get("partition", DEFAULT_PARTITION)) for texts in (vnode, queue))
    return mine == its


def _has(vnode: _Texts, wanted: Mapping[str, str]) -> bool:
    """Whether the vnode's resources are these texts; a boolean that is not set is False."""
    has = vnode.get("resources_available", {})
    return all(is_what(str(has.get(what, "False")), text) for what, text in wanted.items())


def _is_usable(vnode: _Texts) -> bool:
    states = set(str(vnode.get("state", "")).replace(" ", "").split(","))
    return not states & _UNUSABLE and not vnode.get("resv")


def _shape(node: _Texts) -> Shape:
    has, used = node.get("resources_available", {}), node.get("resources_assigned", {})
    cores = int(has.get("ncpus", 0)) - int(used.get("ncpus", 0))
    mem_kib = _kib(has.get("mem")) - _kib(used.get("mem"))
    gpus = int(has.get("ngpus", 0)) - int(used.get("ngpus", 0))
    return Shape(0, max(0, cores), max(0, mem_kib >> 10), max(0, gpus))


def _sum_by_host(nodes: Mapping[str, Mapping[str, Any]], usable: Mapping[str, Shape]) -> Iterable[Shape]:
    """What is idle on each host: PBS places a chunk on several vnodes of one."""
    hosts: dict[str, Shape] = {}
    for name, shape in usable.items():
        host = str(nodes[name].get("resources_available", {}).get("host", name))
        before = hosts.get(host, Shape(0, 0, 0, 0))
        hosts[host] = Shape(0, before.cores + shape.cores, before.mem_mib + shape.mem_mib, before.gpus + shape.gpus)
    return hosts.values()


def _is_silent(done: Finished) -> bool:
    text = done.err.decode("utf-8", "replace")
    return any(part in text for part in _SILENT)


def _relative(path: str, folder: str) -> str:
    return str(PurePosixPath(path).relative_to(folder))


def _kib(value: object) -> int:
    try:
        return parse_size_kib(str(value)) if value is not None else 0
    except ValueError:
        return 0
