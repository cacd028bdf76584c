"""The submit phase: makes sure of one local job, which may be there, or have ended, although its id was never noted.

The process may have been killed, or the reply to the submission lost. Where none can be there yet, none is looked for.
"""

from __future__ import annotations

from migration.schedulers.scheduler_interface import SchedulerSilent, SubmitRefused, SubmitUnclear
from migration.target_job.job_at_target import Job
from migration.target_job.phases.local_job_script import exit_path, make_local_job, script_path, write_script
from migration.target_job.skip_users_with_hung_disks import HungError
from policy.migration.job_states_and_transitions import END
from policy.migration.wait_and_retry_bounds import BUSY_FOR_S, MOST_UNCLEAR

_AGAIN_S = 60


def submit(job: Job) -> None:
    """Make sure of exactly one local job, also after a crash."""
    try:
        if job.take_first_submission() or not _find_earlier(job):
            _submit_anew(job)
    except SubmitUnclear as unclear:
        if job.count_unclear() < MOST_UNCLEAR:
            job.retry(str(unclear)[:300], _AGAIN_S)
        else:
            _give_back(job, f"refused: {unclear}, {MOST_UNCLEAR} times or more", excluded=True)
    except (SchedulerSilent, HungError) as silent:
        job.retry(str(silent)[:300], _AGAIN_S)
    except SubmitRefused as refused:
        if refused.lasting:
            _give_back(job, f"refused: {refused}", excluded=True)
        elif job.site.now() - job.record.since > BUSY_FOR_S:
            _give_back(job, f"busy: {refused}")
        else:
            job.retry(f"busy: {refused}", _AGAIN_S)


def _give_back(job: Job, reason: str, *, excluded: bool = False) -> None:
    """Give the job back, unless its local job is there or has run after all: what refuses it is run as the user."""
    try:
        if not _find_earlier(job):
            job.give_back(reason, excluded=excluded)
    except (SchedulerSilent, HungError) as silent:
        job.retry(str(silent)[:300], _AGAIN_S)


def _submit_anew(job: Job) -> None:
    record, site = job.record, job.site
    script = write_script(record).encode("utf-8", "surrogateescape")
    written = site.run(["write", script_path(record), "700"], user=record.account, stdin=script)
    if written.status:
        job.retry(f"script: {written.problem}", _AGAIN_S)
        return
    _note(job, site.scheduler.submit(make_local_job(record)))


def _find_earlier(job: Job) -> bool:
    """Whether the job was submitted before, which is noted then. The exit status is looked for last: a job that still
    runs has left none, and one that was killed never leaves one.
    """
    record, scheduler = job.record, job.site.scheduler
    name, account = record.local_name, record.account
    local_id = scheduler.find_by_name(name, account) or scheduler.find_ended_run(name, account)
    if local_id:
        _note(job, local_id)
        return True
    status = job.read_status(exit_path(record))
    if status:
        job.advance("ended", exit=status, then=END, ran=1, reason="", tries=0)
    return bool(status)


def _note(job: Job, local_id: str) -> None:
    job.amend(localid=local_id, reason="", tries=0)
