"""A whole Torque server as a :class:`ServerStatus`: the one place where Torque's objects become PBS's.

Only slots are used up on nodes, so ``ncpus`` (and ``ngpus``) are the consumable resources. Torque has no scheduler
objects and no reservations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hooks.pbs.custom_resources import PAUSED
from hooks.pbs.server_status_type_and_attributes import NAME, Attributes, Objects, ServerStatus
from torque.translate.arrays import fold_arrays
from torque.translate.jobs import read_job
from torque.translate.node_request_as_select import PROPERTY
from torque.translate.nodes import read_node

Texts = dict[str, str]

_RESOURCES: Mapping[str, Texts] = {
    "ncpus": {"type": "long", "flag": "nh"},
    "ngpus": {"type": "long", "flag": "nh"},
    "host": {"type": "string", "flag": "h"},
    "vnode": {"type": "string", "flag": "h"},
    "walltime": {"type": "long"},
    # Of the settings file, as the server has no custom resources.
    PAUSED: {"type": "string", "flag": "i"},
}
_SERVER = (
    "scheduling", "pbs_version", "server_state", "default_queue", "managers", "operators", "max_running",
    "max_user_run", "max_group_run", "server_host", "total_jobs", "keep_completed", "scheduler_iteration",
    "automatic_requeue_exit_code",
)  # fmt: skip
_QUEUE = ("queue_type", "enabled", "started", "Priority", "max_running", "max_user_run", "max_group_run")
_DOTTED = ("resources_default.", "resources_max.", "resources_min.", "resources_assigned.")


def read_server_status(
    time_s: float, server: Attributes, queues: Objects, nodes: Objects, jobs: Objects, *, measured: bool = True
) -> ServerStatus:
    """The status from Torque's own texts; ``server`` has the server's name under :data:`NAME`."""
    vnodes = {name: read_node(name, texts, measured=measured) for name, texts in nodes.items()}
    return status_of(
        time_s, server, queues, vnodes, fold_arrays({job_id: read_job(texts, nodes) for job_id, texts in jobs.items()})
    )


def status_of(time_s: float, server: Attributes, queues: Objects, vnodes: Objects, jobs: Objects) -> ServerStatus:
    """The status with vnodes and jobs that are in PBS's words already."""
    return ServerStatus(
        time_s,
        {NAME: server.get(NAME, ""), **_kept(server, _SERVER)},
        {name: _queue(texts) for name, texts in queues.items()},
        vnodes,
        jobs,
        {**_RESOURCES, **{name: {"type": "boolean", "flag": "h"} for name in _properties(vnodes)}},
    )


def read_queue(texts: Attributes) -> Texts:
    """One queue in PBS's words."""
    return _queue(texts)


def read_server(texts: Attributes) -> Texts:
    """The server's own attributes in PBS's words."""
    return _kept(texts, _SERVER)


def _queue(texts: Attributes) -> Texts:
    # A queue without these attributes is not started and takes no jobs: Torque shows them only once they are set.
    return {"enabled": "False", "started": "False", **_kept(texts, _QUEUE)}


def _kept(texts: Attributes, names: Collection[str]) -> Texts:
    return {name: text for name, text in texts.items() if name in names or name.startswith(_DOTTED)}


def _properties(vnodes: Objects) -> list[str]:
    start = f"resources_available.{PROPERTY}"
    return sorted(
        {name[len("resources_available.") :] for texts in vnodes.values() for name in texts if name.startswith(start)}
    )
