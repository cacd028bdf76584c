"""Builds as a local job of one core, where only the compute nodes have compilers (``build_on = "job"``).

After a crash the job is found by its name; its end is known by the status that it leaves.
"""

from __future__ import annotations

import shlex
import time

from migration.as_user.helper.operations_as_user import BUILD_LOG
from migration.schedulers.scheduler_interface import ENDED, LocalJob, SubmitRefused, SubmitUnclear
from migration.target_job.job_at_target import Job
from migration.target_job.phases.local_job_script import make_local_job
from migration.transfer.upload_manifest_and_changed_files import service_prefix
from policy.migration.job_demand import Demand
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.wait_and_retry_bounds import MOST_UNCLEAR

_LOOK_EVERY_S = 5.0
_STATUS_WITHIN_S = 60.0


class BuildVanishedError(Exception):
    """The job is gone and has left no status."""


def build_name(record: Record) -> str:
    """The name of the build's local job."""
    return f"{record.local_name}_build"


def run_build_job(job: Job, limit_s: float) -> int | None:
    """The build's exit status; None if it was stopped or is late, and then it is deleted.

    Raises SchedulerSilent, SubmitRefused, HungError and :class:`BuildVanishedError`.
    """
    record, scheduler = job.record, job.site.scheduler
    local_id = scheduler.find_by_name(build_name(record), record.account)
    if local_id is None:
        status = job.read_status(_exit_path(record))
        if status:
            return int(status)
        script = write_build_script(record).encode("utf-8", "surrogateescape")
        written = job.site.run(["write", _path(record, "sh"), "700"], user=record.account, stdin=script)
        if written.status:
            raise BuildVanishedError(written.problem)
        local_id = _submit(job, limit_s)
    until_s = time.monotonic() + limit_s
    while not job.is_stopped() and time.monotonic() < until_s:
        state = scheduler.states([local_id]).get(local_id)
        if state is None or state.state == ENDED:
            return _wait_for_status(job)
        time.sleep(_LOOK_EVERY_S)
    scheduler.delete(local_id, record.account)
    return None


def _submit(job: Job, limit_s: float) -> str:
    try:
        return job.site.scheduler.submit(_local_job(job.record, limit_s))
    except SubmitUnclear as unclear:
        if job.count_unclear() < MOST_UNCLEAR:
            raise
        found = job.site.scheduler.find_by_name(build_name(job.record), job.record.account)
        if found is None:
            raise SubmitRefused(f"{unclear}, {MOST_UNCLEAR} times or more", lasting=True) from unclear
        return found


def write_build_script(record: Record) -> str:
    """The script's text: each command in a login shell of its own, up to the first that fails."""
    exit_file, log = shlex.quote(_exit_path(record)), shlex.quote(BUILD_LOG)
    commands = [f"/bin/bash -l -c {shlex.quote(one)} >> {log} 2>&1 < /dev/null" for one in record.build]
    return "\n".join(
        [
            "#!/bin/sh",
            f"# Job {record.gid}: runs its build commands, and leaves their exit status.",
            f"cd {shlex.quote(record.dstdir)} || exit 127",
            f": > {log}",
            " && ".join(commands),
            "status=$?",
            f'echo "$status" > {exit_file}.new && mv -f {exit_file}.new {exit_file}',
            'exit "$status"',
            "",
        ]
    )


def _local_job(record: Record, limit_s: float) -> LocalJob:
    return make_local_job(record)._replace(
        name=build_name(record), demand=Demand(1, walltime_s=max(60, int(limit_s))), wrapper=_path(record, "sh"),
        out=_path(record, "out"), err=_path(record, "err"),
    )  # fmt: skip


def _wait_for_status(job: Job) -> int:
    until_s = time.monotonic() + _STATUS_WITHIN_S
    while not (status := job.read_status(_exit_path(job.record))):
        if time.monotonic() >= until_s:
            raise BuildVanishedError("the build's local job vanished")
        time.sleep(1)
    return int(status)


def _exit_path(record: Record) -> str:
    return _path(record, "exit")


def _path(record: Record, kind: str) -> str:
    """A file of this attempt's build."""
    return f"{record.dstdir}/{service_prefix(record.gid)}build.{record.attempt}.{kind}"
