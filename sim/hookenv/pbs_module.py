"""A stand-in for the module `pbs` that hooks import: one event, and the server around it.

Like PBS's own, a module object is made for each event; `accept` and `reject` raise SystemExit, and the verdict is in
the :class:`Event`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, MutableMapping
from types import ModuleType
from typing import Any

from sim.hookenv.pbs_types import (
    JOB_STATES,
    VNODE_STATES,
    PbsObject,
    duration,
    pbs_bool,
    pbs_int,
    pbs_resource,
    pbs_str,
    place,
    select,
    size,
)
from sim.pbs_server.objects.attributes import JOB, QUEUE, SERVER, VNODE
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.requests.status_requests import stat_jobs
from sim.pbs_server.server import SimServer

QUEUEJOB, MODIFYJOB, RUNJOB, PERIODIC = 0x1, 0x2, 0x10, 0x8000
"""PBS's numbers of the events."""


class _job(PbsObject):  # noqa: N801 - PBS's names
    """A job in a hook."""


class _vnode(PbsObject):  # noqa: N801
    """A vnode in a hook."""


class _queue(PbsObject):  # noqa: N801
    """A queue in a hook."""


class Event:
    """The result of `pbs.event()`. After the hook, `rejection` is its reason for a refusal; None where it accepted."""

    def __init__(self, kind: int, hook_name: str, requestor: str | None, host: str | None, **extra: Any) -> None:
        self.type = kind
        self.hook_name = hook_name
        self.requestor = requestor
        self.requestor_host = host
        self.rejection: str | None = None
        vars(self).update(extra)

    def accept(self) -> None:
        """End the hook and let PBS go on."""
        raise SystemExit

    def reject(self, message: str = "", code: int = 255) -> None:
        """End the hook and refuse the request with this message."""
        self.rejection = str(message)
        raise SystemExit(code)


class _server(PbsObject):  # noqa: N801
    """The server in a hook: its attributes, and its objects by name; None where there is no such object."""

    def __init__(self, server: SimServer) -> None:
        queue = _wrap_queue(server, server.texts.get("default_queue", ""))
        super().__init__(
            server.name, SERVER, server.texts, server.resources, {"name": server.name, "default_queue": queue}
        )
        vars(self)["_server"] = server

    def vnode(self, name: str) -> _vnode | None:
        """The vnode with this name."""
        server: SimServer = vars(self)["_server"]
        return wrap_vnode(server, name) if name in server.vnodes else None

    def vnodes(self) -> Iterator[_vnode]:
        """All vnodes in their present state."""
        server: SimServer = vars(self)["_server"]
        return (wrap_vnode(server, name) for name in server.vnodes)

    def queue(self, name: str) -> _queue | None:
        """The queue with this name."""
        return _wrap_queue(vars(self)["_server"], name)

    def job(self, job_id: str) -> _job | None:
        """The job or subjob with this id."""
        server: SimServer = vars(self)["_server"]
        try:
            texts = dict(stat_jobs(server, job_id)[0][1])
        except PbsError:
            return None
        return wrap_job(server, job_id, texts)


def wrap_job(server: SimServer, job_id: str, texts: MutableMapping[str, str]) -> _job:
    """A job as a hook sees it. Attributes that the hook sets are written to `texts`."""
    special: dict[str, Any] = {"id": job_id}
    if job_id:
        special["queue"] = _wrap_queue(server, texts.get("queue", ""))
    return _job(job_id, JOB, texts, server.resources, special)


def wrap_vnode(server: SimServer, name: str) -> _vnode:
    """A vnode as a hook sees it, in its present state."""
    return _vnode(name, VNODE, dict(server.vnodes[name].attributes()), server.resources, {"name": name})


def _wrap_queue(server: SimServer, name: str) -> _queue | None:
    texts = server.queues.get(name)
    return None if texts is None else _queue(name, QUEUE, dict(texts), server.resources, {"name": name})


def make_pbs(server: SimServer, event: Event, home: str, config: str | None) -> ModuleType:
    """The module for one event. `home` is PBS_HOME, `config` the file with the hook's configuration."""
    module = ModuleType("pbs", "The simulated server's pbs.")

    def log(level: int, message: str) -> None:
        when = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(server.clock.now_s))
        server.log.append(f"{when};{level:04x};Server@{server.name};Hook;{event.hook_name};{message}")

    contents: Mapping[str, Any] = {
        "QUEUEJOB": QUEUEJOB, "MODIFYJOB": MODIFYJOB, "RUNJOB": RUNJOB, "PERIODIC": PERIODIC,
        "LOG_ERROR": 0x7, "LOG_WARNING": 0x6, "LOG_DEBUG": 0x5,
        "EVENT_DEBUG": 0x80, "EVENT_ERROR": 0x1, "EVENT_SYSTEM": 0x2, "EVENT_JOB": 0x8,
        "ND_FREE": 0, "ND_OFFLINE": VNODE_STATES["offline"], "ND_DOWN": VNODE_STATES["down"],
        "ND_JOBBUSY": VNODE_STATES["job-busy"], "ND_JOB_EXCLUSIVE": VNODE_STATES["job-exclusive"],
        "ND_RESV_EXCLUSIVE": 0x2000, "JOB_STATE_QUEUED": JOB_STATES["Q"], "JOB_STATE_HELD": JOB_STATES["H"],
        "JOB_STATE_WAITING": JOB_STATES["W"], "JOB_STATE_RUNNING": JOB_STATES["R"],
        "JOB_STATE_EXITING": JOB_STATES["E"], "JOB_STATE_BEGUN": JOB_STATES["B"],
        "JOB_STATE_MOVED": JOB_STATES["M"], "JOB_STATE_FINISHED": JOB_STATES["F"],
        "JOB_STATE_SUSPEND": JOB_STATES["S"],
        "size": size, "duration": duration, "select": select, "place": place,
        "pbs_bool": pbs_bool, "pbs_int": pbs_int, "pbs_str": pbs_str,
        "pbs_resource": pbs_resource, "job": _job, "vnode": _vnode, "queue": _queue,
        "event": lambda: event, "server": lambda: _server(server), "logmsg": log,
        "logjobmsg": lambda job_id, message: log(0x8, f"{job_id};{message}"),
        "hook_config_filename": config, "pbs_conf": {"PBS_HOME": home, "PBS_SERVER": server.name, "PBS_EXEC": home},
    }  # fmt: skip
    for name, value in contents.items():
        setattr(module, name, value)
    return module
