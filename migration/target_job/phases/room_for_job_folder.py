"""What a target does before a job's folder comes: reads the source's survey of it, makes its place here, and checks the
space.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from migration.as_user.user_files.user_files_in_landing_folder import TAKEN
from migration.target_job.job_at_target import Job
from migration.transfer.shared_input_cache import SharedFile
from migration.transfer.ssh_and_rsync_to_source import NoSpaceError, TransferError
from migration.transfer.upload_manifest_and_changed_files import read_manifest

_SPARE_BYTES = 1 << 20
_LOOK_S = 3600


class Survey(NamedTuple):
    """The source's survey of the job's folder."""

    problem: str
    size: int
    refused: tuple[str, ...]
    shared: tuple[SharedFile, ...]

    @classmethod
    def read(cls, data: bytes) -> Survey:
        """From the source's line. Raises TransferError."""
        try:
            found: dict[str, Any] = json.loads(data)
            shared = tuple(SharedFile.from_data(one) for one in found["shared"])
            return cls(str(found["problem"]), int(found["bytes"]), tuple(map(str, found["refused"])), shared)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise TransferError(f"the source's answer cannot be read: {error}") from error


def read_surveys(data: bytes) -> dict[str, bytes]:
    """The surveys of several jobs, each as the source's line about one job. Raises TransferError."""
    try:
        found = [json.loads(line) for line in data.splitlines()]
        return {str(gid): json.dumps(survey).encode("ascii") for gid, survey in found}
    except (ValueError, TypeError) as error:
        raise TransferError(f"the source's answer cannot be read: {error}") from error


class FolderTakenError(Exception):
    """Another user has made the folder with this user's name: nothing can come here until it is removed."""


def make_folder(job: Job) -> None:
    """Make the job's folder here, below its user's own. Raises FolderTakenError where that is another user's."""
    record, landing = job.record, job.site.file.this.landing
    done = job.site.run(["folder", landing, record.dstdir[len(landing) + 1 :]], user=record.account)
    if done.status == TAKEN:
        raise FolderTakenError(done.problem)
    if done.status:
        raise TransferError(f"{record.dstdir}: {done.problem}")


def check_space(job: Job, *surveys: Survey) -> None:
    """Raises NoSpaceError if the folders and their shared files, each once, do not fit."""
    record = job.record
    done = job.site.run(["space", record.dstdir], user=record.account)
    if done.status:
        raise TransferError(f"{record.dstdir}: {done.problem}")
    free = int(json.loads(done.out)[0])
    shared = {(file.path, file.mtime_ns): file.size for survey in surveys for file in survey.shared}
    need = sum(survey.size for survey in surveys) + sum(shared.values()) + _SPARE_BYTES
    if record.tries:
        need -= sum(entry.size for entry in read_manifest(job.look_here(_LOOK_S)).values())
    if need > free:
        raise NoSpaceError(f"{record.dstdir}: {need:,} bytes are needed, {free:,} are free")
