"""Which jobs here have something to do now that no process does: for the passes, which start processes, and for jobs'
processes, which go on with the next one.

Uploads begin in the order of acceptance, as many at a time as the limits allow, and of each user his share.
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
"""So many processes are there for each slot of a transfer: one that works, and one that waits."""


def is_watched(record: Record) -> bool:
    """Whether the scheduler has the job, so that only its end is something to do."""
    return record.state == SUBMITTED and bool(record.localid) and not record.stop


def find_needy(site: Site) -> Iterator[Record]:
    """The jobs for which a process has something to do. Of those that transfer there are few, in all and of each user,
    with those that are worked on: more would only wait.
    """
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
