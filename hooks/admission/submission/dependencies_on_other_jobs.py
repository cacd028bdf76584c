"""Refuses a user's ``depend`` by which PBS would delete, hold or lose jobs, or which would make its server wait or
fail: dependencies that PBS lets only the owner register on other users' jobs, and jobs at other servers.

What PBS does there are faults of its own (``req_register.c``). A job whose ``before`` dependency PBS cannot register is
aborted, and takes with it all jobs that it names, whoever owns them; an array among them loses the cores of subjobs
that run. Where it cannot register a ``runone``, or knows of a link between two jobs at one of them alone, the server
ends. To ask another server it connects in its only thread, for as long as whatever answers there lets it wait.
"""

from __future__ import annotations

import time
from typing import Any

from hooks.pbs.job_attributes.depend_as_pbs_parses_it import (
    BEFORE,
    ON,
    RUNONE,
    NamedJob,
    find_kinds,
    find_mirror,
    find_named_jobs,
)
from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.managers_and_operators import may_manage
from hooks.pbs.names_of_this_server import is_own_server

_LONGEST_S = 1.0
"""The time limit for reading the named jobs: enough for as many as may be named."""
_LONGEST_NAME = 255
"""PBS copies longer names of jobs and servers beyond the end of its own field."""
_OWN_ONLY = "before, beforeok, beforenotok, beforeany and runone are for one's own jobs"


def refuse_dependencies(pbs: Any, depend_servers: str, before: Any = None) -> str:
    """Why the event's job is refused; empty if its ``depend`` does no harm, for managers and operators, and at once
    where the event sets none. ``before``: at an alteration, the job as it was."""
    event = pbs.event()
    depend = read_attribute(event.job, "depend")
    if not depend:
        return ""
    user = str(event.requestor) if before is None else read_attribute(before, "Job_Owner").partition("@")[0]
    own_id = "" if before is None else read_attribute(before, "id").partition(".")[0]
    refusal = _refuse_servers(pbs, depend, depend_servers) or _refuse_unregistrable(pbs, depend, user, own_id)
    if not refusal and before is not None and has_running_subjobs(before):
        # PBS aborts an array whose dependency fails, and subjobs that run then never give back their cores.
        refusal = (
            "an array gets no dependency (depend) while subjobs of it run: PBS would lose their cores if it failed"
        )
    # Who may manage is asked last: PBS makes an object of the whole server for it.
    return refusal if refusal and not may_manage(pbs) else ""


def has_running_subjobs(job: Any) -> bool:
    """Whether subjobs run or are about to end: those of an array that has begun go on while it is held."""
    counts = (count.partition(":") for count in read_attribute(job, "array_state_count").split())
    return any(state in ("Running", "Exiting") and number != "0" for state, _, number in counts)


def _refuse_servers(pbs: Any, depend: str, depend_servers: str) -> str:
    judged = set()
    for each in find_named_jobs(depend):
        if each.length > _LONGEST_NAME:
            return f"its depend names a job or a server with {each.length:,} characters; allowed are {_LONGEST_NAME}"
        if depend_servers == "own" and each.server not in judged and not is_own_server(pbs, each.server):
            return (
                f"its depend names job {_show(each.job_id)} at server {_show(each.server)}; allowed are jobs at this"
                " server, by its own name and without a port (submission.depend_servers)"
            )
        judged.add(each.server)
    return ""


def _refuse_unregistrable(pbs: Any, depend: str, user: str, own_id: str) -> str:
    """Refuse what PBS registers for a job's owner alone, unless the jobs are the user's and PBS can register it. A job
    at another server, where such are allowed, is judged only if this server knows its id: the name of the other may be
    one more of this one's."""
    begun_s, server = time.monotonic(), None
    named = dict.fromkeys(each for each in find_named_jobs(depend) if each.kind in (*BEFORE, RUNONE))
    group = {own_id, *(_plain_id(each) for each in named if each.kind == RUNONE)}
    for each in named:
        if time.monotonic() - begun_s > _LONGEST_S:
            return f"its depend names more jobs than can be looked at in {_LONGEST_S:g} s"
        server = server or pbs.server()
        job = server.job(each.job_id)
        if job is None and not is_own_server(pbs, each.server):
            continue
        refusal = _refuse_target(pbs, job, each.kind, user)
        if not refusal and own_id and each.kind == RUNONE:
            refusal = _refuse_part_of_group(pbs, server, job, group)
        if refusal:
            return f"its depend names job {_show(each.job_id)} ({each.kind}), {refusal}"
    return ""


def _refuse_part_of_group(pbs: Any, server: Any, job: Any, group: set[str]) -> str:
    """Refuse an alteration by ``runone`` that leaves out alternatives of this job: PBS would link them with the altered
    job, but not that one with them."""
    for other in find_named_jobs(read_attribute(job, "depend")):
        if other.kind == RUNONE and _plain_id(other) not in group:
            known = server.job(other.job_id)
            if known is not None and not _has_ended(pbs, known):
                return f"one of a group of which it does not name job {_show(other.job_id)}: name them all"
    return ""


def _has_ended(pbs: Any, job: Any) -> bool:
    return int(job.job_state) in (pbs.JOB_STATE_FINISHED, pbs.JOB_STATE_MOVED)


def _plain_id(named: NamedJob) -> str:
    return named.job_id.partition(".")[0]


def _refuse_target(pbs: Any, job: Any, kind: str, user: str) -> str:
    if job is None:
        return f"which this server does not know ({_OWN_ONLY})"
    if read_attribute(job, "Job_Owner").partition("@")[0] != user:
        return f"which is not a job of {user}'s ({_OWN_ONLY})"
    if _has_ended(pbs, job):
        return "which has ended or is no longer here"
    if kind == RUNONE:
        return ""
    if has_running_subjobs(job):
        return "an array of which subjobs run: it has begun already"
    if not {ON, find_mirror(kind)} & find_kinds(read_attribute(job, "depend")):
        return "which does not wait for other jobs: give it -W depend=on:1 first"
    return ""


def _show(name: str) -> str:
    return name if len(name) <= 80 else name[:80] + "..."
