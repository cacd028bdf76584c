"""Retries a download that was given up, while the copy of the results is kept."""

from __future__ import annotations

from migration.spool.queue_file import Queue
from migration.target_job.folder_not_yet_removed import read_unremoved
from migration.target_job.job_at_target import Job, find_lasting
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease
from migration.target_job.service_context import Site
from policy.migration.job_record_and_copy_updates import advance
from policy.migration.job_states_and_transitions import ABORTED


class CannotResumeError(Exception):
    """The job is not one whose results are kept here."""


def resume(site: Site, gid: str) -> None:
    """Lead the job from Aborted to Downloading. Raises :class:`CannotResumeError`."""
    folder = site.spool.job_folder(gid)
    if not folder.exists() or read_unremoved(folder).tries:
        raise CannotResumeError(f"{gid}: is no aborted job of which results are kept here")
    with hold_lease(folder) as held:
        if not held:
            raise CannotResumeError(f"{gid}: is worked on by another process: try again in a minute")
        _resume(site, gid)


def _resume(site: Site, gid: str) -> None:
    with site.spool.change() as change:
        found = change.find(gid)
        if found is None or found[0] is not Queue.DONE or found[1].state != ABORTED or not found[1].dstdir:
            raise CannotResumeError(f"{gid}: is no aborted job of which results are kept here")
        record = found[1]
        reason = find_lasting(record.reason)
        fresh = advance(record, "resume", site.now(), then=record.then or ABORTED, reason=reason, tries=0)
        change.move(Queue.DONE, Queue.RECEIVED, fresh)
    Job(site, gid).set_due(0)
