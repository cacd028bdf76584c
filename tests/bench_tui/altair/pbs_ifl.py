"""A large server's answers in the place of PBS's library, loaded as ``pbs_ifl`` by the console's reader
(``hooks/reader/answer_console_by_json_lines.py``).

The jobs and vnodes are made anew in each process, always the same ones, with many shapes, users and queues. What the
environment's PBSTEER_RECORDING names (a JSON file) says how many, and is read again at each poll: ``changed`` jobs of
those that are first on the screen get other cores then. When the last answer was given is written to its ``told`` file.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

EQ, GE = 4, 6
NOW_S = 1_790_000_000
USERS, GROUPS = 60, 8
QUEUES = ("workq", "long", "short", "gpu", "bigmem", "night")
SHAPES = 400
_CORES = 64
_BUSY = 0.97
_HELD = 0.01

_SETTINGS = Path(os.environ["PBSTEER_RECORDING"])


def _settings() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_SETTINGS.read_text())
    return found


class attrl:  # noqa: N801 - PBS's own name
    """A link of a list of attributes."""

    __slots__ = ("name", "next", "op", "resource", "value")

    def __init__(self, name: str = "", resource: str | None = None, value: str = "", following: Any = None) -> None:
        self.name, self.resource, self.value, self.next, self.op = name, resource, value, following, 0


class attropl(attrl):  # noqa: N801 - PBS's own name
    """The same with an operation."""

    __slots__ = ()


class batch_status:  # noqa: N801 - PBS's own name
    """One object of an answer. Its attributes are linked when they are asked for, as the answer is walked."""

    __slots__ = ("_texts", "_wanted", "name", "next", "text")

    def __init__(self, name: str, texts: Mapping[str, str], wanted: frozenset[str], following: Any) -> None:
        self.name, self.next, self.text = name, following, None
        self._texts, self._wanted = texts, wanted

    @property
    def attribs(self) -> attrl | None:
        """The first link."""
        head = None
        for key, value in self._texts.items():
            name, _, resource = key.partition(".")
            if not self._wanted or name in self._wanted:
                head = attrl(name, resource or None, value, head)
        return head


def _jobs(count: int, vnodes: int, chance: random.Random) -> dict[str, dict[str, str]]:
    shapes = [_shape(chance) for _ in range(SHAPES)]
    running = min(count // 2, int(vnodes * _BUSY))
    return {f"{1000 + number}.hpc1": _job(number, number < running, chance, shapes) for number in range(count)}


def _shape(chance: random.Random) -> dict[str, str]:
    chunks, cores = chance.choice((1, 1, 1, 1, 1, 2)), chance.choice((1, 2, 4, 8, 16, 32, 64))
    memory = chance.choice(("", "", f":mem={chance.randint(1, 64)}gb"))
    select = f"{chunks}:ncpus={cores}{memory}"
    hours, minutes = chance.randint(0, 47), chance.choice((5, 15, 30, 45))
    return {
        "Resource_List.ncpus": str(chunks * cores),
        "Resource_List.nodect": str(chunks),
        "Resource_List.place": chance.choice(("free", "scatter", "pack", "free")),
        "Resource_List.select": select,
        "Resource_List.walltime": f"{hours:02}:{minutes:02}:00",
        "schedselect": select,
    }


def _job(number: int, runs: bool, chance: random.Random, shapes: list[dict[str, str]]) -> dict[str, str]:
    user = int(chance.random() ** 2 * USERS)
    submitted_s = NOW_S - 200_000 + number
    job = {
        "Job_Name": f"{chance.choice(('relax', 'train', 'render', 'post', 'mc'))}_{number % 977}",
        "Job_Owner": f"user{user:02}@login{user % 3}.hpc1.example",
        "job_state": "R" if runs else "H" if chance.random() < _HELD else "Q",
        "substate": "42" if runs else "10",
        "queue": chance.choice(QUEUES),
        "Checkpoint": "u",
        "ctime": str(submitted_s),
        "qtime": str(submitted_s),
        "mtime": str(submitted_s + 60),
        "Hold_Types": "n",
        "Priority": "0",
        "Rerunable": "True",
        "euser": f"user{user:02}",
        "egroup": f"group{user % GROUPS}",
        "project": "_pbs_project_default",
        **chance.choice(shapes),
    }
    if runs:
        cores = chance.choice((48, 60, 64, 64))
        job.update({"Resource_List.ncpus": str(cores), "Resource_List.nodect": "1", "Resource_List.place": "free"})
        job["Resource_List.select"] = job["schedselect"] = f"1:ncpus={cores}"
        job.update({"exec_vnode": f"(n{number:05}:ncpus={cores})", "stime": str(NOW_S - 3000), "run_count": "1"})
        job["comment"] = "Job run at Mon Nov 23 at 08:00"
    else:
        job["comment"] = chance.choice(("Not Running: Insufficient amount of resource: ncpus", "Not Running: held", ""))
    if job["job_state"] == "H":
        job["Hold_Types"] = "u"
    return job


def _vnodes(count: int, jobs: Mapping[str, Mapping[str, str]], chance: random.Random) -> dict[str, dict[str, str]]:
    on = {}
    for job_id, job in jobs.items():
        if "exec_vnode" not in job:
            break
        on[job["exec_vnode"][1:7]] = (job_id, job["Resource_List.ncpus"])
    return {name: _vnode(on.get(name), chance) for name in (f"n{number:05}" for number in range(count))}


def _vnode(taken: tuple[str, str] | None, chance: random.Random) -> dict[str, str]:
    states = ("free",) * 60 + ("offline", "down")
    vnode = {
        "state": "free" if taken else chance.choice(states),
        "resources_available.ncpus": str(_CORES),
        "resources_available.mem": "263856212kb",
        "resources_available.host": "host",
        "resources_assigned.ncpus": taken[1] if taken else "0",
        "resources_assigned.mem": "0kb",
        "sharing": "default_shared",
        "last_state_change_time": str(NOW_S - 50_000),
    }
    if taken:
        vnode["jobs"] = f"{taken[0]}/0"
    return vnode


class _ClusterView:
    """What the server has."""

    def __init__(self) -> None:
        chance = random.Random(7)
        settings = _settings()
        self.jobs = _jobs(settings["jobs"], settings["vnodes"], chance)
        self.vnodes = _vnodes(settings["vnodes"], self.jobs, chance)
        self.queues = {
            name: {
                "queue_type": "Execution",
                "enabled": "True",
                "started": "True",
                "resources_available.pbsteer_mode": "drive",
                "max_run_res_soft.ncpus": ",".join(
                    f"[u:user{user:02}={_CORES * chance.randint(100, 4000)}]" for user in range(0, USERS, 2)
                ),
            }
            for name in QUEUES
        }
        self.polls = 0

    def turn(self) -> None:
        """One poll later."""
        self.polls += 1
        now_s = str(NOW_S + self.polls)
        for job_id in list(self.jobs)[2 : 2 + _settings()["changed"]]:
            self.jobs[job_id].update({"Resource_List.ncpus": str(1 + self.polls % 9), "mtime": now_s})

    def server(self) -> dict[str, str]:
        """The server's own attributes."""
        states = [job["job_state"] for job in self.jobs.values()]
        counts = " ".join(
            f"{word}:{states.count(word[0])}"
            for word in ("Transit", "Queued", "Held", "Waiting", "Running", "Exiting", "Begun")
        )
        return {
            "pbs_version": "23.06.06",
            "scheduling": "False",
            "server_state": "Active",
            "total_jobs": str(len(states)),
            "state_count": counts,
        }


