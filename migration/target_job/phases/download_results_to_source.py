"""The download phase: files that are new or differ return to the folder of submission, and a second run proves that
they are there.
"""

from __future__ import annotations

from migration.as_user.user_files.folder_tree_listing import Entry
from migration.target_job.job_at_target import GAVE_UP, Job
from migration.transfer.bring_results_back import bring_back
from migration.transfer.ssh_and_rsync_to_source import StoppedError, TransferError
from migration.transfer.upload_manifest_and_changed_files import Manifest, find_results, read_manifest
from policy.migration.job_states_and_transitions import DOWNLOADED, END
from policy.migration.wait_and_retry_bounds import DOWNLOAD_FOR_S, pause_s

_TIMEOUT_S = 86_400
_MOST_SHOWN = 3


def download(job: Job) -> None:
    """The phase: leads to the final state, or is tried again later. Nothing is removed here."""
    record, site = job.record, job.site
    try:
        results, uploaded = _find(job)
        with job.connection() as connection:
            returned = bring_back(connection, record.dstdir, results, uploaded or {}, _TIMEOUT_S)
    except StoppedError:
        return
    except (TransferError, OSError, ValueError) as broken:
        if site.now() - record.since > DOWNLOAD_FOR_S:
            job.advance("gave-up", reason="; ".join(filter(None, (job.lasting_reason, f"{GAVE_UP}{broken}"))))
        else:
            job.retry(str(broken), pause_s(job.record.tries + 1))
        return
    reason = job.lasting_reason
    if returned.kept:
        shown = ", ".join(f"{one.path} (ours: {one.beside})" for one in returned.kept[:_MOST_SHOWN])
        more = f" and {len(returned.kept) - _MOST_SHOWN} more" if len(returned.kept) > _MOST_SHOWN else ""
        reason = "; ".join(filter(None, (reason, f"changed at the source and kept: {shown}{more}")))
    job.advance(
        DOWNLOADED[record.then or END], reason=reason, downloaded_bytes=record.downloaded_bytes + returned.sent_bytes
    )


def _find(job: Job) -> tuple[list[Entry], Manifest | None]:
    """The results, and what was uploaded. A job that was stopped early may have no folder here."""
    uploaded = job.read_manifest()
    try:
        now = read_manifest(job.look_here(_TIMEOUT_S))
    except TransferError:
        if uploaded is not None:
            raise
        now = {}
    return find_results(now, uploaded, job.record.gid, job.record.nostage), uploaded
