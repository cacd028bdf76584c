"""Removes the files of finished jobs here, after the number of days that the site has set.

A job's own folder in ``jobs/`` is removed last, so it shows which jobs still have files here.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from hooks.store.bounded_json import parse_json
from migration.as_user.user_files.user_files_in_landing_folder import PARTLY
from migration.programs.run_external_program_with_limits import TIMED_OUT, Finished
from migration.spool.file_lock import LockHeldError, path_lock
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from migration.target_job.folder_not_yet_removed import Unremoved, read_unremoved, write_unremoved
from migration.target_job.job_at_target import SHARED
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease
from migration.target_job.service_context import Site
from migration.transfer.shared_input_cache import lock_of
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import ABORTED
from policy.migration.keep_newest_ended_records_per_user import Ended, find_surplus
from policy.model.printable_text import printable

HELD = -2000
"""Takes the place of an operation's exit status: an upload is using the path."""
_DAY_S = 86_400
_MOST_AT_ONCE = 20
_REMOVE_S = 20
"""The time limit of one operation, which ends by itself before unless the disk hangs."""
_IN_ALL_S = 60.0


def clean_up(site: Site) -> None:
    """Remove the folders of jobs that are over, shared files that no other job names, and old records.

    What a user makes slow to remove, or impossible, costs each pass one try for this user, and is tried at growing
    intervals; what was never tried comes first.
    """
    limits, now_s = site.file.limits, site.now()
    done = site.spool.read(Queue.DONE)
    until_s, tried = time.monotonic() + _IN_ALL_S, 0
    unfinished: set[str] = set()
    for record in sorted(_find_due(site, done), key=lambda one: _read_noted(site, one).tries):
        if tried >= _MOST_AT_ONCE or time.monotonic() >= until_s:
            break
        if record.account in unfinished:
            continue
        tried += 1
        if not _clear(site, record):
            unfinished.add(record.account)
    done = site.spool.read(Queue.DONE)
    surplus = _find_surplus(site, done)
    old = [
        record.gid
        for record in done
        if (now_s - record.since >= limits.keep_done_days * _DAY_S or record.gid in surplus)
        and not record.fallback
        and not site.spool.job_folder(record.gid).exists()
    ]
    if old:
        with site.spool.change() as change:
            change.remove(Queue.DONE, *old)


def find_unremoved(spool: Spool) -> Iterator[tuple[Record, Unremoved]]:
    """The jobs that are over whose folders could not be removed, and the messages."""
    for record in spool.read(Queue.DONE):
        noted = read_unremoved(spool.job_folder(record.gid))
        if noted.tries:
            yield record, noted


def _find_due(site: Site, done: list[Record]) -> Iterator[Record]:
    """The jobs of which something is here that is to go now. A folder in which an unfinished job has its shared input
    stays: that may be a file of the job whose folder it is, or a copy that came into it.
    """
    limits, now_s = site.file.limits, site.now()
    used = {path for one in site.spool.read(Queue.RECEIVED) for path in _shared(site.spool.job_folder(one.gid))}
    for record in done:
        keep_days = limits.keep_aborted_days if record.state == ABORTED else limits.keep_target_days
        if is_guest(site, record) and now_s - record.since >= keep_days * _DAY_S:
            folder = site.spool.job_folder(record.gid)
            is_used = record.dstdir and any(path.startswith(f"{record.dstdir}/") for path in used)
            if folder.exists() and not is_used and read_unremoved(folder).next <= now_s:
                yield record


def _read_noted(site: Site, record: Record) -> Unremoved:
    return read_unremoved(site.spool.job_folder(record.gid))


def _clear(site: Site, record: Record) -> bool:
    """Remove what the job has left; False where something is left. No process works for the job meanwhile."""
    folder = site.spool.job_folder(record.gid)
    with hold_lease(folder) as held:
        if not held or record.gid not in {one.gid for one in site.spool.read(Queue.DONE)}:
            return True
        done = _remove(site, record, folder)
        if done is None:
            shutil.rmtree(folder)
            return True
        if done.status != HELD:
            noted = read_unremoved(folder)
            text = printable(done.problem)
            write_unremoved(folder, noted.tried_again(site.now(), text, goes_on=done.status in (PARTLY, TIMED_OUT)))
        return False


def _find_surplus(site: Site, done: list[Record]) -> frozenset[str]:
    """Jobs of other clusters' users that have very many ended here."""
    sizes = site.spool.read_sizes(Queue.DONE)
    guests = (record for record in done if is_guest(site, record) and record.dstdir and record.gid in sizes)
    ended = (Ended(one.gid, (one.src, one.user), one.since, sizes[one.gid]) for one in guests)
    return find_surplus(ended, site.file.limits.max_ended_per_user)


def is_guest(site: Site, record: Record) -> bool:
    """Whether another cluster's job was here."""
    this = site.file.this.name
    return record.dst == this and record.src != this


def _remove(site: Site, record: Record, folder: Path) -> Finished | None:
    """None once nothing of the job is left below the landing folder, or how the operation that left something ended."""
    landing = site.file.this.landing
    named = _names(site, record, Queue.DONE)
    for path in [*_shared(folder), *([record.dstdir] if record.dstdir else [])]:
        if path in named or not path.startswith(f"{landing}/{record.account}/"):
            continue
        try:
            # An upload that comes to use the path holds this lock, and its record is there before it takes it.
            with path_lock(site.home, lock_of(path), 0):
                if path in _names(site, record, Queue.RECEIVED):
                    continue
                argv = ["remove", landing, path[len(landing) + 1 :]]
                done = site.run(argv, user=record.account, timeout_s=_REMOVE_S)
        except LockHeldError as held:
            return Finished(HELD, b"", str(held).encode("utf-8", "replace"))
        if done.status:
            return done
    return None


def _names(site: Site, record: Record, queue: Queue) -> frozenset[str]:
    """What other jobs that are here name as their folders and their shared input."""
    found: set[str] = set()
    for other in site.spool.read(queue):
        folder = site.spool.job_folder(other.gid)
        if other.gid != record.gid and (queue is Queue.RECEIVED or folder.exists()):
            found.update((other.dstdir, *_shared(folder)))
    return frozenset(found)


def _shared(folder: Path) -> list[str]:
    found: set[str] = set()
    for path in folder.glob(f"{SHARED}.*"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            found.update(parse_json(path.read_bytes()))
    return sorted(found)
