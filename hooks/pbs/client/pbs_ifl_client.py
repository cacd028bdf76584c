"""The PBS server through pbs_ifl: one connection that reads its status and carries out requests.

The module ``pbs_ifl`` is an argument, since it comes with PBS and a simulated server has its own. A refused request
raises :class:`IflError` with the server's message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Callable

from hooks.pbs.client.attribute_lists_of_pbs_ifl import AttributeChain, CriteriaChain, clean, texts_of, walk
from hooks.pbs.client.manager_requests import ManagerRequests
from hooks.pbs.job_attributes.job_ids_and_states import is_array, is_subjob, may_have_runs
from hooks.pbs.job_attributes.victim_mark import MARK_ATTRIBUTE, MARK_RESOURCE
from hooks.pbs.server_status_type_and_attributes import (
    ENDED_ATTRIBUTES,
    JOB_ATTRIBUTES,
    NAME,
    QUEUE_ATTRIBUTES,
    RESERVATION_ATTRIBUTES,
    SCHED_ATTRIBUTES,
    SERVER_ATTRIBUTES,
    USED,
    VNODE_ATTRIBUTES,
    ServerStatus,
)
from policy.model.printable_text import printable

_GONE = (15001, 15139)
"""Error numbers for an unknown job and for one that has ended."""
_UNKNOWN_ATTRIBUTE = 15002
_NO_VNODES = (15062, 15064)
"""Error numbers if no vnode matches, and if the server has none at all."""
NOT_RUNNING = frozenset({15001, 15016, 15139})
"""Error numbers for an unknown job, one in a state for which the request is invalid (not running, or exiting), and a
finished one (pbs_error.h)."""
_NO_SIGNAL = "STILLRUNNING"
"""No signal has this name. PBS takes 16 characters, of which Torque's ``SIG`` is a part."""
_ENDED = 15031
"""The server ended the connection in the middle of its answer (``PBSE_PROTOCOL``), as it does when it is stopped."""
HOLDING_STATES = "RES"
"""The states in which a job, or a subjob, holds vnodes."""
_HOLDING_SUBJOBS = "S"
"""Extends a selection by the subjobs that run, exit or are suspended, and adds arrays themselves. PBS's ``T`` extends
it by all subjobs, and looks at each index of an array for that: seconds, for one of millions."""
_SUBMITTED, _REMAINING = "array_indices_submitted", "array_indices_remaining"
_ENDED_STATES = "F"

HOLD = "s"
"""The hold of managers and the system, which a job's owner cannot release."""

Texts = dict[str, str]


def is_real_server(pbs_ifl: Any) -> bool:
    """Whether the module is PBS's own, which SWIG makes and whose C half is ``_pbs_ifl``.

    Any other is of a simulated server: that lives in this process, which must not be forked, and has its own clock.
    """
    return hasattr(pbs_ifl, "_pbs_ifl")


