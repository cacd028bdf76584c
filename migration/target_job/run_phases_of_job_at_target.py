"""Runs a job at its target from acceptance to its end: one phase for each state, each of which can be repeated.

When a job can do nothing now (it is over, is in the scheduler's queue, or has to retry later), its process continues
with another one. The target's pass starts a process where there is none.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Callable

from migration.spool.queue_file import Queue
from migration.spool.spool import SpoolError
from migration.target_job.job_at_target import DISCARD, GoneError, Job, awaits_shared
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease, take_share, take_slot
from migration.target_job.jobs_with_something_to_do import WAITING_TOO, find_needy, find_turns
from migration.target_job.phases.download_results_to_source import download, retry_or_give_up
from migration.target_job.phases.run_build_commands import make
from migration.target_job.phases.stop_job_at_target import stop
from migration.target_job.phases.submit_local_job import submit
from migration.target_job.phases.upload_job_folder_to_target import upload
from migration.target_job.service_context import Site
from policy.migration.job_states_and_transitions import DOWNLOADING, MAKING, SUBMITTED, UPLOADING, WAITING
from policy.migration.wait_and_retry_bounds import pause_s

_LOOK_EVERY_S = 2.0
_SHARED_EVERY_S = 0.5
_MOST_AWAIT = 2
_AGAIN_S = 60
_GOES_ON_FOR_S = 600.0
"""A process that takes on no further job after this leaves them to younger ones."""
_MOST_TIMES = 5
"""Times that a process takes on one job."""
_PHASES: Mapping[str, Callable[[Job], None]] = MappingProxyType({MAKING: make, SUBMITTED: submit})


def process_jobs(site: Site, gid: str) -> None:
    """Do all that can be done now for the job, then for others that have something to do and no process. Raises
    ClusterFileError where the cluster file has become one with problems.
    """
    until_s, done = time.monotonic() + _GOES_ON_FOR_S, Counter((gid,))
    process(site, gid)
    while time.monotonic() < until_s:
        site = site.renewed()
        following = next((one.gid for one in find_needy(site) if done[one.gid] < _MOST_TIMES), None)
        if following is not None:
            process(site, following)
            done[following] += 1
        elif not _wait_for_shared(site):
            return


def _wait_for_shared(site: Site) -> bool:
    """Wait a moment if jobs need a shared file that is on its way: they go on at once when it is there. A few processes
    do so.
    """
    with take_slot(site.home, "awaiting", _MOST_AWAIT) as may_wait:
        if not may_wait or not any(awaits_shared(site, one) for one in site.spool.read(Queue.RECEIVED)):
            return False
        time.sleep(_SHARED_EVERY_S)
        return True


def process(site: Site, gid: str) -> None:
    """Do all that can be done for the job now, each step by the cluster file as it is then. Does nothing where another
    process does.
    """
    with site.working_for(gid), hold_lease(site.spool.job_folder(gid)) as held:
        if not held:
            return
        try:
            job = Job(site, gid)
            while _step(job):
                job.site = job.site.renewed()
                job.refresh()
        except GoneError:
            return


def _step(job: Job) -> bool:
    """One phase; False if nothing is left to be done now. An error that the phase does not know is one of its failures
    too: it ends no process, which has other jobs to do, and is counted as any other."""
    try:
        return _run_phase(job)
    except (GoneError, SpoolError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the job has to come to an end
        place = traceback.extract_tb(error.__traceback__)[-1]
        why = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        if job.record.state == DOWNLOADING and job.record.stop != DISCARD:
            retry_or_give_up(job, why)
        else:
            job.retry(why, pause_s(job.record.tries + 1))
        return False


def _run_phase(job: Job) -> bool:
    """One phase; False if nothing is left to be done now."""
    before = job.record
    if before.stop and (before.state != DOWNLOADING or before.stop == DISCARD):
        stop(job)
    elif before.state == WAITING:
        if before.gid not in find_turns(job.site, job.site.spool.read(Queue.RECEIVED)):
            return False
        job.advance("upload")
    elif job.rests:
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
    return not after.final and (after.state != before.state or bool(after.stop)) and not job.rests


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
