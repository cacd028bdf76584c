"""Torque's library with the functions and objects of PBS's module ``pbs_ifl``, as far as passes use them to act.

Torque would start a held job, and run a job again that has ended, so each job is read right before the request. After
a time-out a connection answers nothing more.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable

from hooks.pbs.client.attribute_lists_of_pbs_ifl import walk
from hooks.pbs.job_attributes.job_ids_and_states import is_array, subjob_id
from hooks.pbs.job_attributes.victim_mark import MARK_ATTRIBUTE, MARK_KEY, read_marks, show_marks
from torque.read.libtorque_connection import AttributeLink, TorqueConnection, TorqueError, make_attributes
from torque.translate.exec_host_as_exec_vnode import node_list_for_qrun
from torque.translate.jobs import MARK, read_job

_NO_SUCH_JOB = 15001
_NO_SUCH_HOOK = 15136
_BAD_STATE = 15018
_FINISHED = 15139
"""Error numbers: the first two are Torque's and PBS's, the last is PBS's for a job that has ended."""
_NOT_OFFERED = 15029
_UNTIL_REQUEUED_S = 3.0
_LOOK_AGAIN_S = 0.05
_RUNS = "R"


class _Link:
    """An attribute, or an object of an answer (``name``, ``attribs``), in a linked list."""

    def __init__(self, name: str, resource: str | None = None, value: str = "") -> None:
        self.name, self.resource, self.value = name, resource, value
        self.op = 0
        self.attribs: Any = None
        self.next: Any = None