_cluster = _ClusterView()


def pbs_connect(server: str | None) -> int:
    """A connection."""
    return 1


def pbs_disconnect(handle: int) -> int:
    """The last answer of this connection was given."""
    Path(_settings()["told"]).write_text(str(time.monotonic()))
    return 0


def get_pbs_errno() -> int:
    """Never an error."""
    return 0


def pbs_geterrmsg(handle: int) -> str | None:
    """Never an error."""
    return None


def pbs_statfree(answer: Any) -> None:
    """Nothing to free."""


def pbs_statserver(handle: int, names: Any, extend: str | None) -> Any:
    """The server; each poll begins with it."""
    _cluster.turn()
    return _answer({"hpc1": _cluster.server()}, names)


def pbs_statque(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    """The queues."""
    return _answer(_cluster.queues, names)


def pbs_statvnode(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    """The vnodes."""
    return _answer(_cluster.vnodes, names)


def pbs_statjob(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    """The jobs, or one."""
    return _answer(_cluster.jobs if not name else {name: _cluster.jobs[name]}, names)


def pbs_selstat(handle: int, wanted: attropl, names: Any, extend: str | None) -> Any:
    """Jobs in one of the states, or changed since then."""
    criteria = [(link.name, link.value) for link in _walk(wanted)]
    found = {job_id: job for job_id, job in _cluster.jobs.items() if all(_holds(job, *each) for each in criteria)}
    return _answer(found, names)


def pbs_statrsc(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    """The resources."""
    kinds = {"ncpus": "long", "mem": "size", "nodect": "long", "walltime": "long"}
    return _answer({name: {"type": kind, "flag": "hn"} for name, kind in kinds.items()}, names)


def pbs_statsched(handle: int, names: Any, extend: str | None) -> Any:
    """The scheduler."""
    return _answer({"default": {"scheduling": "False", "state": "idle"}}, names)


def pbs_statresv(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    """No reservations."""
    return None


def _holds(job: Mapping[str, str], name: str, value: str) -> bool:
    return job["job_state"] in value if name == "job_state" else int(job[name]) >= int(value)


def _walk(link: Any) -> Iterator[Any]:
    while link is not None:
        yield link
        link = link.next


def _answer(objects: Mapping[str, Mapping[str, str]], names: Any) -> Any:
    wanted = frozenset(link.name for link in _walk(names))
    head = None
    for name, texts in reversed(list(objects.items())):
        head = batch_status(name, texts, wanted, head)
    return head
