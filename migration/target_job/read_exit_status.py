"""Reads, as a job's user, the exit status that the script of a local job has left.

Only a file that is not there is no status: a file that cannot be read may be that of a job that has run.
"""

from __future__ import annotations

from migration.as_user.user_files.user_files_in_landing_folder import NO_FILE
from migration.programs.run_external_program_with_limits import TIMED_OUT
from migration.target_job.skip_users_with_hung_disks import HungError
from migration.transfer.ssh_and_rsync_to_source import RunAs

_MOST_STATUS = 16


class UnreadableError(HungError):
    """The file of the status cannot be read now, or holds none; the message names it and why."""


def read_exit_status(run: RunAs, path: str, user: str) -> str:
    """The status; empty if there is no such file. Raises HungError, :class:`UnreadableError`."""
    done = run(["read", path, str(_MOST_STATUS)], user=user)
    if done.status == NO_FILE:
        return ""
    if done.status == TIMED_OUT:
        raise HungError(f"{path.rpartition('/')[0]}: {done.problem}")
    if done.status:
        raise UnreadableError(f"{path}: cannot be read: {done.problem}")
    text = done.text.strip()
    if not (text.isascii() and text.isdigit()):
        raise UnreadableError(f"{path}: holds {text!r:.40}: must be an exit status")
    return text
