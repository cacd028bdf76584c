"""Vnodes whose cores PBS still counts for jobs that are gone: it forgets to give them back where a job is deleted by
force while it is being requeued, for one.

Only a restart of ``pbs_server``, which counts anew, gives them back, so a pass names such vnodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.jobs_runs_vnodes_queues import Vnode

_MOST_SHOWN = 3
_SEQUENCE = re.compile(r"[0-9]{1,15}")


def name_cores_of_gone_jobs(server_status: ServerStatus, vnodes: Mapping[str, Vnode]) -> list[str]:
    """A sentence if there are such vnodes. ``vnodes`` are those of the snapshot: only of one with more in use than its
    known jobs have are the jobs looked at. A job that is newer than all known ones was submitted since they were
    read."""
    newest = max(map(_sequence, server_status.jobs), default=0)
    found: dict[str, list[str]] = {}
    for name, vnode in vnodes.items():
        if vnode.elsewhere:
            text = server_status.vnodes.get(name, {}).get("jobs", "")
            gone = [job_id for job_id in _ids(text) if job_id not in server_status.jobs and _sequence(job_id) < newest]
            if gone:
                found[name] = gone
    if not found:
        return []
    shown = [f"{name} ({', '.join(gone[:_MOST_SHOWN])})" for name, gone in sorted(found.items())[:_MOST_SHOWN]]
    more = [f"and {len(found) - _MOST_SHOWN} more"] if len(found) > _MOST_SHOWN else []
    return [f"PBS counts cores for jobs that are gone, until pbs_server is restarted: {', '.join([*shown, *more])}"]


def _ids(text: str) -> Iterator[str]:
    """Each job once, of a vnode's ``jobs``: ``12.server/0, 12.server/1``. Torque writes ``0/12.server``, and counts no
    cores apart from its jobs."""
    ids = dict.fromkeys(part.strip().partition("/")[0] for part in text.split(","))
    yield from (job_id for job_id in ids if "." in job_id)


def _sequence(job_id: str) -> int:
    number = _SEQUENCE.match(job_id)
    return int(number.group()) if number else 0
