"""Reads jobs from several queue files without the lock.

Of a job that stands in two files while it is moved, the newer copy counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.job_record_and_copy_updates import Record

OWN_JOBS = (Queue.REQUEST, Queue.SENT, Queue.DONE, Queue.REQUEST)
"""The files of a source's own jobs. The file to which a job may move back is read last, so that none is missed."""

ALL_JOBS = (Queue.RECEIVED, *OWN_JOBS)
"""The same, and the guests of this cluster."""


def newest_copies(spool: Spool, queues: Iterable[Queue]) -> dict[str, tuple[Queue, Record]]:
    """The jobs of these files, read in this order. Raises SpoolError."""
    found: dict[str, tuple[Queue, Record]] = {}
    for queue in queues:
        for record in spool.read(queue):
            there = found.get(record.gid)
            if there is None or record.age > there[1].age:
                found[record.gid] = (queue, record)
    return found
