"""A stand-in for the module `pbs_ifl` over a simulated server: the C API's calls as SWIG offers them to Python.

Results are those of the real calls: linked lists or None for status requests, 0 or PBS's error number for all others.
`get_pbs_errno` gives the result of the last request, `pbs_geterrmsg` the last error message of a connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from signal import Signals
from types import ModuleType
from typing import Callable

from sim.pbs_server.objects.attributes import JOB, QUEUE, SCHEDULER, SERVER, VNODE, Table, split_key
from sim.pbs_server.objects.errors import (
    BAD_STATE,
    HOOK_REJECTED,
    PROTOCOL,
    UNDEFINED_ATTRIBUTE,
    UNKNOWN_SIGNAL,
    PbsError,
)
from sim.pbs_server.requests.manager_changes import Change, Command, Object, Operation, manage
from sim.pbs_server.requests.status_requests import (
    Stat,
    stat_jobs,
    stat_queues,
    stat_resources,
    stat_scheds,
    stat_server,
    stat_vnodes,
)
from sim.pbs_server.server import SimServer

_RESOURCE_FLAGS: tuple[str, ...] = ("type", "flag")
_RESERVATION_ATTRIBUTES = frozenset({
    "Reserve_Name", "Reserve_Owner", "reserve_state", "reserve_substate", "reserve_start", "reserve_end",
    "reserve_duration", "queue", "Resource_List", "resv_nodes", "Authorized_Users", "server", "ctime", "mtime",
    "Variable_List", "reserve_standing", "reserve_rrule", "reserve_index", "reserve_count", "reserve_execvnodes",
    "reserve_timezone", "partition",
})  # fmt: skip


class _Link:
    """An attribute in a linked list."""

    __slots__ = ("name", "next", "op", "resource", "value")

    def __init__(self) -> None:
        self.next: _Link | None = None
        self.name: str | None = None
        self.resource: str | None = None
        self.value: str | None = None
        self.op: int = 0


class attrl(_Link):  # noqa: N801 - PBS's names, as in C
    """An attribute that is requested, reported, or altered."""

    __slots__ = ()


class attropl(_Link):  # noqa: N801
    """An attribute with an operator: how to compare, or how to set."""

    __slots__ = ()


class batch_status:  # noqa: N801
    """One object of a status reply, and the next one. Its attributes are linked only when they are read, so that the
    links of a hundred thousand jobs are not in memory at once.
    """

    __slots__ = ("_texts", "name", "next", "text")

    def __init__(self, name: str, texts: Mapping[str, str], following: batch_status | None) -> None:
        self.name, self.next, self._texts = name, following, texts
        self.text: str | None = None

    @property
    def attribs(self) -> _Link | None:
        """The first of its attributes."""
        return _chain(self._texts)


class _Client:
    """The state of the C library: connections with their last error messages, and the last error number."""

    def __init__(self, server: SimServer) -> None:
        self.server = server
        self.errno = 0
        self.messages: dict[int, str | None] = {}
        self._last = 2

    def connect(self, name: str | None) -> int:
        if name not in (None, "", self.server.name, "localhost"):
            self.errno = 15008
            return -1
        self._last += 1
        self.messages[self._last] = None
        return self._last

    def disconnect(self, handle: int) -> int:
        if self.messages.pop(handle, self) is self:
            self.errno = PROTOCOL
        return 0

    def ask(
        self, handle: int, status: Callable[[], Stat], wanted: _Link | None, table: Sequence[str]
    ) -> batch_status | None:
        """A status request for the attributes in `wanted`, or all; one that is not in `table` is an error."""
        found: Stat = []

        def collect() -> None:
            names = [str(link.name) for link in _walk(wanted)]
            if any(name not in table for name in names):
                raise PbsError(UNDEFINED_ATTRIBUTE)
            found.extend((name, _choose(texts, names)) for name, texts in status())

        if self.do(handle, collect) == 0:
            self.messages[handle] = None
        head: batch_status | None = None
        for name, texts in reversed(found):
            head = batch_status(name, texts, head)
        return head

    def do(self, handle: int, request: Callable[[], None]) -> int:
        """Any request; returns 0 or the error number. The error message of a connection stays until its next
        refusal.
        """
        if handle not in self.messages:
            self.errno = PROTOCOL
            return PROTOCOL
        try:
            request()
        except PbsError as error:
            self.errno, self.messages[handle] = error.code, error.text
            return error.code
        self.errno = 0
        return 0


def make_pbs_ifl(server: SimServer) -> ModuleType:
    """The module over this server, with its own connections and error number."""
    module = ModuleType("pbs_ifl", "The simulated server's pbs_ifl.")
    client = _Client(server)
    for part in (_status_calls(client), _job_calls(client), _CONSTANTS):
        for name, value in part.items():
            setattr(module, name, value)
    return module


def _status_calls(client: _Client) -> Mapping[str, object]:
    server = client.server

    def jobs(wanted: _Link | None, extend: str | None, job_id: str | None = None) -> Stat:
        if wanted is None or any(link.name == "resources_used" for link in _walk(wanted)):
            server.refresh_used()
        return stat_jobs(server, job_id or "", extend or "")

    def select(criteria: _Link | None, wanted: _Link | None, extend: str | None) -> Stat:
        """Jobs in the requested states; with `T`, subjobs are matched one by one."""
        states = [link.value or "" for link in _walk(criteria, attropl)]
        if any(link.name != "job_state" for link in _walk(criteria, attropl)):
            raise PbsError(UNDEFINED_ATTRIBUTE)
        each = jobs(wanted, "t" if {"S", "T"}.intersection(extend or "") else "")
        return [(name, texts) for name, texts in each if all(texts["job_state"] in every for every in states)]

    return {
        "attrl": attrl,
        "attropl": attropl,
        "batch_status": batch_status,
        "get_pbs_errno": lambda: client.errno,
        "get_pbs_server": lambda: server.name,
        "pbs_default": lambda: server.name,
        "pbs_connect": client.connect,
        "pbs_disconnect": client.disconnect,
        "pbs_geterrmsg": client.messages.get,
        "pbs_statfree": _free,
        "pbs_statserver": lambda c, names, extend: client.ask(c, lambda: stat_server(server), names, _named(SERVER)),
        "pbs_statque": lambda c, name, names, extend: client.ask(
            c, lambda: stat_queues(server, name or ""), names, _named(QUEUE)
        ),
        "pbs_statvnode": lambda c, name, names, extend: client.ask(
            c, lambda: stat_vnodes(server, name or ""), names, _named(VNODE)
        ),
        "pbs_statjob": lambda c, job_id, names, extend: client.ask(
            c, lambda: jobs(names, extend, job_id), names, _named(JOB)
        ),
        "pbs_selstat": lambda c, criteria, names, extend: client.ask(
            c, lambda: select(criteria, names, extend), names, _named(JOB)
        ),
        "pbs_stathook": lambda c, name, names, extend: client.ask(c, list, names, ("enabled",)),
        "pbs_statsched": lambda c, names, extend: client.ask(c, lambda: stat_scheds(server), names, _named(SCHEDULER)),
        "pbs_statrsc": lambda c, name, names, extend: client.ask(
            c, lambda: stat_resources(server, name or ""), names, _RESOURCE_FLAGS
        ),
        "pbs_statresv": lambda c, name, names, extend: client.ask(c, list, names, tuple(_RESERVATION_ATTRIBUTES)),
    }


def _job_calls(client: _Client) -> Mapping[str, object]:
    server = client.server

    def start_without_reply(handle: int, job_id: str, exec_vnode: str) -> int:
        """A start whose outcome the caller does not get: a hook's rejection goes into the job's comment."""
        if handle not in client.messages:
            return client.do(handle, lambda: None)
        try:
            server.run_job(job_id, exec_vnode)
        except PbsError as error:
            if error.code == HOOK_REJECTED and server.look_up(job_id)[1] is None:
                server.alter_job(job_id, {"comment": f"Not Running: PBS Error: {error.text}"})
        return 0

    def signal(job_id: str, name: str) -> None:
        """Simulated programs take no signals; the job must run, and the signal exist."""
        parent, index = server.look_up(job_id)
        job = parent if index is None else parent.subjobs.get(index)
        if job is None or job.state not in ("R", "B"):
            raise PbsError(BAD_STATE)
        if f"SIG{name.removeprefix('SIG')}" not in Signals.__members__:
            raise PbsError(UNKNOWN_SIGNAL)

    def change(command: int, kind: int, name: str, changes: _Link | None) -> None:
        asked = [
            Change(str(link.name), link.resource or "", link.value or "", Operation(link.op))
            for link in _walk(changes, attropl)
        ]
        manage(server, Command(command), Object(kind), name or "", asked)

    return {
        "pbs_runjob": lambda c, job_id, where, extend: client.do(c, lambda: server.run_job(job_id, where or "")),
        "pbs_asyrunjob": lambda c, job_id, where, extend: start_without_reply(c, job_id, where or ""),
        "pbs_asyrunjob_ack": lambda c, job_id, where, extend: client.do(c, lambda: server.run_job(job_id, where or "")),
        "pbs_rerunjob": lambda c, job_id, extend: client.do(c, lambda: server.rerun_job(job_id)),
        "pbs_deljob": lambda c, job_id, extend: client.do(c, lambda: server.delete_job(job_id)),
        "pbs_holdjob": lambda c, job_id, holds, extend: client.do(c, lambda: server.hold_job(job_id, holds or "u")),
        "pbs_rlsjob": lambda c, job_id, holds, extend: client.do(c, lambda: server.release_job(job_id, holds or "u")),
        "pbs_movejob": lambda c, job_id, queue, extend: client.do(c, lambda: server.move_job(job_id, queue)),
        "pbs_sigjob": lambda c, job_id, name, extend: client.do(c, lambda: signal(job_id, name)),
        "pbs_alterjob": lambda c, job_id, changes, extend: client.do(
            c, lambda: server.alter_job(job_id, {_key(link): link.value or "" for link in _walk(changes)})
        ),
        "pbs_manager": lambda c, command, kind, name, changes, extend: client.do(
            c, lambda: change(command, kind, name, changes)
        ),
    }


_CONSTANTS: Mapping[str, object] = {
    **{operation.name: operation.value for operation in Operation},
    **{f"MGR_CMD_{command.name}": command.value for command in Command},
    **{f"MGR_OBJ_{kind.name}": kind.value for kind in Object},
    "EQ": 4, "NE": 5, "GE": 6, "GT": 7, "LE": 8, "LT": 9, "DFLT": 10,
}  # fmt: skip


def _named(table: Table) -> Sequence[str]:
    return tuple(table)


def _walk(link: _Link | None, kind: type[_Link] = attrl) -> Iterator[_Link]:
    """The attributes of a list of this kind; TypeError for the other kind, which SWIG does not accept either."""
    while link is not None:
        if not isinstance(link, kind):
            raise TypeError(f"argument of type 'struct {kind.__name__} *' expected, not '{type(link).__name__}'")
        yield link
        link = link.next


def _key(link: _Link) -> str:
    return f"{link.name}.{link.resource}" if link.resource else str(link.name)


def _free(answer: batch_status | None) -> None:
    """Free link by link: freeing a long chain at once would stop every other thread meanwhile."""
    while answer is not None:
        answer.next, answer = None, answer.next


def _choose(texts: Mapping[str, str], names: Sequence[str]) -> Mapping[str, str]:
    """The attributes of these names, and all resources of those that have one value for each resource."""
    if not names:
        return texts
    wanted = frozenset(names)
    return {key: text for key, text in texts.items() if split_key(key)[0] in wanted}


def _chain(texts: Mapping[str, str]) -> _Link | None:
    """Attributes as a linked list. Each entry of a limit is its own link, as the server sends them."""
    head: _Link | None = None
    for key, text in reversed(list(texts.items())):
        name, resource = split_key(key)
        first, *more = text.split(",[") if text[:1] == "[" and name.startswith(_LIMITS) else (text,)
        for entry in reversed(more):
            head = _link(name, resource, f"[{entry}", _INCR, head)
        head = _link(name, resource, first, _SET, head)
    return head


def _link(name: str, resource: str, value: str, op: int, following: _Link | None) -> _Link:
    link = attrl()
    link.name, link.resource, link.value, link.op, link.next = name, resource or None, value, op, following
    return link


_LIMITS = ("max_", "queued_jobs")
_SET, _INCR = Operation.SET.value, Operation.INCR.value
