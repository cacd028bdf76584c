"""Edits of the server status for the preview: the attribute texts that the server would show after a change.

Nothing is decided here. A job that leaves its vnodes is subtracted from their assigned amounts: whatever a vnode has
assigned beyond the visible jobs would otherwise count as used by others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from hooks.pbs.job_attributes.job_ids_and_states import is_running
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from policy.model.allocation import AllocationError, parse_exec_vnode
from policy.model.pbs_units import parse_amount

Edit = Callable[[ServerStatus], ServerStatus]

_OF_A_RUN = ("exec_vnode", "exec_host", "stime")


def edit_queue(server_status: ServerStatus, queue: str, texts: Mapping[str, str]) -> ServerStatus:
    """The queue with these attributes; empty ones are removed."""
    return replace(server_status, queues={**server_status.queues, queue: _with(server_status.queues[queue], texts)})


def edit_server(server_status: ServerStatus, texts: Mapping[str, str]) -> ServerStatus:
    """The server with these attributes; empty ones are removed."""
    return replace(server_status, server=_with(server_status.server, texts))


def edit_jobs(server_status: ServerStatus, ids: Collection[str], texts: Mapping[str, str]) -> ServerStatus:
    """The jobs with these attributes; empty ones are removed."""
    return replace(
        server_status, jobs={**server_status.jobs, **{job: _with(server_status.jobs[job], texts) for job in ids}}
    )


def without_jobs(server_status: ServerStatus, ids: Collection[str]) -> ServerStatus:
    """The server status without these jobs."""
    server_status = take_off_vnodes(server_status, ids)
    return replace(server_status, jobs={job: texts for job, texts in server_status.jobs.items() if job not in ids})


def requeued(server_status: ServerStatus, ids: Collection[str]) -> ServerStatus:
    """The server status with these running jobs requeued. Subjobs are removed, since their array queues them."""
    server_status = take_off_vnodes(server_status, ids)
    subjobs = {job for job in ids if "[" in job and "[]" not in job}
    jobs = {}
    for job, texts in server_status.jobs.items():
        if job in subjobs:
            continue
        kept = {name: text for name, text in texts.items() if name not in _OF_A_RUN} if job in ids else texts
        jobs[job] = {**kept, "job_state": "Q"} if job in ids else texts
    return replace(server_status, jobs=jobs)


def suspended(server_status: ServerStatus, ids: Collection[str]) -> ServerStatus:
    """The server status with these running jobs suspended: they keep their vnodes' names, not their cores."""
    return edit_jobs(take_off_vnodes(server_status, ids), ids, {"job_state": "S"})


def take_off_vnodes(server_status: ServerStatus, ids: Collection[str]) -> ServerStatus:
    """The server status with these jobs' amounts subtracted from their vnodes; an unreadable allocation is skipped."""
    vnodes = dict(server_status.vnodes)
    for job in ids:
        texts = server_status.jobs.get(job, {})
        if not is_running(texts):
            continue
        try:
            spots = parse_exec_vnode(texts.get("exec_vnode", "")).spots
        except AllocationError:
            continue
        for name, amounts, chunks, _ in spots:
            if name in vnodes:
                less = {f"resources_assigned.{resource}": amount * chunks for resource, amount in amounts}
                vnodes[name] = _lowered(vnodes[name], less)
    return replace(server_status, vnodes=vnodes)


def _lowered(vnode: Attributes, less: Mapping[str, int]) -> Attributes:
    texts = dict(vnode)
    for name, amount in less.items():
        left = (parse_amount(texts.get(name, "")) or 0) - amount
        if name in texts:
            texts[name] = f"{max(0, left)}kb" if texts[name].lower().endswith("b") else str(max(0, left))
    states = [state for state in texts.get("state", "").split(",") if state not in ("job-busy", "job-exclusive")]
    texts["state"] = ",".join(states) or "free"
    return texts


def _with(texts: Attributes, changes: Mapping[str, str]) -> Attributes:
    return {name: text for name, text in {**texts, **changes}.items() if text}
