"""``mgdata GID ATTEMPT``: the forced command of a job's key, at the source of the job.

It answers one command (:mod:`migration.transfer.allowed_rsync_commands`) as the job's user, and ends with it. Transfers
of all targets together are bounded, so a transfer may have to wait for its slot.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from migration.as_user.call_root_helper import helper_argv
from migration.config.cluster_file import Limits, read_cluster_file
from migration.config.mg_home_folder import home
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool, SpoolError
from migration.target_job.job_process_lock_and_transfer_slots import take_share
from migration.transfer.allowed_rsync_commands import NotAllowedError, read_command
from migration.transfer.authorized_keys import has_data_access
from policy.migration.job_record_and_copy_updates import Record

_SLOT_WITHIN_S = 90
"""Less than the time after which the other end's rsync takes silence for a broken connection."""
_TRANSFER_WITHIN_S = 86_400
_ANSWER_WITHIN_S = 3_600
"""As long as the other end waits for a transfer, and for an answer."""


def main() -> None:
    """Run by sshd."""
    try:
        gid, attempt = sys.argv[1:]
        folder = home()
        file, record = read_cluster_file(folder), _find(Spool(folder), gid, attempt)
        if file is None or record is None:
            raise NotAllowedError(f"{gid}: no job whose data another cluster may have")
        deed = read_command(os.environ.get("SSH_ORIGINAL_COMMAND", ""), record, file.here)
    except (ValueError, SpoolError) as error:
        sys.exit(f"mgdata: {error}")
    limit_s = _TRANSFER_WITHIN_S if _is_transfer(deed) else _ANSWER_WITHIN_S
    argv = [*helper_argv(), record.user, str(limit_s), "-", "/", *deed]
    with _slot(folder, file.limits, record.user, deed) as taken:
        if not taken:
            sys.exit("mgdata: busy with as many transfers as the limits allow, in all or of this user")
        sys.exit(subprocess.run(argv, check=False).returncode)


@contextlib.contextmanager
def _slot(folder: Path, limits: Limits, user: str, deed: Sequence[str]) -> Iterator[bool]:
    """Whether the transfer may begin; what is no transfer always may. A user has a share of the slots, since the user's
    own files can make transfers arbitrarily slow."""
    if not _is_transfer(deed):
        yield True
        return
    kind, count = ("sending", limits.max_uploads) if "--sender" in deed else ("receiving", limits.max_downloads)
    until_s = time.monotonic() + _SLOT_WITHIN_S
    while True:
        with take_share(folder, kind, count, user, limits.max_transfers_per_user) as taken:
            if taken or time.monotonic() >= until_s:
                yield taken
                return
        time.sleep(0.5)


def _is_transfer(deed: Sequence[str]) -> bool:
    return deed[0].startswith("rsync")


def _find(spool: Spool, gid: str, attempt: str) -> Record | None:
    record = spool.find(Queue.SENT, "gid", gid)
    return record if record is not None and str(record.attempt) == attempt and has_data_access(record) else None