class IflError(Exception):
    """The server refused a request or did not answer. The message names the request and quotes the server; ``code`` is
    the server's error number (0 if there was no answer)."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class ServerAwayError(IflError):
    """The server takes no connection, or has ended it: it is down, or about to be."""


class Connection(ManagerRequests):
    """One connection to a server (the host's own if none is named). Use it in a ``with`` statement.

    A call blocks the whole process until the server answers.
    """

    def __init__(self, pbs_ifl: Any, server: str | None = None) -> None:
        self._ifl = pbs_ifl
        self._chains: dict[tuple[str, ...], AttributeChain] = {}
        self._handle = pbs_ifl.pbs_connect(server)
        if self._handle < 0:
            raise ServerAwayError(f"cannot connect to {server or 'the PBS server'}: error {pbs_ifl.get_pbs_errno()}")

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ifl.pbs_disconnect(self._handle)

    # Reading

    def read_server_status(
        self, time_s: float, find_more: Callable[[ServerStatus], Sequence[str]] | None = None
    ) -> ServerStatus:
        """The whole server status, with the named attributes; ``time_s`` is the caller's clock. ``find_more`` gets the
        status before the jobs are read, and returns further attributes to read of them."""
        status = self.read_all_else(time_s, self.read_server())
        more = () if find_more is None else find_more(status)
        return replace(status, jobs=dict(self.walk_jobs(more)), vnodes=dict(self.walk_vnodes()))

    def read_server(self, more: Sequence[str] = ()) -> Texts:
        """The server's own attributes with its name; ``more`` are further attributes to read."""
        ifl, handle = self._ifl, self._handle
        names = (*SERVER_ATTRIBUTES, *more)
        servers = self._read("server", names, lambda names: ifl.pbs_statserver(handle, names, None))
        name, server = next(iter(servers.items()))
        return {NAME: name, **server}

    def read_counts(self) -> str:
        """The server's job counts by state, as its text (``Queued:3 Running:1``)."""
        ifl, handle = self._ifl, self._handle
        servers = self._read("server", ("state_count",), lambda names: ifl.pbs_statserver(handle, names, None))
        return "".join(texts.get("state_count", "") for texts in servers.values())

    def read_reservation_states(self) -> dict[str, str]:
        """The state of each reservation, by its name."""
        ifl, handle = self._ifl, self._handle
        found = self._read(
            "reservations", ("reserve_state",), lambda names: ifl.pbs_statresv(handle, None, names, None)
        )
        return {name: texts.get("reserve_state", "") for name, texts in found.items()}

    def read_all_else(self, time_s: float, server: Texts) -> ServerStatus:
        """A server status without jobs and vnodes, the two large parts."""
        ifl, handle = self._ifl, self._handle
        return ServerStatus(
            time_s,
            server,
            self._read_queues(),
            {},
            {},
            self._read("resources", (), lambda names: ifl.pbs_statrsc(handle, None, names, None)),
            self._read_scheds(),
            self._read(
                "reservations", RESERVATION_ATTRIBUTES, lambda names: ifl.pbs_statresv(handle, None, names, None)
            ),
        )

    def walk_vnodes(self) -> Iterator[tuple[str, Texts]]:
        """All vnodes by name, one after another."""
        ifl, handle = self._ifl, self._handle
        return self._walk("vnodes", VNODE_ATTRIBUTES, lambda names: ifl.pbs_statvnode(handle, None, names, None))

    def walk_jobs(self, more: Sequence[str] = ()) -> Iterator[tuple[str, Texts]]:
        """All jobs and arrays by id, then the subjobs that hold vnodes, one after another; ``more`` are further
        attributes to read of each."""
        ifl, handle = self._ifl, self._handle
        names = (*JOB_ATTRIBUTES, *more)
        begun = False
        ask = lambda names: ifl.pbs_statjob(handle, None, names, None)  # noqa: E731 - as in the other walks
        for job_id, texts in self._walk("jobs", (*names, _SUBMITTED), ask):
            submitted, remaining = texts.pop(_SUBMITTED, ""), texts.get(_REMAINING, "")
            begun = begun or may_have_runs(job_id, texts.get("job_state", ""), submitted, remaining)
            yield job_id, texts
        if begun:
            held = self._walk_selected("subjobs", [("job_state", HOLDING_STATES, ifl.EQ)], names, _HOLDING_SUBJOBS)
            yield from ((job_id, texts) for job_id, texts in held if is_subjob(job_id))

    def read_states(self) -> dict[str, str]:
        """The state letter of each job and array that has not ended: the cheapest list of them."""
        ifl, handle = self._ifl, self._handle
        found = self._walk("states", ("job_state",), lambda names: ifl.pbs_statjob(handle, None, names, None))
        return {job_id: texts.get("job_state", "") for job_id, texts in found}

    def read_changed_jobs(self, since_s: int, more: Sequence[str], *, ended: bool, subjobs: bool) -> dict[str, Texts]:
        """The jobs and arrays that changed at or after ``since_s``, a second of the server's clock. With ``ended``:
        also jobs of the history that ended since. With ``subjobs``: also subjobs that hold vnodes, and ``ended`` has
        no effect."""
        extend = _HOLDING_SUBJOBS if subjobs else "x" if ended else None
        criteria = [("mtime", str(since_s), self._ifl.GE)]
        return dict(self._walk_selected("changed jobs", criteria, (*JOB_ATTRIBUTES, *more), extend))

    def read_subjobs(self) -> frozenset[str]:
        """The ids of all jobs that hold vnodes, each subjob by itself."""
        criteria = [("job_state", HOLDING_STATES, self._ifl.EQ)]
        found = self._walk_selected("subjobs", criteria, ("job_state",), _HOLDING_SUBJOBS)
        return frozenset(job_id for job_id, _ in found if not is_array(job_id))

    def read_begun_arrays(self, more: Sequence[str]) -> dict[str, Texts]:
        """The arrays of which subjobs have started."""
        criteria = [("job_state", "B", self._ifl.EQ)]
        return dict(self._walk_selected("arrays", criteria, (*JOB_ATTRIBUTES, *more), None))

    def read_ended(self, since_s: float) -> dict[str, Texts]:
        """The jobs of the server's history that ended since then; the server refuses this if it keeps no history."""
        ifl = self._ifl
        criteria = [("job_state", _ENDED_STATES, ifl.EQ), ("mtime", str(int(since_s)), ifl.GE)]
        return dict(self._walk_selected("ended jobs", criteria, ENDED_ATTRIBUTES, "x"))

    def read_used(self) -> dict[str, Texts]:
        """What jobs and subjobs that hold vnodes have used so far, by the resources of :data:`USED`."""
        criteria = [("job_state", HOLDING_STATES, self._ifl.EQ)]
        found = self._walk_selected("used resources", criteria, ("resources_used",), _HOLDING_SUBJOBS)
        return {
            job_id: kept
            for job_id, texts in found
            for kept in [{name: texts[name] for name in USED if name in texts}]
            if kept
        }

    def read_service(self, time_s: float) -> ServerStatus:
        """Only the queues and schedulers: which scheduler serves which queue, even if nothing else can be read."""
        return ServerStatus(time_s, {}, self._read_queues(), {}, {}, {}, self._read_scheds())

    def read_jobs(self, attributes: Sequence[str]) -> dict[str, Texts]:
        """These attributes of all jobs and arrays that have not ended."""
        ifl = self._ifl
        return self._read("jobs", attributes, lambda names: ifl.pbs_statjob(self._handle, None, names, None))

    def read_job(self, job_id: str, attributes: Sequence[str]) -> Texts:
        """These attributes of one job, array or subjob. Raises :class:`IflError` if there is no such job."""
        ifl = self._ifl
        found = self._read(job_id, attributes, lambda names: ifl.pbs_statjob(self._handle, job_id, names, None))
        return found.get(job_id, {})

    def read_these_jobs(self, job_ids: Sequence[str], attributes: Sequence[str]) -> dict[str, Texts]:
        """These attributes of those of the jobs, arrays and subjobs that still exist."""
        ids = ",".join(job_ids)
        try:
            return self._read("jobs", attributes, lambda names: self._ifl.pbs_statjob(self._handle, ids, names, None))
        except IflError as error:
            if error.code in _GONE:
                return {}
            raise

    def read_vnode(self, name: str, attributes: Sequence[str]) -> Texts:
        """These attributes of one vnode. Raises :class:`IflError` if there is no such vnode."""
        ifl = self._ifl
        found = self._read(name, attributes, lambda names: ifl.pbs_statvnode(self._handle, name, names, None))
        return found.get(name, {})

    def read_server_status_of(self, job_id: str, more: Sequence[str]) -> Texts:
        """The attributes of one job or array that a server status has, and ``more``; empty if the job has ended
        meanwhile."""
        try:
            return self.read_job(job_id, (*JOB_ATTRIBUTES, *more))
        except IflError as error:
            if error.code:
                return {}
            raise

    def _read_queues(self) -> dict[str, Texts]:
        return self._read(
            "queues", QUEUE_ATTRIBUTES, lambda names: self._ifl.pbs_statque(self._handle, None, names, None)
        )

    def _read_scheds(self) -> dict[str, Texts]:
        return self._read(
            "schedulers", SCHED_ATTRIBUTES, lambda names: self._ifl.pbs_statsched(self._handle, names, None)
        )

    def _walk_selected(
        self, what: str, criteria: Sequence[tuple[str, str, int]], attributes: Sequence[str], extend: str | None
    ) -> Iterator[tuple[str, Texts]]:
        """The jobs that meet all of the criteria (attribute, value, comparison)."""
        ifl, chain = self._ifl, CriteriaChain(self._ifl, criteria)
        yield from self._walk(what, attributes, lambda names: ifl.pbs_selstat(self._handle, chain.head, names, extend))

    def _read(self, what: str, attributes: Sequence[str], ask: Any) -> dict[str, Texts]:
        return dict(self._walk(what, attributes, ask))

    def _walk(self, what: str, attributes: Sequence[str], ask: Any) -> Iterator[tuple[str, Texts]]:
        answer = ask(self._chain_of_names(tuple(attributes)).head)
        if not answer and attributes and self._errno() == _UNKNOWN_ATTRIBUTE:
            answer = ask(None)
        if not answer and self._errno() not in (0, *_NO_VNODES):
            kind = ServerAwayError if self._errno() == _ENDED else IflError
            raise kind(f"cannot read the {what}: {self._complaint()}", self._errno())
        try:
            for status in walk(answer):
                yield clean(status.name), texts_of(status)
        finally:
            if answer:
                self._ifl.pbs_statfree(answer)

    def _chain_of_names(self, names: tuple[str, ...]) -> AttributeChain:
        """The list of these attributes, made once for all requests of this connection."""
        chain = self._chains.get(names)
        if chain is None:
            chain = self._chains[names] = AttributeChain(self._ifl, [(name, None, "") for name in names])
        return chain

    # Acting

    most_starts_without_reply = 30
    """Starts in a row without waiting for a reply: some tenths of a second for a server that runs hooks for each."""

    @property
    def confirms_starts(self) -> bool:
        """Whether the server confirms starts; versions before 2022 do not."""
        return hasattr(self._ifl, "pbs_asyrunjob_ack")

    def start(self, job_id: str, exec_vnode: str) -> None:
        """Start a job or subjob exactly there. Returns when the server has accepted it, not when the job runs."""
        status = self._ifl.pbs_asyrunjob_ack(self._handle, job_id, exec_vnode, None)
        self._demand(status, f"start {job_id} on {exec_vnode}")

    def start_without_reply(self, job_id: str, exec_vnode: str) -> None:
        """Request a start without waiting for a reply, as PBS sends none. If a hook rejects it, the message goes into
        the job's comment. Requests of one connection are served in their order."""
        status = self._ifl.pbs_asyrunjob(self._handle, job_id, exec_vnode, None)
        self._demand(status, f"start {job_id} on {exec_vnode}")

    def requeue(self, job_id: str, *, force: bool = False) -> None:
        """End a running job and queue it again. The server answers when the job has ended, which may take a minute.

        With ``force`` it answers at once and queues the job whatever its MoM does: also one whose files are still being
        brought, which it refuses otherwise."""
        status = self._ifl.pbs_rerunjob(self._handle, job_id, "force" if force else None)
        self._demand(status, f"requeue {job_id}")

    def delete(self, job_id: str) -> None:
        """Delete a job."""
        self._demand(self._ifl.pbs_deljob(self._handle, job_id, None), f"delete {job_id}")

    def signal(self, job_id: str, name: str) -> None:
        """Send a signal (``USR2``) to all processes of a running job. Its MoM has to answer, which may take a while."""
        self._demand(self._ifl.pbs_sigjob(self._handle, job_id, name, None), f"send {name} to {job_id}")

    def has_ended_at_host(self, job_id: str) -> bool:
        """Whether the MoM says that a job has ended which the server still has as running (docs/saving.md, "What counts
        as the end of a job").

        The MoM is sent a signal that does not exist, which it answers before it looks for a process: with an error; or
        with none, if it has reported the job's end, after it has reported it again."""
        try:
            self.signal(job_id, _NO_SIGNAL)
        except IflError as error:
            return error.code in NOT_RUNNING
        return True

    def checkpoint(self, job_id: str) -> None:
        """Hold a running job with its MoM's checkpoint action, which ends it; without an action it runs on, held."""
        self._demand(self._ifl.pbs_holdjob(self._handle, job_id, HOLD, None), f"checkpoint {job_id}")

    def release(self, job_id: str) -> None:
        """Release the system's hold, and no other one."""
        self._demand(self._ifl.pbs_rlsjob(self._handle, job_id, HOLD, None), f"release {job_id}")

    def set_mark(self, job_id: str, text: str, holds: str = "", comment: str = "") -> None:
        """Write the mark of a job or array (:mod:`hooks.pbs.job_attributes.victim_mark`); an empty text removes it.
        ``holds`` (``s``, ``us``) and ``comment`` are set in the same request, which the server executes completely or
        not at all; holds set this way do not checkpoint a running job."""
        others = {"Hold_Types": holds, "comment": printable(comment)}
        attributes = [(name, None, value) for name, value in others.items() if value]
        self._alter(job_id, (MARK_ATTRIBUTE, MARK_RESOURCE, text), *attributes)

    def set_comment(self, job_id: str, comment: str) -> None:
        """Set the comment of a job or an array; nothing happens if it has ended meanwhile."""
        try:
            self._alter(job_id, ("comment", None, printable(comment)))
        except IflError as error:
            if error.code not in _GONE:
                raise

    def set_chunks(self, job_id: str, chunks: Mapping[str, str]) -> None:
        """Change the chunks of a waiting job (``select``, ``place``, its own select; an empty text unsets). PBS writes
        the node file by these, wherever the job starts."""
        self._alter(job_id, *(("Resource_List", name, text) for name, text in chunks.items()))

    def set_priority(self, job_id: str, priority: int) -> None:
        """Set the priority of a job or array, from -1024 to 1023."""
        self._alter(job_id, ("Priority", None, str(priority)))

    def set_walltime(self, job_id: str, walltime: str) -> None:
        """Set the walltime of a waiting job."""
        self._alter(job_id, ("Resource_List", "walltime", walltime))

    def _alter(self, job_id: str, *attributes: tuple[str, str | None, str]) -> None:
        chain = AttributeChain(self._ifl, attributes)
        what = f"set the {' and '.join(resource or name for name, resource, _ in attributes)} of {job_id}"
        self._demand(self._ifl.pbs_alterjob(self._handle, job_id, chain.head, None), what)

    def _demand(self, status: int, what: str) -> None:
        if status != 0:
            raise IflError(f"cannot {what}: {self._complaint()}", self._errno())

    def _errno(self) -> int:
        return int(self._ifl.get_pbs_errno())

    def _complaint(self) -> str:
        message = self._ifl.pbs_geterrmsg(self._handle)
        return f"{clean(message)} ({self._errno()})" if message else f"error {self._errno()}"
