"""One connection to a Torque server through ``libtorque.so.2``, by ctypes.

The library keeps the error number of its last call in one variable for the whole process, and a reply that comes after
a time-out is read as the answer to the next request (seen: no jobs, without an error). So a process has one connection,
a time-out drops it, and an empty list is believed only if the library says that there was no error.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from policy.model.printable_text import printable

LIBRARY = "libtorque.so.2"
GE, EQ = 6, 4
"""``enum batch_op`` of ``pbs_ifl.h``."""
_UNKNOWN_JOB = 15001
_NO_NODES = 15062
_LOST = frozenset({15031, 15033, 15034, 15085, 15096})
"""Error numbers after which a connection must not be used again: broken protocol, no reply, no connection, time-out."""
_MOST_TEXT = 1 << 20

Texts = dict[str, str]


class AttributeLink(ctypes.Structure):
    """``struct attrl``, which is ``struct attropl`` too."""


AttributeLink._fields_ = [
    ("next", ctypes.POINTER(AttributeLink)),
    ("name", ctypes.c_char_p),
    ("resource", ctypes.c_char_p),
    ("value", ctypes.c_char_p),
    ("op", ctypes.c_int),
]


class _Status(ctypes.Structure):
    """``struct batch_status``."""


_Status._fields_ = [
    ("next", ctypes.POINTER(_Status)),
    ("name", ctypes.c_char_p),
    ("attributes", ctypes.POINTER(AttributeLink)),
    ("text", ctypes.c_char_p),
]


def make_attributes(attributes: Sequence[tuple[str, str | None, str]], operations: Sequence[int] | None = None) -> Any:
    """A linked list of attributes (name, resource, value) for a request, each to be set unless ``operations`` say
    otherwise."""
    head: Any = None
    for (name, resource, value), operation in zip(reversed(attributes), reversed(operations or [0] * len(attributes))):
        of = resource.encode() if resource else None
        head = ctypes.pointer(AttributeLink(head, name.encode(), of, value.encode("utf-8", "replace"), operation))
    return head


class TorqueError(Exception):
    """The server refused a request or did not answer; ``code`` is Torque's error number, 0 if there is none."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class LibraryMissingError(Exception):
    """The library cannot be loaded; the message says why."""


def load_library(path: Path) -> Any:
    """The library at ``path``, with the types of its functions. Raises :class:`LibraryMissingError`."""
    try:
        library = ctypes.CDLL(str(path))
        library.pbs_connect.argtypes = [ctypes.c_char_p]
        library.pbs_disconnect.argtypes = [ctypes.c_int]
        library.pbs_geterrmsg.argtypes = [ctypes.c_int]
        library.pbs_geterrmsg.restype = ctypes.c_char_p
        library.pbs_statfree.argtypes = [ctypes.POINTER(_Status)]
        library.pbs_statfree.restype = None
        attributes = ctypes.POINTER(AttributeLink)
        for name, types in {
            "pbs_statjob": [ctypes.c_int, ctypes.c_char_p, attributes, ctypes.c_char_p],
            "pbs_statque": [ctypes.c_int, ctypes.c_char_p, attributes, ctypes.c_char_p],
            "pbs_statnode": [ctypes.c_int, ctypes.c_char_p, attributes, ctypes.c_char_p],
            "pbs_statserver": [ctypes.c_int, attributes, ctypes.c_char_p],
            "pbs_selstat": [ctypes.c_int, attributes, ctypes.c_char_p],
        }.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, ctypes.POINTER(_Status)
        ctypes.c_int.in_dll(library, "pbs_errno")
    except (OSError, AttributeError, ValueError) as error:
        raise LibraryMissingError(f"{path}: {error}") from error
    return library


def set_timeout(seconds: int) -> None:
    """How long a request may take, for all connections that this process opens from now on."""
    os.environ["PBSAPITIMEOUT"] = str(seconds)


