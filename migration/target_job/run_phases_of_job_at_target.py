"""One job at its target, from acceptance to its end: a phase for each state, each of which can be repeated.

The process ends when nothing is to be done now: the job is over, waits in the scheduler's queue, or a step is to be
tried again later. The next pass starts it again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Callable

from migration.spool.queue_file import Queue
from migration.target_job.download_results_to_source import download
from migration.target_job.job_at_target import DISCARD, GoneError, Job, find_due
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease, take_share
from migration.target_job.run_build_commands import make
from migration.target_job.service_context import Site
from migration.target_job.stop_job_at_target import stop
from migration.target_job.submit_local_job import submit
from migration.target_job.upload_job_folder_to_target import upload
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import DOWNLOADING, MAKING, SUBMITTED, UPLOADING, WAITING

WAITING_TOO = 2
"""So many processes are there for each slot of a transfer: one that works, and one that waits."""
_LOOK_EVERY_S = 2.0
_AGAIN_S = 60
_PHASES: Mapping[str, Callable[[Job], None]] = MappingProxyType({MAKING: make, SUBMITTED: submit})


def process(site: Site, gid: str) -> None:
    """Do all that can be done for the job now. Does nothing where another process does."""
    with hold_lease(site.spool.job_folder(gid)) as held:
        if not held:
            return
        try:
            job = Job(site, gid)
            while _step(job):
                job.refresh()
        except GoneError:
            return


def _step(job: Job) -> bool:
    """One phase; False if nothing is left to be done now."""
    before = job.record
    if before.stop and (before.state != DOWNLOADING or before.stop == DISCARD):
        stop(job)
    elif before.state == WAITING:
        return _wait_for_turn(job)
    elif job.due_in_s > 0:
        return False
    elif before.state == UPLOADING:
        _in_slot(job, "upload", job.site.file.limits.max_uploads, upload)
    elif before.state == DOWNLOADING:
        _in_slot(job, "download", job.site.file.limits.max_downloads, download)
    elif before.state == SUBMITTED and before.localid:
        return False
    else:
        _PHASES[before.state](job)
    after = job.record
    return not after.final and (after.state != before.state or bool(after.stop)) and job.due_in_s <= 0


def _wait_for_turn(job: Job) -> bool:
    """Uploads begin in the order of acceptance, as many at a time as the limits allow, and of each user his share."""
    site, gid = job.site, job.record.gid
    if _is_its_turn(site, gid):
        job.advance("upload")
    else:
        time.sleep(_LOOK_EVERY_S)
    return True


def _is_its_turn(site: Site, gid: str) -> bool:
    """Whether this is among the next waiting jobs. An upload that rests until it is tried again takes no place."""
    limits, received = site.file.limits, site.spool.read(Queue.RECEIVED)
    of_user = Counter(one.account for one in received if one.state == UPLOADING and not _rests(site, one))
    left = limits.max_uploads - sum(of_user.values())
    for record in received:
        if record.state != WAITING or of_user[record.account] >= limits.max_transfers_per_user:
            continue
        if left <= 0:
            return False
        if record.gid == gid:
            return True
        of_user[record.account] += 1
        left -= 1
    return False


def _rests(site: Site, record: Record) -> bool:
    return find_due(site.spool.job_folder(record.gid), record.attempt) > site.now()


def _in_slot(job: Job, kind: str, count: int, phase: Callable[[Job], None]) -> None:
    """The phase, once there is a slot for it. As many processes wait for one as there are, in all and of a user; others
    end, and a later pass starts them again.
    """
    home, account = job.site.home, job.record.account
    share = job.site.file.limits.max_transfers_per_user
    with take_share(home, f"{kind}-or-wait", WAITING_TOO * count, account, WAITING_TOO * share) as may_wait:
        if not may_wait:
            job.set_due(_AGAIN_S)
            return
        while True:
            with take_share(home, kind, count, account, share) as taken:
                if taken:
                    phase(job)
                    return
            if job.refresh().stop:
                return
            time.sleep(_LOOK_EVERY_S)
