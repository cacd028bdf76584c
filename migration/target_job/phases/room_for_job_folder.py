"""What a target does before a job's folder comes: reads the source's survey of it, makes its place here, and checks the
space.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from migration.as_user.user_files.user_files_in_landing_folder import TAKEN
from migration.target_job.job_at_target import Job
from migration.transfer.json_from_source import check_list, check_size, check_text, read_answer, read_answer_lines
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
        return read_answer(data, cls._from_data)

    @classmethod
    def _from_data(cls, data: Any) -> Survey:
        return cls(
            check_text(data["problem"]),
            check_size(data["bytes"]),
            tuple(map(check_text, check_list(data["refused"]))),
            tuple(map(SharedFile.from_data, check_list(data["shared"]))),
        )


def read_surveys(data: bytes) -> dict[str, bytes]:
    """The surveys of several jobs, each as the source's line about one job. Raises TransferError."""
    return dict(read_answer_lines(data, _read_survey_of))


def _read_survey_of(data: Any) -> tuple[str, bytes]:
    gid, survey = check_list(data, 2)[:2]
    return check_text(gid), json.dumps(survey).encode("ascii")


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