class TorqueConnection:
    """One connection to a server (the host's own if none is named). Use it in a ``with`` statement.

    A call blocks the whole process, at most for what :func:`set_timeout` set.
    """

    def __init__(self, library: Any, server: str = "") -> None:
        self._library = library
        self._server = server
        self._errno = ctypes.c_int.in_dll(library, "pbs_errno")
        self._handle = library.pbs_connect(os.fsencode(server) if server else None)
        if self._handle < 0:
            # The handle is Torque's error number or the system's, negative; -1 says nothing.
            code = abs(self._handle) if self._handle < -1 else self._errno.value
            raise TorqueError(f"cannot connect to {server or 'the Torque server'}: error {code}", code)
        self._lost = False

    def __enter__(self) -> TorqueConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.pbs_disconnect(self._handle)

    def read_server(self) -> tuple[str, Texts]:
        """The server's name and attributes."""
        found = dict(self._walk("server", lambda: self._library.pbs_statserver(self._handle, None, None)))
        if not any("server_state" in texts for texts in found.values()):
            raise TorqueError("the server's answer is not the server's attributes")
        return next(iter(found.items()))

    def walk_queues(self) -> Iterator[tuple[str, Texts]]:
        """All queues by name."""
        return self._walk("queues", lambda: self._library.pbs_statque(self._handle, None, None, None))

    def walk_nodes(self) -> Iterator[tuple[str, Texts]]:
        """All nodes by name; none if the server has none."""
        return self._walk("nodes", lambda: self._library.pbs_statnode(self._handle, None, None, None), (_NO_NODES,))

    def walk_jobs(self) -> Iterator[tuple[str, Texts]]:
        """All jobs, arrays and subjobs, also those that have ended a short while ago, by id. All attributes: to name
        the few dozen that are used takes the server longer."""
        return self._walk("jobs", lambda: self._library.pbs_statjob(self._handle, None, None, None))

    def walk_job_ids(self) -> Iterator[str]:
        """The ids of all jobs: the cheapest list of them."""
        names = ctypes.pointer(AttributeLink(None, b"job_state", None, None, 0))
        ask = lambda: self._library.pbs_statjob(self._handle, None, names, None)  # noqa: E731 - a call, later
        for job_id, _ in self._walk("job ids", ask):
            yield job_id

    def walk_changed_jobs(self, since_s: int) -> Iterator[tuple[str, Texts]]:
        """The jobs, arrays and subjobs that changed at or after ``since_s``, a second of the server's clock."""
        return self._select([("mtime", str(since_s), GE)])

    def walk_jobs_in_state(self, state: str) -> Iterator[tuple[str, Texts]]:
        """The jobs and subjobs in one of Torque's states."""
        return self._select([("job_state", state, EQ)])

    def read_job(self, job_id: str) -> Texts | None:
        """One job; None if there is none of that id."""
        ask = lambda: self._library.pbs_statjob(self._handle, job_id.encode(), None, None)  # noqa: E731 - a call, later
        return dict(self._walk(job_id, ask, (_UNKNOWN_JOB,))).get(job_id)

    def request(self, function: Callable[..., int], *arguments: Any) -> None:
        """Make a request that changes something, by one of the library's functions; texts are the library's bytes
        already or text. Raises :class:`TorqueError` with the server's refusal."""
        if self._lost:
            raise TorqueError("the connection was given up after a time-out")
        given = (each.encode("utf-8", "replace") if isinstance(each, str) else each for each in arguments)
        self._errno.value = 0
        status = function(self._handle, *given)
        if status == 0:
            return
        code = self._errno.value or abs(status)
        self._lost = code in _LOST
        raise TorqueError(self._complaint(code), code)

    def _select(self, criteria: Sequence[tuple[str, str, int]]) -> Iterator[tuple[str, Texts]]:
        head = make_attributes([(name, None, value) for name, value, _ in criteria], [each[2] for each in criteria])
        yield from self._walk("changed jobs", lambda: self._library.pbs_selstat(self._handle, head, None))

    def _walk(self, what: str, ask: Callable[[], Any], empty: Sequence[int] = ()) -> Iterator[tuple[str, Texts]]:
        if self._lost:
            raise TorqueError(f"cannot read the {what}: the connection was given up after a time-out")
        self._errno.value = 0
        answer = ask()
        if not answer:
            code = self._errno.value
            if code in _LOST:
                self._lost = True
            if code and code not in empty:
                raise TorqueError(f"cannot read the {what}: {self._complaint(code)}", code)
            return
        try:
            link = answer
            while link:
                status = link.contents
                yield _clean(status.name), _texts_of(status)
                link = status.next
        finally:
            self._library.pbs_statfree(answer)

    def _complaint(self, code: int) -> str:
        message = None if self._lost else self._library.pbs_geterrmsg(self._handle)
        return f"{printable(_clean(message))} ({code})" if message else f"error {code}"


def _texts_of(status: Any) -> Texts:
    """An object's attributes; resources under dotted names, as in PBS."""
    texts: Texts = {}
    link = status.attributes
    while link:
        attribute = link.contents
        name = _clean(attribute.name)
        key = f"{name}.{_clean(attribute.resource)}" if attribute.resource else name
        value = _clean(attribute.value or b"")
        texts[key] = f"{texts[key]},{value}" if key in texts else value
        link = attribute.next
    return texts


def _clean(text: bytes) -> str:
    """The text with what is not UTF-8 replaced, and cut where it is out of all measure."""
    return text[:_MOST_TEXT].decode("utf-8", "replace")
