"""Status requests on a simulated server: its objects under PBS's names, with PBS's counts and sums.

Each reply is a list of names and attributes. The mappings are the server's own where possible: they must not be
modified, and those of jobs and vnodes are the same objects until something changes.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping

from sim.pbs_server.objects.errors import JOB_FINISHED, UNKNOWN_QUEUE, UNKNOWN_RESOURCE, UNKNOWN_SCHEDULER, PbsError
from sim.pbs_server.objects.jobs import SimJob
from sim.pbs_server.objects.vnodes import show_amount
from sim.pbs_server.server import SimServer

Stat = list[tuple[str, Mapping[str, str]]]
"""The reply to a status request: names and attributes."""

_STATES = (("Transit", "T"), ("Queued", "Q"), ("Held", "H"), ("Waiting", "W"), ("Running", "R"), ("Exiting", "E"),
           ("Begun", "B"))  # fmt: skip


def stat_server(server: SimServer) -> Stat:
    """The server's own attributes."""
    state = "Active" if server.texts.get("scheduling") == "True" else "Idle"
    counted = {**_counts(server, None), **_assigned(server, None)}
    return [(server.name, {**server.texts, "server_state": state, **counted})]


def stat_queues(server: SimServer, name: str = "") -> Stat:
    """One queue's attributes, or all queues'."""
    if name and name not in server.queues:
        raise PbsError(UNKNOWN_QUEUE)
    names = [name] if name else list(server.queues)
    return [(each, {**server.queues[each], **_counts(server, each), **_assigned(server, each)}) for each in names]


def stat_vnodes(server: SimServer, name: str = "") -> Stat:
    """One vnode's attributes, or all vnodes'."""
    vnodes = [server.find_vnode(name)] if name else server.vnodes.values()
    return [(vnode.name, vnode.attributes()) for vnode in vnodes]


def stat_scheds(server: SimServer, name: str = "") -> Stat:
    """One scheduler's attributes, or all schedulers'."""
    if name and name not in server.scheds:
        raise PbsError(UNKNOWN_SCHEDULER)
    return [(each, texts) for each, texts in server.scheds.items() if not name or each == name]


def stat_resources(server: SimServer, name: str = "") -> Stat:
    """One resource's type and flag, or all resources'."""
    if name and name not in server.resources:
        raise PbsError(UNKNOWN_RESOURCE)
    names = [name] if name else list(server.resources)
    return [(each, {k: text for k, text in zip(("type", "flag"), server.resources[each]) if text}) for each in names]


def stat_jobs(server: SimServer, job_id: str = "", extend: str = "") -> Stat:
    """The attributes of all jobs, or of those named in `job_id`, separated by commas; PbsError if none of these exists.
    `extend` as in PBS: `t` for subjobs as well, `x` for ended jobs.
    """
    found: Stat = []
    if not job_id:
        for job in server.jobs.values():
            if job.state != "F" or "x" in extend:
                found += _stat_job(job, extend)
        return found
    names = job_id.split(",")
    for name in names:
        with contextlib.suppress(PbsError):
            found += _stat_named(server, name, extend)
    return found or _stat_named(server, names[-1], extend)


def _stat_named(server: SimServer, job_id: str, extend: str) -> Stat:
    parent, index = server.look_up(job_id)
    if parent.state == "F" and "x" not in extend:
        raise PbsError(JOB_FINISHED)
    if index is not None and index not in parent.subjobs:
        return [(parent.subjob_id(index), parent.waiting_subjob(index))]
    return _stat_job(parent if index is None else parent.subjobs[index], extend)


def _stat_job(job: SimJob, extend: str) -> Stat:
    found: Stat = [(job.id, job.texts)]
    if "t" in extend and job.is_array:
        for index in job.indices:
            subjob = job.subjobs.get(index)
            if subjob is not None:
                found.append((subjob.id, subjob.texts))
            elif index in job.waiting:
                found.append((job.subjob_id(index), job.waiting_subjob(index)))
    return found


def _counts(server: SimServer, queue: str | None) -> dict[str, str]:
    found: Counter[str] = Counter()
    for (where, state), count in server.states.items():
        if queue is None or where == queue:
            found[state] += count
    shown = "".join(f"{word}:{found[letter]} " for word, letter in _STATES)
    return {"total_jobs": str(sum(found.values())), "state_count": shown}


def _assigned(server: SimServer, queue: str | None) -> dict[str, str]:
    """The sums over running jobs, of a queue or of all: PBS sums what they requested."""
    sums: Counter[str] = Counter()
    consumables = server.consumables
    for job_id in {job_id for vnode in server.vnodes.values() for job_id in vnode.jobs}:
        job = server.find_job(job_id)
        if queue in (None, job.texts["queue"]):
            sums.update(dict(job.request(consumables).totals))
            sums["nodect"] += int(job.texts["Resource_List.nodect"])
    return {f"resources_assigned.{resource}": show_amount(resource, sums[resource]) for resource in sorted(sums)}
