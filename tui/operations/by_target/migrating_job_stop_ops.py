"""Operations on migrating jobs: stop them wherever they are, by ``mgstop``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tui.backends.interface.commands_interface import Change, ChangeError, Target
from tui.backends.interface.read_value_before_and_after_change import StopRequest
from tui.backends.migration_spool import MIGRATING_JOB, PROGRAM, stop_attributes
from tui.operations.operation_type_and_preview import Operation, changes_to
from tui.operations.status_edits_for_preview import Edit, without_jobs
from tui.text.screen_line import Line, safe

if TYPE_CHECKING:
    from policy.migration.job_record_and_copy_updates import Record
    from tui.model.migrating_jobs import Migration
    from tui.state.cluster_view import ClusterView

BRING_BACK, DISCARD = "bring-back", "discard"
RESULTS = (BRING_BACK, DISCARD)
"""What becomes of what a stopped job has written."""

ROOT = "root"


def stop_jobs(cluster: ClusterView, migration: Migration, gids: Sequence[str], results: str, user: str) -> Operation:
    """Stop jobs of this cluster's users, here or at the cluster where they are. ``user`` is who runs ``mgstop``."""
    if results not in RESULTS:
        raise ChangeError(f"results {results!r}: allowed is {', '.join(RESULTS)}")

    def change(gid: str) -> Change:
        record = _stoppable(migration, gid, user)
        argv = (PROGRAM, *(("--discard",) if results == DISCARD else ()), gid)
        readback = StopRequest()
        before = readback.of(stop_attributes(record))
        target = Target(MIGRATING_JOB, gid)
        return Change(target, argv, readback, before, None, lasting=True, title=f"stop {gid}", doer=PROGRAM)

    changes, left_out = changes_to("mgstop", MIGRATING_JOB, gids, change)
    records = [migration.records[one.target.name] for one in changes]
    title = f"stop {records[0].gid if len(records) == 1 else f'{len(records):,} migrating jobs'}"
    notes = tuple(_note(record, results) for record in records)
    return Operation(title, changes, _edit(cluster, records), ends_work=True, left_out=left_out, notes=notes)


def _stoppable(migration: Migration, gid: str, user: str) -> Record:
    record = migration.records.get(gid)
    if record is None:
        raise ChangeError(f"mgstop: {gid!r} is no migrating job here")
    if record.src != migration.this:
        raise ChangeError(f"mgstop: {gid} is a job of cluster {record.src}: it is stopped there")
    if record.final:
        raise ChangeError(f"mgstop: {gid} is {record.state} already")
    if user not in (record.user, ROOT):
        raise ChangeError(f"mgstop: {gid} is a job of {record.user}; beside {record.user} only root may stop it")
    return record


def _note(record: Record, results: str) -> Line:
    """What a stop does to one job, in the state in which it is."""
    if not record.dst:
        text = f"{record.gid} has no cluster yet: it ends as Stopped in the next pass"
    elif record.in_place:
        text = f"{record.gid} is job {record.localid or 'to come'} here, in its own folder: it is deleted"
    else:
        back = "nothing comes back" if results == DISCARD else f"what there is comes back into {record.dir}"
        job = f"its job {record.localid} at {record.dst} is deleted" if record.localid else f"it ends at {record.dst}"
        text = f"{record.gid}: {job}, and {back}"
    also = f"; job {record.fallback} here is deleted too" if record.fallback and not record.in_place else ""
    return ((safe(text + also), "warn"),)


def _edit(cluster: ClusterView, records: Sequence[Record]) -> Edit:
    """The server without the jobs of this cluster that end: those in place, and those submitted here as well."""
    local = {record.localid for record in records if record.in_place} | {record.fallback for record in records}
    there = [job for job in cluster.server_status.jobs if job in local or job.partition(".")[0] in local]
    if not there:
        return lambda server_status: server_status
    return partial(without_jobs, ids=there)
