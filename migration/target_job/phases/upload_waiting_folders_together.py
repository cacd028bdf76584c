"""Brings the folders of a batch in one transfer: those of waiting jobs come with the folder beside theirs whose upload
begins.

It only saves transfers: a job whose folder did not come this way, for any reason, brings it in its own upload.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from migration.spool.file_lock import LockHeldError, path_lock
from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import GoneError, Job
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease, is_leased
from migration.target_job.phases.room_for_job_folder import Survey, check_space, make_folder, read_surveys
from migration.transfer.shared_input_cache import lock_of
from migration.transfer.ssh_and_rsync_to_source import Connection, TransferError
from migration.transfer.words_for_paths_at_source import PLAIN_NAME
from policy.migration.job_record_and_copy_updates import Record, amend
from policy.migration.job_states_and_transitions import WAITING

_MOST = 100
_MOST_BYTES = 1 << 30
"""Of one transfer, which must not take the first job's time for its upload."""
_MOST_OF_ONE = _MOST_BYTES // 4
"""A larger folder gains nothing by coming with others."""


def bring_together(job: Job, connection: Connection, timeout_s: float) -> None:
    """Copy the folders of the job and of waiting ones beside it, and note for each that it has arrived. What fails is
    left to the uploads. Raises StoppedError and FolderTakenError.
    """
    with contextlib.ExitStack() as held:
        jobs = [job, *_take_waiting(job, held)]
        if len(jobs) == 1:
            return
        try:
            _bring(job, jobs, connection, timeout_s)
        except TransferError as broken:
            for one in jobs:
                one.set_apart()
            job.log(f"{len(jobs)} folders did not come together: {broken}")


def _bring(job: Job, jobs: list[Job], connection: Connection, timeout_s: float) -> None:
    answer = connection.ask(f"surveys {' '.join(one.record.gid for one in jobs)}")
    found = read_surveys(answer)
    surveys = {gid: Survey.read(data) for gid, data in found.items()}
    coming: list[Job] = []
    sizes: dict[str, int] = {}
    for one in jobs:
        survey = surveys.get(one.record.gid)
        if survey is None:
            continue
        if survey.problem or survey.refused or survey.size > _MOST_OF_ONE:
            # It is not looked through again for each batch that could take it.
            one.set_apart()
        elif sum(sizes.values()) + survey.size <= _MOST_BYTES:
            coming.append(one)
            sizes[one.record.gid] = survey.size
    if len(coming) < 2:
        return
    make_folder(job)
    check_space(job, *(surveys[gid] for gid in sizes))
    names = {one.record.gid: one.record.dir.rpartition("/")[2] for one in coming}
    received = connection.fetch_folders(names, job.record.dstdir.rpartition("/")[0], timeout_s)
    for one in coming:
        one.write_arrived(found[one.record.gid])
    _count(job, coming, sizes, received)
    job.refresh()
    job.log(f"{len(coming)} folders have come together")


def _count(job: Job, jobs: list[Job], sizes: dict[str, int], received: int) -> None:
    """Add what came to the jobs' records, to each its share."""
    whole = max(1, sum(sizes.values()))
    attempts = {(one.record.gid, one.record.attempt) for one in jobs}
    with job.site.spool.change() as change:
        there = [one for one in change.records(Queue.RECEIVED) if (one.gid, one.attempt) in attempts]
        shares = [one.uploaded_bytes + received * sizes[one.gid] // whole for one in there]
        change.put_all(Queue.RECEIVED, [amend(one, uploaded_bytes=share) for one, share in zip(there, shares)])


def _take_waiting(job: Job, held: contextlib.ExitStack) -> Iterator[Job]:
    """The waiting jobs whose folders may come with this job's. No other process works for them while ``held``, and what
    an ended job has left in a folder of theirs is not removed.
    """
    site, taken = job.site, 1
    for record in site.spool.read(Queue.RECEIVED):
        folder = site.spool.job_folder(record.gid)
        if taken >= _MOST or not _is_beside(job.record, record) or is_leased(folder):
            continue
        with contextlib.ExitStack() as mine:
            try:
                if not mine.enter_context(hold_lease(folder)):
                    continue
                mine.enter_context(path_lock(site.home, lock_of(record.dstdir), 0))
                other = Job(site, record.gid)
            except (LockHeldError, GoneError):
                continue
            if not _is_beside(job.record, other.record) or other.read_arrived() is not None or other.is_apart:
                continue
            held.enter_context(mine.pop_all())
        taken += 1
        yield other


def _is_beside(first: Record, other: Record) -> bool:
    """Whether ``other`` waits, and its folder is beside the first's, there and here, under its own name, with nothing
    left out of either.
    """
    (above, _, name), (here, _, name_here) = first.dir.rpartition("/"), first.dstdir.rpartition("/")
    beside = other.dir.rpartition("/")[2]
    return (
        other.state == WAITING
        and not other.stop
        and (other.src, other.user, other.account) == (first.src, first.user, first.account)
        and not (first.exclude or other.exclude)
        and name == name_here != beside
        and all(map(PLAIN_NAME.fullmatch, (name, beside)))
        and (other.dir, other.dstdir) == (f"{above}/{beside}", f"{here}/{beside}")
    )
