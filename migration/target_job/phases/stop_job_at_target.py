"""mgstop at the target: deletes the local job, and goes on only when it is gone."""

from __future__ import annotations

import time

from migration.schedulers.scheduler_interface import ENDED, SchedulerSilent
from migration.target_job.job_at_target import DISCARD, Job
from migration.target_job.phases.build_commands_as_local_job import build_name
from policy.migration.job_states_and_transitions import DOWNLOADING, MAKING, STOPPED, SUBMITTED

_GONE_WITHIN_S = 60.0
_AGAIN_S = 60


def stop(job: Job) -> None:
    """Lead a job that is to stop to Downloading, or with discard to Stopped."""
    record = job.record
    discard = record.stop == DISCARD
    if record.state in (MAKING, SUBMITTED):
        # While Making there is a local job only where builds are jobs.
        try:
            if not _delete(job):
                job.retry("waits until the local job is gone", _AGAIN_S)
                return
        except SchedulerSilent as silent:
            job.retry(str(silent)[:300], _AGAIN_S)
            return
    if discard:
        job.advance("discard", reason="stopped, results discarded")
    elif record.state != DOWNLOADING:
        job.advance("stop", then=STOPPED, reason="stopped", tries=0)
        job.set_due(0)


def _delete(job: Job) -> bool:
    """Whether no local job is left."""
    record, scheduler = job.record, job.site.scheduler
    name = build_name(record) if record.state == MAKING else record.local_name
    local_id = record.localid or scheduler.find_by_name(name, record.account)
    if local_id is None:
        return True
    scheduler.delete(local_id, record.account)
    until_s = time.monotonic() + _GONE_WITHIN_S
    while True:
        state = scheduler.states([local_id]).get(local_id)
        if state is None or state.state == ENDED:
            return True
        if time.monotonic() >= until_s:
            return False
        time.sleep(1)
