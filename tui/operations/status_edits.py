"""A picture as it would be after a change, for the preview: the same texts that the server would show.

Nothing is decided here. A job that lets go of its vnodes gives back what it held there, since what a server counts as
assigned beyond the jobs that are seen would otherwise look like somebody else's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from hooks.pbs.job_ids import is_running
from hooks.pbs.status import Attributes, Picture
from policy.model.allocation import PlacementError, parse_exec_vnode
from policy.model.units import parse_amount

Edit = Callable[[Picture], Picture]

_OF_A_RUN = ("exec_vnode", "exec_host", "stime")


def edit_queue(picture: Picture, queue: str, texts: Mapping[str, str]) -> Picture:
    """The queue with these attributes; empty ones are taken away."""
    return replace(picture, queues={**picture.queues, queue: _with(picture.queues[queue], texts)})


def edit_server(picture: Picture, texts: Mapping[str, str]) -> Picture:
    """The server with these attributes; empty ones are taken away."""
    return replace(picture, server=_with(picture.server, texts))


def edit_jobs(picture: Picture, ids: Collection[str], texts: Mapping[str, str]) -> Picture:
    """The jobs with these attributes."""
    return replace(picture, jobs={**picture.jobs, **{job: _with(picture.jobs[job], texts) for job in ids}})


def without_jobs(picture: Picture, ids: Collection[str]) -> Picture:
    """The picture without these jobs."""
    picture = let_go(picture, ids)
    return replace(picture, jobs={job: texts for job, texts in picture.jobs.items() if job not in ids})


def requeued(picture: Picture, ids: Collection[str]) -> Picture:
    """The picture with these running jobs waiting again. A subjob's wait is its array's business: it is just gone."""
    picture = let_go(picture, ids)
    subjobs = {job for job in ids if "[" in job and "[]" not in job}
    jobs = {}
    for job, texts in picture.jobs.items():
        if job in subjobs:
            continue
        kept = {name: text for name, text in texts.items() if name not in _OF_A_RUN} if job in ids else texts
        jobs[job] = {**kept, "job_state": "Q"} if job in ids else texts
    return replace(picture, jobs=jobs)


def let_go(picture: Picture, ids: Collection[str]) -> Picture:
    """The picture with what these jobs hold on vnodes given back, as far as it can be read."""
    vnodes = dict(picture.vnodes)
    for job in ids:
        texts = picture.jobs.get(job, {})
        if not is_running(texts):
            continue
        try:
            spots = parse_exec_vnode(texts.get("exec_vnode", "")).spots
        except PlacementError:
            continue
        for name, amounts, chunks, _ in spots:
            if name in vnodes:
                less = {f"resources_assigned.{resource}": amount * chunks for resource, amount in amounts}
                vnodes[name] = _lowered(vnodes[name], less)
    return replace(picture, vnodes=vnodes)


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
