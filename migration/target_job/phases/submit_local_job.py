"""The submit phase: finds the local job by its name, and submits it if there is none. Where none can be there yet, none
is looked for.
"""

from __future__ import annotations

from migration.schedulers.scheduler_interface import SchedulerSilent, SubmitRefused
from migration.target_job.job_at_target import Job
from migration.target_job.phases.local_job_script import make_local_job, script_path, write_script
from policy.migration.wait_and_retry_bounds import BUSY_FOR_S

_AGAIN_S = 60


def submit(job: Job) -> None:
    """Make sure of exactly one local job, also after a crash."""
    record, site = job.record, job.site
    try:
        first = job.take_first_submission()
        local_id = None if first else site.scheduler.find_by_name(record.local_name, record.account)
        if local_id is None:
            script = write_script(record).encode("utf-8", "surrogateescape")
            written = site.run(["write", script_path(record), "700"], user=record.account, stdin=script)
            if written.status:
                job.retry(f"script: {written.problem}", _AGAIN_S)
                return
            local_id = site.scheduler.submit(make_local_job(record))
    except SchedulerSilent as silent:
        job.retry(str(silent)[:300], _AGAIN_S)
        return
    except SubmitRefused as refused:
        if refused.lasting:
            job.give_back(f"refused: {refused}", excluded=True)
        elif site.now() - record.since > BUSY_FOR_S:
            job.give_back(f"busy: {refused}")
        else:
            job.retry(f"busy: {refused}", _AGAIN_S)
        return
    job.amend(localid=local_id, reason="", tries=0)
