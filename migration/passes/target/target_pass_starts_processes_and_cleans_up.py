"""The target's pass: looks after submitted jobs, starts a process for each job that has something to do, cleans up."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from typing import Callable

from migration.passes.remove_files_of_finished_jobs import clean_up
from migration.spool.queue_file import Queue
from migration.target_job.follow_local_job import watch
from migration.target_job.job_at_target import DISCARD, GoneError, Job, find_due
from migration.target_job.job_process_lock_and_transfer_slots import is_leased, take_slot
from migration.target_job.run_phases_of_job_at_target import WAITING_TOO
from migration.target_job.service_context import Site
from migration.target_job.skip_users_with_hung_disks import HungUsers
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import DOWNLOADING, SUBMITTED, UPLOADING, WAITING

_LOCK = "mgrecv"


def run_target_pass(site: Site, start: Callable[[str], None]) -> str:
    """Do a pass, unless another one is under way; ``start`` starts a job's process. Returns what is to be said."""
    site = replace(site, run=HungUsers(site.run, site.home, site.now))
    with take_slot(site.home, _LOCK, 1) as alone:
        if not alone:
            return "another pass is under way"
        submitted = [record for record in site.spool.read(Queue.RECEIVED) if _is_watched(record)]
        silent = watch(_open(site, submitted))
        for record in _find_needy(site):
            start(record.gid)
        clean_up(site)
    return silent


def _is_watched(record: Record) -> bool:
    return record.state == SUBMITTED and bool(record.localid) and not record.stop


def _open(site: Site, records: list[Record]) -> list[Job]:
    jobs = []
    for record in records:
        with contextlib.suppress(GoneError):
            jobs.append(Job(site, record.gid))
    return jobs


def _find_needy(site: Site) -> list[Record]:
    """The jobs whose process is to be started. Of those that transfer there are few, in all and of each user: more
    would only wait.
    """
    limits = site.file.limits
    most = {UPLOADING: WAITING_TOO * limits.max_uploads, DOWNLOADING: WAITING_TOO * limits.max_downloads}
    of_user = WAITING_TOO * limits.max_transfers_per_user
    transfers: Counter[str] = Counter()
    of_users: Counter[tuple[str, str]] = Counter()
    needy, found = [], []
    for record in site.spool.read(Queue.RECEIVED):
        if _needs_process(site, record):
            needy.append(record)
        elif record.state in most and is_leased(site.spool.job_folder(record.gid)):
            transfers[record.state] += 1
            of_users[record.state, record.account] += 1
    for record in needy:
        kind = (record.state, record.account)
        if record.state in most and record.stop != DISCARD:
            if transfers[record.state] >= most[record.state] or of_users[kind] >= of_user:
                continue
            transfers[record.state] += 1
            of_users[kind] += 1
        found.append(record)
    return found


def _needs_process(site: Site, record: Record) -> bool:
    folder = site.spool.job_folder(record.gid)
    is_due = record.state == WAITING or find_due(folder, record.attempt) <= site.now()
    if record.stop and record.state != DOWNLOADING:
        return not is_leased(folder)
    return not _is_watched(record) and is_due and not is_leased(folder)
