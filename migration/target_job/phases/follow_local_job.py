"""Follows all submitted jobs with one query to the scheduler in each pass.

A job is over if the scheduler no longer knows it and its script has left an exit status, or history has one. The exit
status alone is not enough, since a job that saved itself is queued again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from migration.schedulers.end_at_limit import find_end
from migration.schedulers.scheduler_interface import ENDED, RUNNING, JobState, RequestUnanswered, SchedulerSilent
from migration.target_job.job_at_target import GoneError, Job
from migration.target_job.phases.local_job_script import exit_path
from migration.target_job.read_exit_status import UnreadableError
from migration.target_job.skip_users_with_hung_disks import HungError
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import END
from policy.migration.wait_and_retry_bounds import VANISHED_AFTER_S, goes_back


def watch(jobs: Iterable[Job]) -> str:
    """Follow the submitted jobs; returns the scheduler's error if it did not answer."""
    watched = [job for job in jobs if job.record.localid]
    if not watched:
        return ""
    scheduler = watched[0].site.scheduler
    try:
        states = scheduler.states([job.record.localid for job in watched])
        for job in watched:
            # One job's account or program says nothing of the others.
            with contextlib.suppress(GoneError, HungError, RequestUnanswered):
                _look(job, states.get(job.record.localid))
    except SchedulerSilent as silent:
        return str(silent)
    return ""


def _look(job: Job, state: JobState | None) -> None:
    if state is None or state.state == ENDED:
        _conclude(job)
        return
    job.is_back()
    record = job.record
    started = state.runs > 0 or state.state == RUNNING
    requeues = max(0, state.runs - (state.state == RUNNING))
    # Between two runs a job may be held or still ending: it is requeued all the same. Slurm counts a new run while the
    # last one is still ending, so that the count may be known before the job waits.
    told = f"requeued, {requeues} times" if requeues and state.state != RUNNING else ""
    if started and (not record.ran or record.requeues != requeues or (told and not record.reason)):
        record = job.amend(ran=1, requeues=requeues, reason=told)
    if goes_back(record, job.site.now() - record.since, job.site.file.limits.waiting):
        return_unstarted(job)


def _conclude(job: Job) -> None:
    record, is_late = job.record, job.gone_for_s() >= VANISHED_AFTER_S
    unread = ""
    try:
        status = job.read_status(exit_path(record))
    except UnreadableError as unreadable:
        if not is_late:
            return
        status, unread = "", f"; {unreadable}"
    if status:
        noted = find_end(job.site.scheduler, record.localid, status)
        job.advance("ended", exit=noted.exit, then=END, ran=1, reason=noted.reason, tries=0)
        return
    ended = job.site.scheduler.history(record.localid)
    if job.is_returning and not record.ran and (is_late or (ended is not None and not ended.ran)):
        job.give_back("did not start in time")
    elif ended is not None:
        failure = ended.find_failure(record.localid, seen_running=bool(record.ran))
        if failure:
            job.fail(failure)
        else:
            job.advance("ended", exit=ended.exit, then=END, ran=1, reason=ended.reason, tries=0)
    elif is_late:
        job.fail(f"the local job {record.localid} vanished{unread}")


def return_unstarted(job: Job) -> None:
    """Give back a job that waits too long: held first, so that it cannot start while it is being deleted."""
    record: Record = job.record
    scheduler, local_id = job.site.scheduler, record.localid
    scheduler.hold(local_id, record.account)
    state = scheduler.states([local_id]).get(local_id)
    if state is None:
        return
    if state.state in (RUNNING, ENDED) or state.runs:
        scheduler.release(local_id, record.account)
        return
    job.set_returning()
    scheduler.delete(local_id, record.account)
    waited_s = job.site.now() - record.since
    job.give_back(f"did not start within {waited_s:.0f} s")
