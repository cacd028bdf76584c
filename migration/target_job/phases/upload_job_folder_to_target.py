"""The upload phase: copies the job's folder, then its shared input, then writes the manifest. Each part can be
repeated.

A job whose shared input is being copied for another job waits, and continues where it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from migration.target_job.job_at_target import Job
from migration.target_job.phases.room_for_job_folder import FolderTakenError, Survey, check_space, make_folder
from migration.target_job.phases.upload_waiting_folders_together import bring_together
from migration.transfer.shared_input_cache import ComingError, SharedFile, bring_shared, lock_of, locked_path
from migration.transfer.ssh_and_rsync_to_source import Connection, NoSpaceError, StoppedError, TransferError
from migration.transfer.words_for_paths_at_source import JOB
from policy.migration.wait_and_retry_bounds import MOST_ATTEMPTS, pause_s

_MOST_SHOWN = 3


def upload(job: Job) -> None:
    """The phase: leads to Making or Submitted, or back, or is tried again later."""
    record, limits = job.record, job.site.file.limits
    left_s = limits.upload_timeout_s - (job.site.now() - record.since)
    if left_s <= 0:
        is_last = record.attempt >= MOST_ATTEMPTS
        job.give_back(f"not uploaded within {limits.upload_timeout_s} s: {record.reason}", excluded=is_last)
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
    if job.read_arrived() is None and not (job.record.tries or job.is_apart):
        bring_together(job, connection, timeout_s)
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
