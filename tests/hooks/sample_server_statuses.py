"""Pictures of small servers for tests: two vnodes and one queue, with what a test adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.snapshot import translate
from policy.model.jobs_runs_vnodes_queues import Job
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot

NOW_S = 1_795_207_300.0
RESOURCES = {
    "ncpus": {"type": "long", "flag": "hqnm"},
    "mem": {"type": "size", "flag": "hqnm"},
    "ngpus": {"type": "long", "flag": "hnm"},
    "mpiprocs": {"type": "long", "flag": "hq"},
    "walltime": {"type": "long", "flag": "m"},
    "licences": {"type": "long", "flag": "q"},
    "host": {"type": "string", "flag": "h"},
    "pbsteer_mode": {"type": "string", "flag": "r"},
}

Texts = Mapping[str, str]


def vnode(cores: int = 8, used: int = 0, state: str = "free", **more: str) -> dict[str, str]:
    return {
        "state": state,
        "resources_available.ncpus": str(cores),
        "resources_available.mem": "32gb",
        "resources_assigned.ncpus": str(used),
        **_dotted(more),
    }


def job(state: str = "Q", cores: int = 2, queue: str = "workq", user: str = "alice", **more: str) -> dict[str, str]:
    return {
        "job_state": state,
        "queue": queue,
        "euser": user,
        "egroup": "chem",
        "project": "_pbs_project_default",
        "Priority": "0",
        "Rerunable": "True",
        "Job_Name": "STDIN",
        "qtime": "1795207000",
        "Resource_List.ncpus": str(cores),
        "Resource_List.select": f"1:ncpus={cores}",
        "Resource_List.place": "free",
        "Resource_List.walltime": "00:10:00",
        **_dotted(more),
    }


def running(cores: int = 2, vnode: str = "v1", **more: str) -> dict[str, str]:
    return job(cores=cores) | {
        "job_state": "R",
        "exec_vnode": f"({vnode}:ncpus={cores})",
        "stime": "1795207100",
        **_dotted(more),
    }


def queue(mode: str = "", **more: str) -> dict[str, str]:
    texts = {"queue_type": "Execution", "enabled": "True", "started": "True", **_dotted(more)}
    return {**texts, "resources_available.pbsteer_mode": mode} if mode else texts


def server_status(
    jobs: Mapping[str, Texts] | None = None,
    vnodes: Mapping[str, Texts] | None = None,
    queues: Mapping[str, Texts] | None = None,
    **more: Any,
) -> ServerStatus:
    parts: dict[str, Any] = {
        "server": {"name": "server", "scheduling": "True", "default_queue": "workq"},
        "resources": RESOURCES,
        "scheds": {"default": {"scheduling": "False", "partition": "pbs-default"}},
        "reservations": {},
        **more,
    }
    return ServerStatus(
        NOW_S,
        parts["server"],
        {"workq": queue()} if queues is None else queues,
        {"v1": vnode(), "v2": vnode()} if vnodes is None else vnodes,
        jobs or {},
        parts["resources"],
        parts["scheds"],
        parts["reservations"],
    )


def _dotted(more: Mapping[str, str]) -> dict[str, str]:
    """``Resource_List__mem`` for the keyword of ``Resource_List.mem``."""
    return {name.replace("__", "."): value for name, value in more.items()}


def snapshot_of(seen: ServerStatus, settings: Settings) -> Snapshot:
    """What is decided on."""
    return translate(seen, settings).snapshot


def problems_of(seen: ServerStatus, settings: Settings) -> tuple[str, ...]:
    """What could not be read, or had to be left alone, one sentence each."""
    return translate(seen, settings).problems


def only_job(texts: dict[str, str], job_id: str = "12.server") -> Job:
    """The waiting job of a server that has no other."""
    return snapshot_of(server_status({job_id: texts}), Settings()).jobs[job_id]
