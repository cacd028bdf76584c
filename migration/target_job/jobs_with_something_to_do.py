"""Finds the jobs here that can go on now and that no process works on: passes start processes for them, and a job's
process continues with the next one.

Uploads begin in the order of acceptance, within the limits on all of them and on those of one user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import DISCARD, rests
from migration.target_job.job_process_lock_and_transfer_slots import is_leased
from migration.target_job.service_context import Site
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import DOWNLOADING, SUBMITTED, UPLOADING, WAITING

WAITING_TOO = 2
"""Processes for each slot of a transfer: one that works, and one that waits."""


def is_watched(record: Record) -> bool:
    """Whether the scheduler has the job, so that only its end is something to do."""
    return record.state == SUBMITTED and bool(record.localid) and not record.stop


def find_needy(site: Site) -> Iterator[Record]:
    """The jobs on which a process can work now. Transfers are limited, in all and for each user, counting those under
    way: more would only wait."""
    limits, received = site.file.limits, site.spool.read(Queue.RECEIVED)
    most = {UPLOADING: WAITING_TOO * limits.max_uploads, DOWNLOADING: WAITING_TOO * limits.max_downloads}
    of_user = WAITING_TOO * limits.max_transfers_per_user
    transfers: Counter[str] = Counter()
    of_users: Counter[tuple[str, str]] = Counter()
    turns = frozenset(find_turns(site, received))
    needy = []
    for record in received:
        if is_leased(site.spool.job_folder(record.gid)):
            transfers[record.state] += 1
            of_users[record.state, record.account] += 1
        elif _needs_process(site, record, turns):
            needy.append(record)
    for record in needy:
        kind = (record.state, record.account)
        if record.state in most and record.stop != DISCARD:
            if transfers[record.state] >= most[record.state] or of_users[kind] >= of_user:
                continue
            transfers[record.state] += 1
            of_users[kind] += 1
        yield record


def _needs_process(site: Site, record: Record, turns: frozenset[str]) -> bool:
    if record.stop and record.state != DOWNLOADING:
        return True
    if record.state == WAITING:
        return record.gid in turns
    return not is_watched(record) and not rests(site, record)


def find_turns(site: Site, received: list[Record]) -> Iterator[str]:
    """The next waiting jobs, whose uploads may begin. An upload that rests takes no place."""
    limits = site.file.limits
    of_user = Counter(one.account for one in received if one.state == UPLOADING and not rests(site, one))
    left = limits.max_uploads - sum(of_user.values())
    for record in received:
        if left <= 0:
            return
        if record.state == WAITING and of_user[record.account] < limits.max_transfers_per_user:
            of_user[record.account] += 1
            left -= 1
            yield record.gid
