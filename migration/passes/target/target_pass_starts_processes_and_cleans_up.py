"""The target's pass: follows submitted jobs, starts a process for each job that can go on, and removes old files."""

from __future__ import annotations

import contextlib
from typing import Callable

from migration.passes.early_pass import TARGET, answer_call
from migration.passes.remove_files_of_finished_jobs import clean_up
from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import GoneError, Job
from migration.target_job.job_process_lock_and_transfer_slots import take_slot
from migration.target_job.jobs_with_something_to_do import find_needy, is_watched
from migration.target_job.phases.follow_local_job import watch
from migration.target_job.service_context import Site
from policy.migration.job_record_and_copy_updates import Record


def run_target_pass(site: Site, start: Callable[[str], None]) -> str:
    """Make a pass, unless another one is running; ``start`` starts a job's process. Returns a message for standard
    error."""
    site = site.for_pass()
    with take_slot(site.home, TARGET, 1) as alone:
        if not alone:
            return "another pass is under way"
        answer_call(site.home, TARGET)
        submitted = [record for record in site.spool.read(Queue.RECEIVED) if is_watched(record)]
        silent = watch(_open(site, submitted))
        for record in list(find_needy(site)):
            start(record.gid)
        clean_up(site)
    return silent


def _open(site: Site, records: list[Record]) -> list[Job]:
    jobs = []
    for record in records:
        with contextlib.suppress(GoneError):
            jobs.append(Job(site, record.gid))
    return jobs
