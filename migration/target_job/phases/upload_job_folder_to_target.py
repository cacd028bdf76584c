"""The upload phase: copies the job's folder, then its shared input, then writes the manifest. Each part can be
repeated.

A job whose shared input is being copied for another job waits, and continues where it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from migration.as_user.user_files.user_files_in_landing_folder import TAKEN
from migration.target_job.job_at_target import Job
from migration.transfer.shared_input_cache import ComingError, SharedFile, bring_shared, lock_of, locked_path
from migration.transfer.ssh_and_rsync_to_source import Connection, NoSpaceError, StoppedError, TransferError
from migration.transfer.upload_manifest_and_changed_files import read_manifest
from migration.transfer.words_for_paths_at_source import JOB
from policy.migration.wait_and_retry_bounds import pause_s

_SPARE_BYTES = 1 << 20
_MOST_SHOWN = 3
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


class FolderTakenError(Exception):
    """Another user has made the folder with this user's name: nothing can come here until it is removed."""


def upload(job: Job) -> None:
    """The phase: leads to Making or Submitted, or back, or is tried again later."""
    record, limits = job.record, job.site.file.limits
    left_s = limits.upload_timeout_s - (job.site.now() - record.since)
    if left_s <= 0:
        job.give_back(f"not uploaded within {limits.upload_timeout_s} s: {record.reason}")
        return
    try:
        with (
            job.connection() as connection,
            # What an ended job has left in a folder of this name is not removed meanwhile.
            locked_path(job.site.home, lock_of(record.dstdir), connection.stopped),
        ):
            survey = _bring_folder(job, connection, left_s)
            if survey is None:
                return
            job.set_awaited("")
            links = _bring_shared(job, connection, survey.shared, left_s)
            job.write_manifest(_set_links(job, links, left_s))
    except ComingError as coming:
        job.set_awaited(coming.lock)
        job.amend(reason=str(coming))
        return
    except StoppedError:
        return
    except FolderTakenError as taken:
        job.give_back(str(taken), excluded=True)
        return
    except NoSpaceError as full:
        job.give_back(f"no space: {full}")
        return
    except (TransferError, OSError) as broken:
        job.set_awaited("")
        job.write_arrived(None)
        job.retry(str(broken), pause_s(job.record.tries + 1))
        return
    job.advance("build" if record.build else "submit", reason="", tries=0)


def _bring_folder(job: Job, connection: Connection, timeout_s: float) -> Survey | None:
    """The survey of the job's folder, once a copy of that is here; None where the folder cannot come at all."""
    arrived = job.read_arrived()
    if arrived is not None:
        return Survey.read(arrived)
    data = connection.ask("survey")
    survey = Survey.read(data)
    if survey.problem or survey.refused:
        job.advance("abandoned", reason=survey.problem or "; ".join(survey.refused[:_MOST_SHOWN]))
        return None
    make_folder(job)
    check_space(job, survey)
    received = connection.fetch(JOB, job.record.dstdir, timeout_s, job.record.exclude)
    job.amend(uploaded_bytes=job.record.uploaded_bytes + received)
    job.write_arrived(data)
    return survey


def make_folder(job: Job) -> None:
    """Make the job's folder here, below its user's own. Raises FolderTakenError where that is another user's."""
    record, landing = job.record, job.site.file.this.landing
    done = job.site.run(["folder", landing, record.dstdir[len(landing) + 1 :]], user=record.account)
    if done.status == TAKEN:
        raise FolderTakenError(done.problem)
    if done.status:
        raise TransferError(f"{record.dstdir}: {done.problem}")


def check_space(job: Job, survey: Survey) -> None:
    """Raises NoSpaceError if the folder and its shared files do not fit."""
    record = job.record
    done = job.site.run(["space", record.dstdir], user=record.account)
    if done.status:
        raise TransferError(f"{record.dstdir}: {done.problem}")
    free = int(json.loads(done.out)[0])
    need = survey.size + sum(file.size for file in survey.shared) + _SPARE_BYTES
    if record.tries:
        need -= sum(entry.size for entry in read_manifest(job.look_here(_LOOK_S)).values())
    if need > free:
        raise NoSpaceError(f"{record.dstdir}: {need:,} bytes are needed, {free:,} are free")


def _bring_shared(job: Job, connection: Connection, files: Sequence[SharedFile], timeout_s: float) -> Mapping[str, str]:
    """Copy each shared file; returns the links in the job's folder, and where each is to lead."""
    record, landing = job.record, job.site.file.this.landing
    below = f"{record.account}/{record.src}"
    links: dict[str, str] = {}
    noted: set[str] = set()
    received = 0

    def note(path: str) -> None:
        noted.add(path)
        job.note_shared(sorted(noted))

    for file in files:
        copy = bring_shared(connection, job.site.home, landing, below, file, timeout_s, note)
        if file.link:
            links[file.link] = copy.path
        received += copy.received_bytes
    if received:
        job.amend(shared_bytes=job.record.shared_bytes + received)
    return links


def _set_links(job: Job, links: Mapping[str, str], timeout_s: float) -> bytes:
    """Point the links there; returns the manifest of the folder afterwards. Raises TransferError."""
    data = "".join(json.dumps(link) + "\n" for link in links.items()).encode("ascii")
    argv = ["links", job.record.dstdir]
    done = job.site.run(argv, user=job.record.account, stdin=data, timeout_s=timeout_s)
    if done.status:
        raise TransferError(f"links: {done.problem}")
    return done.out
