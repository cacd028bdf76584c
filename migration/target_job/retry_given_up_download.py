"""Tries to bring results back again after a download was given up, while the copy is kept."""

from __future__ import annotations

from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import Job
from migration.target_job.service_context import Site
from policy.migration.job_record_and_copy_updates import advance
from policy.migration.transitions import ABORTED


class CannotResumeError(Exception):
    """The job is not one whose results are kept here."""


def resume(site: Site, gid: str) -> None:
    """Lead the job from Aborted to Downloading. Raises :class:`CannotResumeError`."""
    with site.spool.change() as change:
        found = change.find(gid)
        if found is None or found[0] is not Queue.DONE or found[1].state != ABORTED or not found[1].dstdir:
            raise CannotResumeError(f"{gid}: is no aborted job of which results are kept here")
        record = found[1]
        fresh = advance(record, "resume", site.now(), then=record.then or ABORTED, tries=0)
        change.move(Queue.DONE, Queue.RECEIVED, fresh)
    Job(site, gid).set_due(0)
