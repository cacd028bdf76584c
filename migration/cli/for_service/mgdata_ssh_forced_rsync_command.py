"""``mgdata GID ATTEMPT``: the forced command of a job's key, at the job's source.

It runs one command (:mod:`migration.transfer.allowed_rsync_commands`) as the job's user. Connections are limited in
all, for each cluster and for each user; transfers among them wait for a slot.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from migration.as_user.root_helper_command import helper_argv
from migration.as_user.user_files.folder_tree_listing import STAGE
from migration.config.cluster_file import Limits
from migration.config.mg_home_folder import home
from migration.config.read_cluster_file import read_cluster_file
from migration.spool.file_lock import LockHeldError, path_lock
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool, SpoolError
from migration.target_job.job_process_lock_and_transfer_slots import take_share, take_slot
from migration.transfer.allowed_rsync_commands import Find, NotAllowedError, read_command
from migration.transfer.forced_command_keys_of_clusters_and_jobs import has_data_access
from policy.migration.job_record_and_copy_updates import Record

_SLOT_WITHIN_S = 90
"""Less than the time after which the other end's rsync takes silence for a broken connection."""
_LOCK_WITHIN_S = 60
_TRANSFER_WITHIN_S = 86_400
_ANSWER_WITHIN_S = 3_600
"""The time that the other end waits for a transfer, and for an answer."""


def main() -> None:
    """Run by sshd."""
    if len(sys.argv) != 3:
        sys.exit("mgdata: run by sshd, with the id of a job and its attempt")
    gid, attempt = sys.argv[1:]
    try:
        folder = home()
        file, record = read_cluster_file(folder), _find(Spool(folder), gid, attempt)
        if file is None or record is None:
            raise NotAllowedError(f"{gid}: no job whose data another cluster may have")
        of_user = _find_of_user(Spool(folder), record)
        operation = read_command(os.environ.get("SSH_ORIGINAL_COMMAND", ""), record, file.here, of_user)
    except (ValueError, SpoolError) as error:
        sys.exit(f"mgdata: {error}")
    limit_s = _TRANSFER_WITHIN_S if _is_transfer(operation) else _ANSWER_WITHIN_S
    argv = [*helper_argv(), record.user, str(limit_s), "-", "/", *operation]
    try:
        with (
            _admitted(folder, file.limits, record),
            _slot(folder, file.limits, record.user, operation),
            _locked(folder, record, operation),
        ):
            sys.exit(subprocess.run(argv, check=False).returncode)
    except (_BusyError, LockHeldError) as busy:
        sys.exit(f"mgdata: busy, ask again later: {busy}")


class _BusyError(Exception):
    """A limit is reached, so the command is not begun; the message names the limit."""


@contextlib.contextmanager
def _admitted(folder: Path, limits: Limits, record: Record) -> Iterator[None]:
    """Count the connection, whether it works or waits. Raises :class:`_BusyError` where there are too many."""
    bounds = (
        ("connection-of-user", record.user, limits.max_connections_per_user),
        ("connection-of-cluster", record.dst, limits.max_connections_per_cluster),
    )
    with contextlib.ExitStack() as stack:
        for kind, name, most in bounds:
            if not stack.enter_context(take_slot(folder, f"{kind}.{quote(name, safe='')}", most)):
                raise _BusyError(f"{most} connections are open for the data of {name}'s jobs")
        if not stack.enter_context(take_slot(folder, "connection", limits.max_connections)):
            raise _BusyError(f"{limits.max_connections} connections are open for jobs' data")
        yield


@contextlib.contextmanager
def _slot(folder: Path, limits: Limits, user: str, operation: Sequence[str]) -> Iterator[None]:
    """Wait until the transfer may begin; other commands never wait. A user has a share of the slots, since the user's
    own files can make transfers arbitrarily slow. Raises :class:`_BusyError`."""
    if not _is_transfer(operation):
        yield
        return
    kind, count = ("sending", limits.max_uploads) if "--sender" in operation else ("receiving", limits.max_downloads)
    until_s = time.monotonic() + _SLOT_WITHIN_S
    while True:
        with take_share(folder, kind, count, user, limits.max_transfers_per_user) as taken:
            if taken:
                yield
                return
        if time.monotonic() >= until_s:
            raise _BusyError("as many transfers as the limits allow, in all or of this user")
        time.sleep(0.5)


@contextlib.contextmanager
def _locked(folder: Path, record: Record, operation: Sequence[str]) -> Iterator[None]:
    """Hold the lock of the folder in which results arrive; to put them into place, also that of the job's folder, which
    several jobs may share. Raises LockHeldError."""
    stage = f"{record.dir}/{STAGE}{record.gid}"
    paths = [stage, record.dir] if operation[0] == "settle" else [stage] if operation[-1] == f"{stage}/" else []
    with contextlib.ExitStack() as stack:
        for path in paths:
            stack.enter_context(path_lock(folder, path, _LOCK_WITHIN_S))
        yield


def _is_transfer(operation: Sequence[str]) -> bool:
    return operation[0].startswith("rsync")


def _find_of_user(spool: Spool, record: Record) -> Find:
    """Finds the user's jobs that the same cluster has: their folders may come with that of this job."""

    def find(gid: str) -> Record | None:
        other = spool.find(Queue.SENT, "gid", gid)
        of_both = other is not None and (other.user, other.dst) == (record.user, record.dst)
        return other if other is not None and of_both and has_data_access(other) else None

    return find


def _find(spool: Spool, gid: str, attempt: str) -> Record | None:
    record = spool.find(Queue.SENT, "gid", gid)
    return record if record is not None and str(record.attempt) == attempt and has_data_access(record) else None
