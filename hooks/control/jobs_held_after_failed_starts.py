"""Jobs that PBS holds since more than twenty starts of each did not last, as on a host with a full disk.

Nothing ends such a hold but a release, and the next start fails as well as long as the host is not mended: so a pass
names the jobs.
"""

from __future__ import annotations

from hooks.pbs.job_attributes.job_ids_and_states import is_held_after_failed_starts
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.pbs_units import show_count, show_job

_MOST_SHOWN = 5


def name_jobs_held_after_failed_starts(server_status: ServerStatus) -> list[str]:
    """A sentence if there are such jobs or arrays."""
    found = [show_job(job_id) for job_id, texts in server_status.jobs.items() if is_held_after_failed_starts(texts)]
    if not found:
        return []
    more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
    return [
        f"PBS holds {show_count(len(found), 'job')} after too many failed attempts to run:"
        f" {', '.join(found[:_MOST_SHOWN])}{more}; the logs of the MoMs that they were sent to say why"
    ]
