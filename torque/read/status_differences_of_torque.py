"""What a Torque server has changed since the last request, as the differences with which a console updates its status.

The wire format is that of :mod:`hooks.reader.status_differences`. Later answers ask for the jobs that changed since the
newest change seen (``mtime``, by the server's clock). The server's own count of jobs is compared with those known each
time: where they differ, the ids of all jobs are listed, and where that does not explain it everything is read anew. A
list that is shorter than the server's count is not believed (:mod:`torque.read.believe_job_list`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from hooks.pbs.server_status_type_and_attributes import NAME, Attributes
from hooks.reader.rows_with_shared_keys import Part, Rows, rest_of
from torque.read.believe_job_list import ReadingUser, count_jobs, why_not_believed
from torque.read.libtorque_connection import TorqueError
from torque.translate.arrays import fold_arrays
from torque.translate.jobs import read_job
from torque.translate.nodes import read_node
from torque.translate.server_status import status_of

WHOLE_AGAIN_S = 600.0

Texts = dict[str, str]


class Source(Protocol):
    """A connection to a server (:mod:`torque.read.libtorque_connection`)."""

    def read_server(self) -> tuple[str, Texts]:
        """The server's name and attributes."""

    def walk_queues(self) -> Iterator[tuple[str, Texts]]:
        """All queues by name."""

    def walk_nodes(self) -> Iterator[tuple[str, Texts]]:
        """All nodes by name."""

    def walk_jobs(self) -> Iterator[tuple[str, Texts]]:
        """All jobs by id."""

    def walk_job_ids(self) -> Iterator[str]:
        """The ids of all jobs."""

    def walk_changed_jobs(self, since_s: int) -> Iterator[tuple[str, Texts]]:
        """The jobs that changed at or after a second of the server's clock."""


class TorqueDifferences:
    """The differences for one console. After an answer that was not delivered to its end, call :meth:`forget`."""

    def __init__(self, reader: ReadingUser) -> None:
        self._reader = reader
        self.forget()

    def forget(self) -> None:
        """Begin anew: the next answer is whole."""
        self._rows = Rows()
        self._jobs: dict[str, Texts] = {}
        self._sent: dict[str, dict[str, Attributes]] = {"jobs": {}, "vnodes": {}}
        self._nodes: frozenset[str] = frozenset()
        self._newest_s = 0
        self._whole_s: float | None = None

    def answer(self, source: Source, time_s: float, *, whole: bool = False) -> Iterator[Part]:
        """The next answer; ``time_s`` is the caller's clock. Raises :class:`TorqueError`."""
        begun_anew = whole or self._whole_s is None or not 0 <= time_s - self._whole_s < WHOLE_AGAIN_S
        if begun_anew:
            self.forget()
        name, server = source.read_server()
        nodes = dict(source.walk_nodes())
        if frozenset(nodes) != self._nodes:
            # Whether a word of a request is a node or a property depends on the nodes that there are.
            self._nodes = frozenset(nodes)
            self._jobs, self._newest_s = {}, 0
        if not self._jobs or not self._take_changes(source, server):
            self._take_all(source, server)
        queues = dict(source.walk_queues())
        vnodes: dict[str, Attributes] = {each: read_node(each, texts) for each, texts in nodes.items()}
        jobs = fold_arrays(self._jobs)
        if begun_anew:
            yield {"anew": True}
        gone = {}
        for kind, objects in (("jobs", jobs), ("vnodes", vnodes)):
            sent = self._sent[kind]
            gone[kind] = sorted(sent.keys() - objects.keys())
            changed = ((each, texts) for each, texts in objects.items() if sent.get(each) != texts)
            yield from self._rows.of(kind, changed)
            self._sent[kind] = objects
        if any(gone.values()):
            yield {"gone": gone}
        if begun_anew:
            self._whole_s = time_s
        yield {"rest": rest_of(status_of(time_s, {NAME: name, **server}, queues, vnodes, {}))}

    def _take_all(self, source: Source, server: Texts) -> None:
        """Read all jobs. Raises :class:`TorqueError` for a list that cannot be believed."""
        self._jobs, self._newest_s = {}, 0
        for job_id, texts in source.walk_jobs():
            self._take(job_id, texts)
        self._believe(source, server, len(self._jobs))

    def _believe(self, source: Source, server: Texts, listed: int) -> None:
        """The server is asked once more, on the same connection: one that lies does not answer this well either."""
        _, after = source.read_server()
        why_not = why_not_believed(listed, server, after, self._reader)
        if why_not:
            raise TorqueError(why_not)

    def _take_changes(self, source: Source, server: Texts) -> bool:
        """Read the jobs that changed; False if the jobs then known are not those that the server counts."""
        for job_id, texts in source.walk_changed_jobs(self._newest_s):
            self._take(job_id, texts)
        if len(self._jobs) == count_jobs(server):
            return True
        listed = frozenset(source.walk_job_ids())
        self._believe(source, server, len(listed))
        if not listed <= self._jobs.keys():
            return False
        for job_id in self._jobs.keys() - listed:
            del self._jobs[job_id]
        return True

    def _take(self, job_id: str, texts: Texts) -> None:
        changed = texts.get("mtime", "")
        if changed.isascii() and changed.isdigit():
            self._newest_s = max(self._newest_s, int(changed))
        self._jobs[job_id] = read_job(texts, self._nodes)
