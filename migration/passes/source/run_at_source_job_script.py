"""The script of a job that runs at its source, in the folder of submission, and the exit status that it leaves.

Both files are written and read as the user, by the root helper. Build commands run in the job, before its program.
"""

from __future__ import annotations

from dataclasses import replace

from migration.passes.source.source_context import NotPrepared
from migration.programs.run_external_program_with_limits import TIMED_OUT
from migration.schedulers.scheduler_interface import LocalJob
from migration.target_job.phases.local_job_script import exit_path, make_local_job, script_path, write_script
from migration.target_job.read_exit_status import read_exit_status
from migration.target_job.skip_users_with_hung_disks import HungError
from migration.transfer.ssh_and_rsync_to_source import RunAs
from policy.migration.job_record_and_copy_updates import Record


class HomeFolders:
    """See :class:`~migration.passes.source.source_context.JobFolders`."""

    def __init__(self, run: RunAs) -> None:
        self._run = run

    def prepare(self, record: Record, name: str) -> LocalJob:
        """Write the script into the folder of submission."""
        here = _at_home(record)
        try:
            script = write_script(here, here.build).encode("utf-8", "surrogateescape")
        except ValueError as error:
            raise NotPrepared(str(error)) from error
        written = self._run(["write", script_path(here), "700"], user=here.account, stdin=script)
        if written.status == TIMED_OUT:
            raise HungError(f"{here.dstdir}: {written.problem}")
        if written.status:
            raise NotPrepared(f"{here.dstdir}: {written.problem}")
        return make_local_job(here)._replace(name=name)

    def read_exit(self, record: Record) -> str:
        """The status that the script has left."""
        here = _at_home(record)
        return read_exit_status(self._run, exit_path(here), here.account)

    def clear(self, record: Record) -> None:
        """Remove the service's own files. The folder is the user's, and stays as it is."""
        here = _at_home(record)
        names = (path[len(here.dstdir) + 1 :] for path in (script_path(here), exit_path(here)))
        self._run(["unlink", here.dstdir, *names], user=here.account)


def _at_home(record: Record) -> Record:
    return replace(record, dstdir=record.dir, account=record.user)
