"""A Torque server that is not there, behind the functions of ``libtorque.so.2`` that passes use.

It stands where the library's connection does (:class:`torque.read.libtorque_connection.TorqueConnection`): jobs in
Torque's own words, and requests that change them as the real server was seen to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from torque.act.torque_as_pbs_ifl import TorqueAsPbsIfl
from torque.read.libtorque_connection import TorqueConnection, TorqueError

Texts = dict[str, str]
BAD_STATE = 15018
TIMED_OUT = 15085


@dataclass
class FakeTorque:
    """The server. ``calls`` are the requests that changed something; ``silent``: it does not answer; ``starts_late``: a
    started job waits on at first."""

    jobs: dict[str, Texts] = field(default_factory=dict)
    nodes: dict[str, Texts] = field(default_factory=lambda: {"n1": node(4), "n2": node(4)})
    queues: dict[str, Texts] = field(default_factory=lambda: {"batch": {"started": "True", "enabled": "True"}})
    server: Texts = field(default_factory=lambda: {"server_state": "Active", "managers": "root@tq"})
    calls: list[tuple[str, ...]] = field(default_factory=list)
    silent: bool = False
    starts_late: bool = False
    clock_s: int = 1_000_000

    # What a connection has

    def read_server(self) -> tuple[str, Texts]:
        self._answer()
        return "tq", {**self.server, "total_jobs": str(len(self.jobs))}

    def walk_queues(self) -> Iterator[tuple[str, Texts]]:
        yield from self.queues.items()

    def walk_nodes(self) -> Iterator[tuple[str, Texts]]:
        yield from self.nodes.items()

    def walk_jobs(self) -> Iterator[tuple[str, Texts]]:
        yield from self.jobs.items()

    def walk_job_ids(self) -> Iterator[str]:
        yield from self.jobs

    def walk_changed_jobs(self, since_s: int) -> Iterator[tuple[str, Texts]]:
        yield from ((job_id, texts) for job_id, texts in self.jobs.items() if int(texts["mtime"]) >= since_s)

    def read_job(self, job_id: str) -> Texts | None:
        self._answer()
        return self.jobs.get(job_id)

    def request(self, function: str, *arguments: Any) -> None:
        self._answer()
        getattr(self, function)(*arguments)

    def __enter__(self) -> FakeTorque:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing."""

    # What the server does

    def pbs_asyrunjob(self, job_id: str, where: str, _extend: None) -> None:
        self.calls.append(("run", job_id, where))
        if self.starts_late:
            return
        slots = "+".join(f"{part.partition(':')[0]}/0-{int(part.rpartition('=')[2]) - 1}" for part in where.split("+"))
        self.change(job_id, job_state="R", exec_host=slots, start_time=str(self.clock_s), start_count="1")

    def pbs_rerunjob(self, job_id: str, _extend: None) -> None:
        self.calls.append(("rerun", job_id))
        self.change(job_id, job_state="Q")

    def pbs_sigjob(self, job_id: str, name: str, _extend: None) -> None:
        self.calls.append(("signal", job_id, name))

    def pbs_alterjob(self, job_id: str, attributes: Any, _extend: None) -> None:
        link = attributes
        while link:
            name, value = link.contents.name.decode(), link.contents.value.decode()
            self.calls.append(("alter", job_id, name, value))
            self.change(job_id, **{name: value})
            link = link.contents.next

    def change(self, job_id: str, **texts: str) -> None:
        self.clock_s += 1
        self.jobs[job_id] = {**self.jobs[job_id], "mtime": str(self.clock_s), **texts}

    def _answer(self) -> None:
        if self.silent:
            raise TorqueError("no answer", TIMED_OUT)


class _Names:
    """The library: each function is its own name, which :meth:`FakeTorque.request` looks up."""

    def __getattr__(self, name: str) -> _Name:
        return _Name(name)


class _Name(str):
    argtypes: object = None


def node(slots: int, state: str = "free", **texts: str) -> Texts:
    return {"np": str(slots), "state": state, "ntype": "cluster", **texts}


def job(user: str = "alice", request: str = "nodes=1:ppn=2", state: str = "Q", **texts: str) -> Texts:
    name, _, value = request.partition("=")
    made = {
        "job_state": state, "queue": "batch", "euser": user, "egroup": user, "Job_Owner": f"{user}@tq", "mtime": "1000",
        "qtime": "1000", "ctime": "1000", "etime": "1000", "Hold_Types": "n", "Rerunable": "True", "Priority": "0",
        "Resource_List.walltime": "01:00:00", f"Resource_List.{name}": value,
    }  # fmt: skip
    return {**made, **texts}


def running(user: str, host: str, request: str = "nodes=1:ppn=2", **texts: str) -> Texts:
    return job(user, request, "R", exec_host=host, start_time="2000", start_count="1", **texts)


def as_pbs_ifl(fake: FakeTorque) -> TorqueAsPbsIfl:
    """The module of passes over the fake server. It counts as a simulated one, so nothing is forked."""
    return TorqueAsPbsIfl(_Names(), "tq", lambda _library, _server: cast("TorqueConnection", fake))