class TorqueAsPbsIfl:
    """The module, for one server. ``Handle``s are numbers; each stands for a connection of its own.

    A process with several connections uses them one after another, as the library has one error number for all.
    """

    EQ, GE, SET, UNSET, INCR, DECR = 4, 6, 0, 1, 2, 3
    MGR_CMD_SET, MGR_CMD_UNSET = 2, 3
    MGR_OBJ_SERVER, MGR_OBJ_QUEUE, MGR_OBJ_SCHED = 0, 1, 6

    def __init__(
        self, library: Any, server: str = "", connect: Callable[[Any, str], TorqueConnection] = TorqueConnection
    ) -> None:
        self._library, self._server, self._connect = library, server, connect
        if connect is TorqueConnection:
            # Its presence says that the server is a real one (hooks.pbs.client.pbs_ifl_client.is_real_server).
            self._pbs_ifl = library
        self._open: dict[int, TorqueConnection] = {}
        self._code, self._message = 0, ""
        attributes = ctypes.POINTER(AttributeLink)
        for name, types in {
            "pbs_alterjob": [ctypes.c_int, ctypes.c_char_p, attributes, ctypes.c_char_p],
            "pbs_asyrunjob": [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p],
            "pbs_rerunjob": [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p],
            "pbs_rlsjob": [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p],
            "pbs_sigjob": [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p],
        }.items():
            getattr(library, name).argtypes = types

    def connection(self, handle: int) -> TorqueConnection:
        """The connection of a handle, to read from."""
        return self._open[handle]

    # As in PBS's module

    def attrl(self) -> _Link:
        """An attribute for a request."""
        return _Link("")

    attropl = attrl

    def pbs_connect(self, server: str | None) -> int:
        """Connect; -1 if that fails."""
        try:
            connection = self._connect(self._library, server or self._server)
        except TorqueError as error:
            self._keep(error)
            return -1
        handle = max(self._open, default=0) + 1
        self._open[handle] = connection
        return handle

    def pbs_disconnect(self, handle: int) -> int:
        """End a connection."""
        self._open.pop(handle).__exit__(None, None, None)
        return 0

    def get_pbs_errno(self) -> int:
        """The error number of the last request; 0 if it was executed."""
        return self._code

    def pbs_geterrmsg(self, _handle: int) -> str:
        """The message of the last refusal, without its number."""
        return self._message

    def pbs_statfree(self, _answer: Any) -> None:
        """Nothing: an answer is plain objects."""

    def pbs_stathook(self, _handle: int, name: str, _names: Any, _extend: str | None) -> None:
        """No hook of this name: Torque has none."""
        self._code, self._message = _NO_SUCH_HOOK, f"{name} does not exist!"

    def pbs_statjob(self, handle: int, job_ids: str, _names: Any, _extend: str | None) -> Any:
        """Those of the jobs (ids with commas between) that the server knows, in PBS's words."""
        first = last = None
        for job_id in job_ids.split(","):
            texts = self._look(handle, job_id)
            if texts is None:
                return None
            if not texts:
                continue
            status = _Link(job_id)
            status.attribs = _chain(read_job(texts, ()))
            if last is None:
                first = status
            else:
                last.next = status
            last = status
        if first is None:
            self._refuse(_NO_SUCH_JOB, "Unknown Job Id")
        return first

    def pbs_asyrunjob(self, handle: int, job_id: str, exec_vnode: str, _extend: str | None) -> int:
        """Start a job that waits and is not held on so many slots of each host. Which slots is Torque's choice."""
        texts = self._look(handle, job_id)
        if texts is None:
            return self._code
        if texts.get("job_state", "") != "Q":
            state = texts.get("job_state", "") or "gone"
            return self._refuse(_BAD_STATE, f"it no longer waits (state {state}, holds {texts.get('Hold_Types', 'n')})")
        where = node_list_for_qrun(exec_vnode)
        if not where:
            return self._refuse(_BAD_STATE, f"{exec_vnode[:200]!r} names no slots")
        return self._request(handle, "pbs_asyrunjob", job_id, where, None)

    pbs_asyrunjob_ack = pbs_asyrunjob

    def pbs_rerunjob(self, handle: int, job_id: str, _extend: str | None) -> int:
        """Requeue a job that runs, and wait a while until that run is over: Torque answers before."""
        texts = self._look(handle, job_id)
        if texts is None:
            return self._code
        if texts.get("job_state", "") != _RUNS:
            return self._refuse(_FINISHED, "it does not run, and Torque would run a job again that has ended")
        status = self._request(handle, "pbs_rerunjob", job_id, None)
        until_s = time.monotonic() + _UNTIL_REQUEUED_S
        while status == 0 and time.monotonic() < until_s:
            now = self._look(handle, job_id)
            if now is None or (now.get("job_state", ""), now.get("start_count", "")) != (
                _RUNS, texts.get("start_count", ""),
            ):  # fmt: skip
                break
            time.sleep(_LOOK_AGAIN_S)
        return status

    def pbs_sigjob(self, handle: int, job_id: str, name: str, _extend: str | None) -> int:
        """Send a signal to all processes of a running job."""
        return self._request(handle, "pbs_sigjob", job_id, f"SIG{name.removeprefix('SIG')}", None)

    def pbs_rlsjob(self, handle: int, job_id: str, holds: str, _extend: str | None) -> int:
        """Release holds of a job."""
        return self._request(handle, "pbs_rlsjob", job_id, holds, None)

    def pbs_alterjob(self, handle: int, job_id: str, attributes: Any, _extend: str | None) -> int:
        """Change a job. Its chunks are not changed: where it starts, and on how many slots, is part of its start.

        The marks of subjobs, which PBS has on their array, go to each subjob: Torque would give all of them to all.
        """
        wanted = [(link.name, link.resource, link.value or "") for link in walk(attributes)]
        mark = next((value for name, _, value in wanted if name == MARK_ATTRIBUTE), None)
        if mark is None or not is_array(job_id):
            return self._alter(handle, job_id, wanted)
        others = [each for each in wanted if each[0] != MARK_ATTRIBUTE]
        for index, own in read_marks({MARK_KEY: mark}).items():
            if index is not None:
                change = (MARK_ATTRIBUTE, None, show_marks({index: own}))
                status = self._alter(handle, subjob_id(job_id, index), [change, *others])
                if status not in (0, _NO_SUCH_JOB, _BAD_STATE):
                    return status
        # One that has ended meanwhile needs no mark.
        return self._done()

    def _alter(self, handle: int, job_id: str, wanted: Sequence[tuple[str, str | None, str]]) -> int:
        changes = [
            _in_torques_words(*each) for each in wanted if not (each[0] == "Resource_List" and each[1] in _CHUNKS)
        ]
        if not changes:
            return self._done()
        return self._request(handle, "pbs_alterjob", job_id, make_attributes(changes), None)

    def pbs_manager(
        self, _handle: int, _command: int, kind: int, _name: str, _attributes: Any, _extend: str | None
    ) -> int:
        """Switching a scheduler does nothing, as Torque has no such object; other changes are refused."""
        if kind == self.MGR_OBJ_SCHED:
            return self._done()
        return self._refuse(_NOT_OFFERED, "Torque has no soft limits: quotas are in the settings file")

    # Requests

    def _look(self, handle: int, job_id: str) -> Mapping[str, str] | None:
        """The job in Torque's words right now; empty if there is none, None if the server did not answer."""
        try:
            texts = self._open[handle].read_job(job_id)
        except TorqueError as error:
            self._keep(error)
            return None
        self._done()
        return texts or {}

    def _request(self, handle: int, function: str, *arguments: Any) -> int:
        try:
            self._open[handle].request(getattr(self._library, function), *arguments)
        except TorqueError as error:
            return self._keep(error)
        return self._done()

    def _done(self) -> int:
        self._code, self._message = 0, ""
        return 0

    def _refuse(self, code: int, message: str) -> int:
        self._code, self._message = code, message
        return code

    def _keep(self, error: TorqueError) -> int:
        # A connection that was given up has no number of its own.
        return self._refuse(error.code or _NOT_OFFERED, str(error))


_CHUNKS = frozenset({"select", "place", "pbsteer_asked", "ncpus"})


def _in_torques_words(name: str, resource: str | None, value: str) -> tuple[str, str | None, str]:
    return (MARK, None, value) if name == MARK_ATTRIBUTE else (name, resource, value)


def _chain(texts: Mapping[str, str]) -> Any:
    first = last = None
    for link in _links(texts):
        if last is None:
            first = link
        else:
            last.next = link
        last = link
    return first


def _links(texts: Mapping[str, str]) -> Iterator[_Link]:
    for key, value in texts.items():
        name, dot, resource = key.partition(".")
        yield _Link(name, resource if dot else None, value)
