"""The build phase: runs the user's build commands on this host or in a local job. On this host a killed build starts
again.
"""

from __future__ import annotations

from migration.programs.run_external_program_with_limits import STOPPED, TIMED_OUT
from migration.schedulers.scheduler_interface import SchedulerSilent, SubmitRefused
from migration.target_job.job_at_target import Job
from migration.target_job.phases.build_commands_as_local_job import BuildVanishedError, run_build_job
from migration.target_job.skip_users_with_hung_disks import HungError

_AGAIN_S = 60


def make(job: Job) -> None:
    """The phase: leads to Submitted, or to Downloading with the log."""
    limit_s = job.site.file.limits.build_timeout_s
    left_s = limit_s - (job.site.now() - job.record.since)
    if left_s <= 0:
        job.fail(f"build not done within {limit_s} s")
        return
    try:
        status = run_build_job(job, left_s) if job.site.file.here.build_on == "job" else _run_here(job, left_s)
    except (SchedulerSilent, HungError) as silent:
        job.retry(str(silent)[:300], _AGAIN_S)
        return
    except SubmitRefused as refused:
        if refused.lasting:
            job.fail(f"build refused: {refused}")
        else:
            job.retry(f"busy: {refused}", _AGAIN_S)
        return
    except BuildVanishedError as vanished:
        job.fail(str(vanished))
        return
    if status is None:
        if not job.is_stopped():
            job.fail(f"build not done within {limit_s} s")
    elif status:
        job.fail(f"build failed with {status}")
    else:
        job.advance("submit", reason="", tries=0)


def _run_here(job: Job, limit_s: float) -> int | None:
    """The exit status of the commands, up to the first that fails; None if they were stopped or are late."""
    record = job.record
    until_s = job.site.now() + limit_s
    for number, command in enumerate(record.build):
        done = job.site.run(
            ["build", "new" if number == 0 else "more"], user=record.account, cwd=record.dstdir,
            stdin=command.encode("utf-8", "surrogateescape"), timeout_s=max(1.0, until_s - job.site.now()),
            stopped=job.is_stopped,
        )  # fmt: skip
        if done.status in (STOPPED, TIMED_OUT):
            return None
        if done.status:
            return done.status
    return 0
