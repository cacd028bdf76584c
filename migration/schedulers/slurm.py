"""Slurm as a local scheduler, through its own programs; tried with 22.05.

``sbatch --test-only`` gives the time at which a job would start. A job that has ended is looked up with ``scontrol``
while slurmctld still has it, then with ``sacct`` where accounting is on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence

from migration.programs.run_external_program_with_limits import NOT_STARTED, TIMED_OUT, Finished, Run
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

_USABLE = frozenset({"idle", "mixed", "planned", "idle-", "mixed-"})
"""States without a flag of drain, failure, maintenance, reservation or power saving; ``-`` is planned by backfill."""
_STATES = {
    "PD": QUEUED, "RQ": QUEUED, "RF": QUEUED, "RH": HELD, "SE": HELD,
    **dict.fromkeys(("R", "CF", "CG", "RS", "S", "SI", "SO", "ST"), RUNNING),
    **dict.fromkeys(("BF", "CA", "CD", "DL", "F", "NF", "OOM", "PR", "RV", "TO"), ENDED),
}  # fmt: skip
_GONE = ("Invalid job id", "Job has already finished", "already completing or completed")
_SILENT = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "Connection refused",
    "Communication connection failure",
    "Message receive failure",
    "Message send failure",
    "Unexpected message received",
)
_FOR_NOW = (
    "limit", "temporarily", "slow down", "try again", "authentication", "I/O error writing", "out of memory",
    "inactive or drain",
)  # fmt: skip
_FOR_GOOD = ("Requested time limit is invalid",)
_ERROR, _OWN_WORDS = 1, ("sbatch: error: ", "sbatch: fatal: ")
"""How ``sbatch`` ends, and begins what it says, where it or slurmctld refuses a job."""
_START = re.compile(r"to start at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)")
_EXIT = re.compile(r" ExitCode=(\d+:\d+)")
_STATE = re.compile(r" JobState=(\w+)")
_RUN_TIME = re.compile(r" RunTime=(\S+)")
_RESTARTS = re.compile(r" Restarts=(\d+)")
_NODES = re.compile(r" NodeList=(\S*)")
_GPU = re.compile(r"gpu(?::[^:,()]+)?:(\d+)")
_COMPLETED, _FAILED = "COMPLETED", "FAILED"
_FINAL = frozenset(
    (
        _COMPLETED, _FAILED, "BOOT_FAIL", "CANCELLED", "DEADLINE", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",
        "TIMEOUT",
    )
)  # fmt: skip
_NO_NODES = frozenset(("", "(null)", "None", "None assigned"))
_NOW_S = 60
"""A job that would start within this counts as one that would start now."""
_NO_ESTIMATE_S = 30 * 86_400
"""Slurm gives a start months or centuries away for a job behind one that no node can ever take."""
_UNTRIED, _BEHIND_ANOTHER = "None", "Priority"
"""Reasons of a pending job that Slurm has not tried to start yet, and of one that it tries after another one."""
_ASKED_SINCE = "now-7days"
"""Without a time ``sacct`` has the jobs of today alone."""
_IDS_AT_ONCE = 500


class SlurmScheduler:
    """Slurm with the partition in which guests land."""

    kind = "slurm"

    def __init__(self, run: Run, queue: str, timeout_s: float = 60) -> None:
        self._run = run
        self._partition = queue
        self._timeout_s = timeout_s

    def free(self) -> FreeNodes:
        """The idle cores on nodes of the partition."""
        partition = self._rows(["sinfo", "-h", "-p", self._partition, "-o", "%a|%l"], 2)
        if not partition:
            raise SchedulerSilent(f"Slurm has no partition {self._partition!r}; cluster.toml names it for guests")
        up, limit = partition[0]
        fields = "NodeList:|,CPUsState:|,StateLong:|,Memory:|,AllocMem:|,Gres:|,GresUsed:|"
        cores, shapes = 0, dict[Shape, int]()
        for _, cpus, state, *more in self._rows(["sinfo", "-h", "-N", "-p", self._partition, "-O", fields], 7):
            idle, total = _count(cpus.split("/")[1]), _count(cpus.split("/")[-1])
            cores += total
            if up == "up" and state in _USABLE and idle:
                memory, used, gres, gres_used = more
                mem_mib = max(0, _count(memory) - _count(used))
                shape = Shape(0, idle, mem_mib, max(0, _gpus(gres) - _gpus(gres_used)))
                shapes[shape] = shapes.get(shape, 0) + 1
        free = FreeNodes(
            self.kind,
            cores,
            tuple(shape._replace(nodes=count) for shape, count in sorted(shapes.items())),
            max_walltime_s=parse_time_s(limit),
        )
        return self._with_head(free)

    def would_start_now(self, job: LocalJob) -> Verdict:
        """``sbatch --test-only`` as the user."""
        done = self._call(["sbatch", "--test-only", *self._options(job), "--wrap", "true"], user=job.user, cwd=job.cwd)
        match = _START.search(done.err.decode("utf-8", "replace"))
        if done.status or match is None:
            return Verdict(now=False, text=done.problem)
        wait_s = _moment(match[1]) - time.time()
        if wait_s > _NO_ESTIMATE_S:
            return Verdict(None, "Slurm cannot say when, since a pending job ahead can never start")
        if wait_s > _NOW_S and self._is_about_to_start_jobs():
            return Verdict(None, "Slurm cannot say when before it has tried to start the jobs that were just submitted")
        return Verdict(wait_s <= _NOW_S, f"would start in {max(0, wait_s):.0f} s")

    def _is_about_to_start_jobs(self) -> bool:
        """Whether all pending jobs of the partition are still to be tried. Slurm delays the start that it gives by the
        work of pending jobs, a whole node for each one, whether or not these could start at once themselves
        (``_delayed_job_start_time`` of its ``job_scheduler.c``).
        """
        rows = self._rows(["squeue", "-h", "-t", "PD", "-p", self._partition, "-o", "%r"], 1)
        reasons = {reason for (reason,) in rows}
        return _UNTRIED in reasons and reasons <= {_UNTRIED, _BEHIND_ANOTHER}

    def submit(self, job: LocalJob) -> str:
        """``sbatch``. In the names of outputs Slurm replaces what follows a ``%``, that of the folder too."""
        if "\\" in job.cwd:
            raise SubmitRefused(f"{job.cwd!r}: Slurm takes a backslash out of the names of outputs", lasting=True)
        argv = ["sbatch", "--parsable", *self._options(job), "--job-name", job.name, "--requeue", "--chdir", job.cwd]
        argv += ["--output", job.out.replace("%", "%%"), "--error", job.err.replace("%", "%%"), job.wrapper]
        done = self._call(argv, user=job.user, cwd=job.cwd)
        text = done.problem
        if done.status == _ERROR and _has(done, _OWN_WORDS):
            lasting = any(part in text for part in _FOR_GOOD) or not any(part in text for part in _FOR_NOW)
            raise SubmitRefused(text, lasting=lasting)
        if done.status:
            raise SubmitUnclear(f"sbatch: {text}")
        return find_submitted(self, job)

    def states(self, ids: Iterable[str]) -> Mapping[str, JobState]:
        """One ``squeue`` for up to 500 jobs; those that it does not know are left out."""
        wanted = list(ids)
        found: dict[str, JobState] = {}
        for first in range(0, len(wanted), _IDS_AT_ONCE):
            found.update(self._states(wanted[first : first + _IDS_AT_ONCE]))
        return found

    def _states(self, ids: Sequence[str]) -> Mapping[str, JobState]:
        """``squeue`` ends at the first id that it does not take, and says nothing of the others: they are asked for
        again without it.
        """
        fields = "JobID:|,StateCompact:|,RestartCnt:|,Reason:|"
        done = self._call(["squeue", "-h", "-t", "all", "-j", ",".join(ids), "-O", fields])
        if done.status and _has(done, _GONE):
            half = len(ids) // 2
            return {**self._states(ids[:half]), **self._states(ids[half:])} if half else {}
        found: dict[str, JobState] = {}
        for job_id, state, restarts, reason in _read_rows(done, "squeue", 4):
            now = HELD if state == "PD" and reason.startswith("JobHeld") else _STATES.get(state, RUNNING)
            found[job_id] = JobState(now, _count(restarts) + (now == RUNNING), reason)
        return found

    def find_by_name(self, name: str, user: str) -> str | None:
        """``squeue`` by name and owner."""
        rows = self._rows(["squeue", "-h", "-n", name, "-u", user, "-o", "%A"], 1)
        return rows[0][0] if rows else None

    def find_ended_run(self, name: str, user: str) -> str | None:
        """By ``squeue`` while slurmctld still has the job, then by ``sacct``."""
        rows = self._rows(["squeue", "-h", "-t", "all", "-n", name, "-u", user, "-o", "%A"], 1)
        done = self._call(["sacct", "-n", "-P", "-X", "-S", _ASKED_SINCE, "-u", user, "--name", name, "-o", "JobIDRaw"])
        ids = dict.fromkeys([*(row[0] for row in rows), *(done.text.split() if done.status == 0 else ())])
        ended = {one: self.history(one) for one in ids}
        return next((job_id for job_id, one in ended.items() if one is not None and one.ran), None)

    def hold(self, job_id: str, user: str) -> None:
        """``scontrol hold``, as the user."""
        self._change(["scontrol", "hold", job_id], user)

    def release(self, job_id: str, user: str) -> None:
        """``scontrol release``, as the user."""
        self._change(["scontrol", "release", job_id], user)

    def delete(self, job_id: str, user: str) -> None:
        """``scancel``, as the user."""
        self._change(["scancel", job_id], user)

    def history(self, job_id: str) -> Ended | None:
        """slurmctld's record of the job, else the accounting's; None where neither has one."""
        done = self._call(["scontrol", "-o", "show", "job", job_id])
        state, exited = _STATE.search(done.text), _EXIT.search(done.text)
        if done.status == 0 and state and exited:
            nodes, run_time, restarts = (found.search(done.text) for found in (_NODES, _RUN_TIME, _RESTARTS))
            run_time_s = parse_time_s(run_time[1]) if run_time else None
            ran = bool(run_time_s) or bool(restarts and int(restarts[1]))
            return _ended(state[1], exited[1], nodes[1] if nodes else "", ran=ran)
        done = self._call(["sacct", "-n", "-P", "-X", "-j", job_id, "-o", "State,ExitCode,NodeList,ElapsedRaw"])
        parts = done.text.strip().splitlines()[-1].split("|") if done.status == 0 and done.text.strip() else []
        if len(parts) != 4:
            return None
        return _ended(parts[0], parts[1], parts[2], ran=_count(parts[3]) > 0)

    def _options(self, job: LocalJob) -> list[str]:
        """The options for what the job needs, for the submission and for the test alike."""
        demand = job.demand
        options = ["--partition", self._partition, "--ntasks", str(demand.cores)]
        options += ["--time", show_time(demand.walltime_s)]
        if demand.nodes:
            options += ["--nodes", str(demand.nodes), "--ntasks-per-node", str(demand.chunk_cores)]
        if demand.mem_mib:
            options += ["--mem", f"{demand.mem_mib}M"]
        if demand.gpus:
            options += ["--gres", f"gpu:{demand.gpus}"]
        return options

    def _with_head(self, free: FreeNodes) -> FreeNodes:
        """The answer with the cores reserved for the pending job that Slurm expects to start first."""
        running, starts = [], []
        for state, cores, start, left in self._rows(["squeue", "-h", "-t", "PD,R", "-o", "%t|%C|%S|%L"], 4):
            if state == "R":
                left_s = parse_time_s(left)
                running.append((_count(cores), float("inf") if left_s is None else left_s))
            elif start != "N/A":
                starts.append((_moment(start), _count(cores)))
        if not starts:
            return free
        start_s, head_cores = min(starts)
        head_in_s = max(0, int(start_s - time.time()))
        return free._replace(reserved=reserved_for_head(free.idle, head_cores, head_in_s, running), head_in_s=head_in_s)

    def _change(self, argv: Sequence[str], user: str) -> None:
        try:
            done = self._call(argv, user=user)
        except SchedulerSilent as silent:
            raise RequestUnanswered(str(silent)) from silent
        if done.status and not _has(done, _GONE):
            raise RequestUnanswered(f"{argv[0]}: {done.problem}")

    def _rows(self, argv: Sequence[str], width: int) -> list[list[str]]:
        return _read_rows(self._call(argv), argv[0], width)

    def _call(self, argv: Sequence[str], *, user: str | None = None, cwd: str | None = None) -> Finished:
        done = self._run(argv, user=user, cwd=cwd, timeout_s=self._timeout_s)
        if done.status in (NOT_STARTED, TIMED_OUT) or (done.status and _has(done, _SILENT)):
            raise SchedulerSilent(f"{argv[0]}: {done.problem}")
        return done


def parse_time_s(text: str) -> int | None:
    """Seconds of ``[DAYS-][[HOURS:]MINUTES:]SECONDS``; None for ``UNLIMITED``, ``infinite`` and what is no time."""
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isascii() and part.isdigit() for part in [*parts, *([days] if dash else [])]):
        return None
    numbers = list(map(int, parts))
    if dash:
        numbers += [0] * (3 - len(numbers))
    seconds = 0
    for number in numbers:
        seconds = seconds * 60 + number
    return seconds + 86_400 * int(days or 0)


def show_time(seconds: int) -> str:
    """The walltime as ``sbatch`` takes it."""
    return f"{seconds // 86_400}-{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _gpus(gres: str) -> int:
    return sum(map(int, _GPU.findall(gres)))


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _ended(state: str, exit_code: str, nodes: str, *, ran: bool) -> Ended | None:
    """What became of a job by Slurm's words; None if it has not ended.

    A job that is cancelled while it waits has the exit code 0, and the moment of its end as its start: that it ran is
    known by its nodes or its time. Only a job that Slurm calls completed has ended with 0.
    """
    word = state.split(" ", 1)[0]
    if word not in _FINAL:
        return None
    status, _, signal = exit_code.partition(":")
    ended = word
    if word == _FAILED and signal not in ("", "0"):
        ended = f"signal {signal}"
    elif word == _COMPLETED or (word == _FAILED and status not in ("", "0")):
        ended = status
    return Ended(ended, ran or nodes not in _NO_NODES)


def _moment(text: str) -> float:
    """Seconds since the epoch of a local time as Slurm prints it; infinitely far where it is none."""
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except (ValueError, OverflowError):
        return float("inf")


def _read_rows(done: Finished, program: str, width: int) -> list[list[str]]:
    """Lines of fields with ``|`` between them."""
    if done.status:
        raise SchedulerSilent(f"{program}: {done.problem}")
    rows = [line.split("|")[:width] for line in done.text.splitlines() if line.strip()]
    if any(len(row) != width for row in rows):
        raise SchedulerSilent(f"{program} printed a line that has not {width} fields")
    return [[part.strip() for part in row] for row in rows]


def _has(done: Finished, parts: Sequence[str]) -> bool:
    text = done.err.decode("utf-8", "replace")
    return any(part in text for part in parts)
