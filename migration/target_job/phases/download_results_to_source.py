"""The download phase: files that are new or differ return to the folder of submission, and a second run proves that
they are there.
"""

from __future__ import annotations

from collections.abc import Sequence

from migration.as_user.user_files.folder_tree_listing import Entry
from migration.target_job.job_at_target import GAVE_UP, Job
from migration.transfer.bring_results_back import bring_back
from migration.transfer.ssh_and_rsync_to_source import StoppedError, TransferError
from migration.transfer.upload_manifest_and_changed_files import (
    Manifest,
    find_closed,
    find_results,
    read_manifest,
)
from policy.migration.job_states_and_transitions import DOWNLOADED, END
from policy.migration.wait_and_retry_bounds import DOWNLOAD_FOR_S, pause_s

_TIMEOUT_S = 86_400
_MOST_SHOWN = 3


def download(job: Job) -> None:
    """The phase: leads to the final state, or is tried again later. Nothing is removed here."""
    record, site = job.record, job.site
    try:
        results, closed, uploaded = _find(job)
        with job.connection() as connection:
            returned = bring_back(connection, record.dstdir, results, uploaded or {}, _TIMEOUT_S)
    except StoppedError:
        return
    except (TransferError, OSError) as broken:
        retry_or_give_up(job, str(broken))
        return
    reason = job.lasting_reason
    if returned.kept:
        shown = _list([f"{one.path} (ours: {one.beside})" for one in returned.kept])
        reason = "; ".join(filter(None, (reason, f"changed at the source and kept: {shown}")))
    if closed:
        left = f"left at {site.file.this.name}, since the job has closed them to its user: {_list(closed)}"
        reason = "; ".join(filter(None, (reason, left)))
    job.advance(
        DOWNLOADED[record.then or END], reason=reason, downloaded_bytes=record.downloaded_bytes + returned.sent_bytes
    )


def retry_or_give_up(job: Job, why: str) -> None:
    """Let the phase be tried again later, or end it after :data:`DOWNLOAD_FOR_S` without the results."""
    if job.site.now() - job.record.since > DOWNLOAD_FOR_S:
        job.advance("gave-up", reason="; ".join(filter(None, (job.lasting_reason, f"{GAVE_UP}{why}"))))
    else:
        job.retry(why, pause_s(job.record.tries + 1))


def _list(names: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


def _find(job: Job) -> tuple[list[Entry], list[str], Manifest | None]:
    """The results, those that nothing can read, and what was uploaded. A job that was stopped early may have no folder
    here.
    """
    uploaded = job.read_manifest()
    try:
        now = read_manifest(job.look_here(_TIMEOUT_S))
    except TransferError:
        if uploaded is not None:
            raise
        now = {}
    gid, nostage = job.record.gid, job.record.nostage
    return find_results(now, uploaded, gid, nostage), find_closed(now, uploaded, gid, nostage), uploaded
