"""A hook that writes into the server's log how the module `pbs` answers: types, texts, and what is not there.

Imported into a real server and run on a simulated one; one line of JSON for each event.
"""

from __future__ import annotations

import json
from typing import Any, Callable

import pbs


def tell(value: object) -> list[str]:
    """A value as the type's name and the text, without what differs from one job to the next."""
    return [type(value).__name__, str(value)]


def attempt(function: Callable[[], object]) -> list[str]:
    """What an expression gives, or the name of what it raises."""
    try:
        return tell(function())
    except SystemExit:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its name is what counts
        return ["raises", type(error).__name__]


event = pbs.event()
job = event.job
seen: dict[str, Any] = {
    "type": tell(event.type),
    "requestor": tell(event.requestor),
    "id": tell(job.id),
    "Job_Name": attempt(lambda: str(job.Job_Name)),
    "Priority": attempt(lambda: int(str(job.Priority))),
    "Rerunable": attempt(lambda: bool(job.Rerunable)),
    "select": attempt(lambda: str(job.Resource_List["select"])),
    "walltime": attempt(lambda: job.Resource_List["walltime"]),
    "walltime in seconds": attempt(lambda: int(job.Resource_List["walltime"])),
    "soft_walltime": attempt(lambda: job.Resource_List["soft_walltime"]),
    "unknown resource": attempt(lambda: job.Resource_List["nosuch"]),
    "unknown attribute": attempt(lambda: job.nosuch),
    "unset attribute": attempt(lambda: job.Account_Name),
    "asked for": sorted(job.Resource_List.keys()),
    "a duration": tell(pbs.duration("01:00:00")),
    "a duration of seconds": tell(pbs.duration(90)),
    "constants": [
        pbs.QUEUEJOB,
        pbs.RUNJOB,
        pbs.PERIODIC,
        pbs.LOG_DEBUG,
        pbs.LOG_WARNING,
        pbs.LOG_ERROR,
        pbs.ND_OFFLINE,
        pbs.ND_DOWN,
        pbs.ND_JOBBUSY,
        pbs.ND_JOB_EXCLUSIVE,
        pbs.ND_RESV_EXCLUSIVE,
        pbs.JOB_STATE_QUEUED,
        pbs.JOB_STATE_RUNNING,
        pbs.JOB_STATE_SUSPEND,
    ],
    "configuration": [sorted(pbs.pbs_conf)[0] != "", "PBS_HOME" in pbs.pbs_conf, pbs.hook_config_filename is None],
}
if event.type == pbs.QUEUEJOB:
    seen["queue"] = str(job.queue)
    job.Resource_List["soft_walltime"] = pbs.duration(120)
    seen["set"] = tell(job.Resource_List["soft_walltime"])
if event.type == pbs.RUNJOB:
    server = pbs.server()
    name = str(job.exec_vnode).strip("(").partition(":")[0]
    vnode = server.vnode(name)
    seen.update({
        "queue": tell(job.queue.name),
        "queue as text": str(job.queue),
        "exec_vnode": str(job.exec_vnode).count("ncpus="),
        "job_state": int(job.job_state),
        "euser": attempt(lambda: job.euser),
        "vnode": [type(vnode).__name__, vnode.name == name],
        "vnode state": int(vnode.state),
        "vnode ncpus": attempt(lambda: vnode.resources_available["ncpus"]),
        "vnode assigned": attempt(lambda: vnode.resources_assigned["ncpus"]),
        "vnode memory": tell(vnode.resources_available["mem"] > pbs.size("1mb")),
        "vnode memory assigned": attempt(lambda: vnode.resources_assigned["mem"]),
        "vnode jobs": attempt(lambda: vnode.jobs),
        "no such vnode": attempt(lambda: server.vnode("nosuch")),
        "no such job": attempt(lambda: server.job("999999.nosuch")),
        "itself": attempt(lambda: server.job(job.id).id == job.id),
        "no such queue": attempt(lambda: server.queue("nosuch")),
        "server": [type(server).__name__, str(server) == server.name],
    })  # fmt: skip
pbs.logmsg(pbs.LOG_WARNING, "PROBE " + json.dumps(seen, sort_keys=True))
if str(job.Job_Name) == "unwanted":
    event.reject("we do not want it")
if str(job.Job_Name) == "broken":
    raise ValueError("broken on purpose")
event.accept()
