"""Removes what finished jobs have left here, after the number of days that the site has set.

A job's own folder in ``jobs/`` is removed last, so it shows which jobs still have files here.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import SHARED
from migration.target_job.job_process_lock_and_transfer_slots import is_leased
from migration.target_job.service_context import Site
from migration.transfer.shared_input_cache import unnamed
from policy.migration.ended_records import Ended, find_surplus
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.transitions import ABORTED

_DAY_S = 86_400
_MOST_AT_ONCE = 20
_REMOVE_S = 300


def clean_up(site: Site) -> None:
    """Remove the folders of jobs that are over, shared files that no other job names, and old records."""
    limits, now_s = site.file.limits, site.now()
    received = site.spool.read(Queue.RECEIVED)
    done = site.spool.read(Queue.DONE)
    removed = 0
    for record in done:
        keep_days = limits.keep_aborted_days if record.state == ABORTED else limits.keep_target_days
        if not is_guest(site, record) or now_s - record.since < keep_days * _DAY_S:
            continue
        folder = site.spool.job_folder(record.gid)
        if removed < _MOST_AT_ONCE and folder.exists() and not is_leased(folder):
            removed += 1
            others = [other for other in (*received, *done) if other.gid != record.gid]
            if _remove(site, record, folder, others):
                shutil.rmtree(folder)
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


def _remove(site: Site, record: Record, folder: Path, others: list[Record]) -> bool:
    """Whether nothing of the job is left below the landing folder."""
    landing = site.file.this.landing
    kept = [other for other in others if site.spool.job_folder(other.gid).exists()]
    paths = unnamed(_shared(folder), [_shared(site.spool.job_folder(other.gid)) for other in kept])
    if record.dstdir and not any(other.dstdir == record.dstdir for other in kept):
        paths.append(record.dstdir)
    for path in paths:
        if not path.startswith(f"{landing}/{record.account}/"):
            continue
        argv = ["remove", landing, path[len(landing) + 1 :]]
        if site.run(argv, user=record.account, timeout_s=_REMOVE_S).status:
            return False
    return True


def _shared(folder: Path) -> list[str]:
    found: set[str] = set()
    for path in folder.glob(f"{SHARED}.*"):
        with contextlib.suppress(OSError, ValueError):
            found.update(json.loads(path.read_bytes()))
    return sorted(found)
