"""All jobs of a Torque server, kept up to date by what changed (``mtime``, by the server's clock), in PBS's words.

Where the server's own count of jobs differs from those known, the ids of all jobs are listed, and if that does not
explain it everything is read anew; so it is once a minute too, since a server that starts may change a job's state
without its ``mtime``.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from typing import Callable, Protocol

from torque.read.believe_job_list import ReadingUser, count_jobs, why_not_believed
from torque.read.libtorque_connection import TorqueError
from torque.translate.jobs import read_job

Texts = dict[str, str]
WHOLE_S = 60.0
"""What changed is believed for so long after a whole read."""


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


class KnownJobs:
    """The jobs as last read. After a read that raised, call :meth:`forget`."""

    def __init__(self, reader: ReadingUser, clock: Callable[[], float] = time.monotonic) -> None:
        self._reader = reader
        self._clock = clock
        self.forget()

    def forget(self) -> None:
        """Begin anew: the next read is whole."""
        self._jobs: dict[str, Texts] = {}
        self._nodes: frozenset[str] = frozenset()
        self._newest_s = 0
        self._whole_s = 0.0

    def read(self, source: Source, server: Texts, nodes: Collection[str]) -> Mapping[str, Texts]:
        """All jobs now, by id, subjobs singly and those that have just ended too. ``server`` and ``nodes`` were read
        right before. Raises :class:`TorqueError`."""
        if frozenset(nodes) != self._nodes:
            # Whether a word of a request is a node or a property depends on the nodes that there are.
            self.forget()
            self._nodes = frozenset(nodes)
        is_fresh = bool(self._jobs) and self._clock() - self._whole_s < WHOLE_S
        if not is_fresh or not self._take_changes(source, server):
            self._take_all(source, server)
        return self._jobs

    def _take_all(self, source: Source, server: Texts) -> None:
        """Read all jobs. Raises :class:`TorqueError` for a list that cannot be believed."""
        self._jobs, self._newest_s, self._whole_s = {}, 0, self._clock()
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
