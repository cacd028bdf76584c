"""A server that tests write the script of: small real pictures, qmgr lines that it takes, and failures on demand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hooks.pbs.server_status_type_and_attributes import NAME, ServerStatus
from policy import Ledger, Settings
from tests.hooks import sample_server_statuses
from tui.backends.interface.backend_protocol import BackendError, Reply
from tui.backends.interface.commands_interface import Commands
from tui.backends.pass_journal import JournalReader
from tui.backends.pbs.build_change_commands import PbsCommands

NOON_S = 1_790_000_000.0
HOSTILE_NAMES = (
    "[/red]",
    "[@click=app.quit]x[/]",
    "\x1b[2J\x1b]0;owned\x07",
    "two\nlines\tand\rmore",
    "𝔉𝔬𝔲𝔯🚀字",
    "\u202egnp.exe",
    "\ud800half",
)
_SET = re.compile(r"set queue (\S+) max_run_res_soft\.(\w+) (\+=|-=) \"?((?:\[\w:[^=]+=\d+\],?)+)\"?")
_SERVER_SET = re.compile(r'(?:un)?set server (\S+)(?: = "?([^"]*)"?)?')
_PLAIN_SET = re.compile(r"set queue (\S+) (\S+) = (\S+)")
_NODE_SET = re.compile(r"set node (\S+) state (\+=|-=) offline(?:, comment = (['\"])(.*)\3)?")
_ENTRY = re.compile(r"\[([^=\]]+)=(\d+)\]")

Attributes = dict[str, str]
PBS = PbsCommands()
"""The commands of the scripted server, and of operations made by hand."""


def a_job(
    user: str, cores: int, state: str = "Q", *, queue: str = "workq", name: str = "sim", **more: str
) -> Attributes:
    own = {
        "Job_Name": name,
        "Job_Owner": f"{user}@host",
        "egroup": "users",
        "Resource_List.walltime": "02:00:00",
        "schedselect": f"1:ncpus={cores}",
        "ctime": str(int(NOON_S - 3600)),
        "qtime": str(int(NOON_S - 3600)),
    }
    return {**sample_server_statuses.job(state, cores, queue, user), **own, **more}


def running(user: str, cores: int, vnode: str, **more: str) -> Attributes:
    return a_job(
        user, cores, "R", exec_vnode=f"({vnode}:ncpus={cores})", stime=str(int(NOON_S - 1800)), run_count="1", **more
    )


def a_vnode(cores: int, used: int = 0, state: str = "free", **more: str) -> Attributes:
    own = {"resources_available.mem": "64gb", "resources_available.host": "h", "sharing": "default_shared"}
    return {**sample_server_statuses.vnode(cores, used, state), **own, **more}


def a_server_status() -> ServerStatus:
    """Three vnodes of 8 cores: alice runs 12 of a quota of 4, bob waits for 8 of his 8, one vnode is offline."""
    return ServerStatus(
        NOON_S,
        {NAME: "hpc1", "pbs_version": "23.06.06", "scheduling": "False", "server_state": "Active"},
        {
            "workq": {
                "queue_type": "Execution",
                "enabled": "True",
                "started": "True",
                "max_run_res_soft.ncpus": "[u:alice=4],[u:bob=8],[u:PBS_GENERIC=2]",
                "resources_available.pbsteer_mode": "drive",
            },
            "gpu": {"queue_type": "Execution", "enabled": "True", "started": "True"},
        },
        {
            "v1": a_vnode(8, 8, jobs="11.hpc1/0"),
            "v2": a_vnode(8, 4, jobs="12.hpc1/0"),
            "v3": a_vnode(8, 0, "offline"),
        },
        {
            "11.hpc1": running("alice", 8, "v1"),
            "12.hpc1": running("alice", 4, "v2", name="post"),
            "13.hpc1": a_job("bob", 8, name="render"),
            "14.hpc1": a_job("carol", 64, name="huge"),
            "15.hpc1": a_job("carol", 2, "H", Hold_Types="u"),
            "16[].hpc1": a_job("dave", 1, "Q", array_indices_remaining="0-9", array="True"),
        },
        {"ncpus": {"type": "long", "flag": "hn"}, "mem": {"type": "size", "flag": "hn"}},
    )


def many_jobs(count: int) -> ServerStatus:
    """The same cluster with so many jobs waiting."""
    server_status = a_server_status()
    jobs = {f"{100 + n}.hpc1": a_job(f"user{n % 50}", 1 + n % 64, name=f"job{n}") for n in range(count)}
    return changed(server_status, jobs={**server_status.jobs, **jobs})


def changed(server_status: ServerStatus, **parts: Any) -> ServerStatus:
    return replace(server_status, **parts)


def with_job(server_status: ServerStatus, job_id: str, attributes: Attributes) -> ServerStatus:
    return changed(server_status, jobs={**server_status.jobs, job_id: attributes})


@dataclass
class ScriptedBackend:
    """Answers polls from ``server_status``, takes quota lines, and raises ``failure`` where it is set."""

    server_status: ServerStatus = field(default_factory=a_server_status)
    failure: str = ""
    refusal: str = ""
    lines: list[str] = field(default_factory=list)
    before_read: Callable[[], None] = lambda: None
    polls: int = 0
    reads: int = 0
    closed: bool = False
    ended: dict[str, Attributes] = field(default_factory=dict)
    use: dict[str, dict[str, str]] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)
    history_problem: str = ""
    spool: Path | None = None
    folder: Path = Path("/nowhere/pbsteer")
    own_audit: Path | None = None
    commands: Commands = PBS
    hooks: str = ""
    name: str = "hpc1"
    simulated: bool = False
    system: str = "PBS"

    def __post_init__(self) -> None:
        self.journal = JournalReader(self.folder)

    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def shared_audit(self) -> Path:
        return self.journal.changes

    def finished(self, window_s: float) -> Mapping[str, Mapping[str, str]]:
        self._demand_up()
        if self.history_problem:
            raise BackendError(self.history_problem)
        return self.ended

    def script(self, job_id: str) -> str:
        self._demand_up()
        if job_id not in self.scripts:
            raise BackendError(f"printjob -s {job_id}: no permission")
        return self.scripts[job_id]

    def log_lines(self, job_id: str, days: int) -> Sequence[str]:
        self._demand_up()
        return [f"06/01/2026 12:00:00  S    {job_id} of the last {days} days"]

    def used(self) -> Mapping[str, Mapping[str, str]]:
        self._demand_up()
        return self.use

    def poll(self) -> ServerStatus:
        self._demand_up()
        self.polls += 1
        return self.server_status

    def settings(self) -> Settings:
        return Settings()

    def ledger(self) -> Ledger:
        return Ledger()

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        self._demand_up()
        self.reads += 1
        self.before_read()
        jobs = self.server_status.jobs
        kinds = {"queue": self.server_status.queues, "job": jobs, "vnode": self.server_status.vnodes}
        server = {self.server_status.server.get("name", self.name): self.server_status.server}
        return {**kinds, "ended job": {**self.ended, **jobs}, "server": server}[kind].get(name)

    def run(self, argv: Sequence[str]) -> Reply:
        self._demand_up()
        if tuple(argv) == ("qmgr", "-c", "list hook @default"):
            return Reply(True, self.hooks)
        self.lines.append(shlex.join(argv))
        if self.refusal:
            return Reply(False, self.refusal)
        self._take(argv)
        return Reply(True, "")

    def _take(self, argv: Sequence[str]) -> None:
        program, *arguments = argv
        if program == "qmgr":
            self._take_line(arguments[1])
        elif program == "qhold":
            self.set_job(arguments[2], Hold_Types=arguments[1], job_state="H")
        elif program == "qrls":
            self.set_job(arguments[2], Hold_Types="n", job_state="Q")
        elif program == "qdel":
            self.server_status = changed(
                self.server_status,
                jobs={job: texts for job, texts in self.server_status.jobs.items() if job != arguments[0]},
            )
        elif program == "qrerun":
            self.set_job(arguments[0], job_state="Q", stime="", exec_vnode="")
        elif program == "qmove":
            self.set_job(arguments[1], queue=arguments[0])
        elif program == "qrun":
            self.set_job(arguments[2], job_state="R", stime=str(int(NOON_S)), exec_vnode=arguments[1])
        elif program == "qsig":
            self.set_job(arguments[2], job_state={"suspend": "S", "resume": "R"}[arguments[1]])
        else:
            assert program == "qalter", argv
            option, value, job = arguments
            name = {"-p": "Priority", "-l": "Resource_List.walltime", "-W": "comment"}[option]
            self.set_job(job, **{name: value if option == "-p" else value.partition("=")[2]})

    def _take_line(self, line: str) -> None:
        node = _NODE_SET.fullmatch(line)
        if node:
            vnode, sign, _, comment = node.groups()
            more = {} if comment is None else {"comment": comment}
            self.set_vnode(vnode, state="offline" if sign == "+=" else "free", **more)
            return
        of_server = _SERVER_SET.fullmatch(line)
        if of_server:
            name, text = of_server.groups()
            server = {key: value for key, value in self.server_status.server.items() if key != name}
            self.server_status = changed(self.server_status, server=server if text is None else {**server, name: text})
            return
        plain = _PLAIN_SET.fullmatch(line)
        if plain:
            self.set_queue(plain.group(1), **{plain.group(2): plain.group(3)})
            return
        match = _SET.fullmatch(line)
        assert match, line
        queue, resource, sign, given = match.groups()
        name = f"max_run_res_soft.{resource}"
        entries = dict(_ENTRY.findall(self.server_status.queues[queue].get(name, "")))
        for entity, number in _ENTRY.findall(given):
            entries.pop(entity, None)
            if sign == "+=":
                entries[entity] = number
        self.set_queue(queue, **{name: ",".join(f"[{key}={value}]" for key, value in entries.items())})

    def set_job(self, job: str, **attributes: str) -> None:
        self.server_status = with_job(self.server_status, job, {**self.server_status.jobs[job], **attributes})

    def set_vnode(self, vnode: str, **attributes: str) -> None:
        vnodes = {**self.server_status.vnodes, vnode: {**self.server_status.vnodes[vnode], **attributes}}
        self.server_status = changed(self.server_status, vnodes=vnodes)

    def set_queue(self, queue: str, **attributes: str) -> None:
        queues = {**self.server_status.queues, queue: {**self.server_status.queues[queue], **attributes}}
        self.server_status = changed(self.server_status, queues=queues)

    def close(self) -> None:
        self.closed = True

    def _demand_up(self) -> None:
        if self.failure:
            raise BackendError(self.failure)


@dataclass
class ScriptedSimulation(ScriptedBackend):
    """The same with a clock that can be steered."""

    simulated: bool = True
    paused: bool = False
    speed: int = 60
    rate: int | None = None
    steps: int = 0
    loaded: list[tuple[str, str]] = field(default_factory=list)

    def build(self) -> None:
        """It is there."""

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def step(self) -> None:
        self.steps += 1
        self.paused = True

    def set_speed(self, speed: int) -> None:
        self.speed = speed

    def load(self, path: Path, size: str) -> None:
        if not path.exists():
            raise BackendError(f"{path}: No such file or directory")
        self.loaded.append((path.name, size))
