"""Obstacles to ``drive``: what is configured for a queue's jobs that pbsteer would not honour, each with what removes
it.

A queue with an obstacle starts and preempts no jobs, and keeps all queues of its scheduler from being driven, since a
scheduler is switched off as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hooks.pbs.custom_resources import DEFAULT_PARTITION, MODE_ATTRIBUTE
from hooks.pbs.files_and_output.dynamic_server_resources import read_dynamic_resources
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import (
    SchedFiles,
    describe_unread_edit,
    read_sched_config,
)
from hooks.pbs.scheduler_object_of_queue import find_scheduler, is_down
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.closures.dedicated_time import read_dedicated_time
from hooks.translate.closures.prime_time import read_prime_time
from hooks.translate.uncounted_resources import list_unset_infinite
from policy.settings.settings_of_server_and_passes import MODES

_SHOWN = 80
_NEVER_CHECKED = frozenset({"mpiprocs", "ompthreads"})
"""Of these PBS's scheduler takes every vnode to have any."""


def find_obstacles(
    server_status: ServerStatus, modes: Mapping[str, str], unread: Mapping[str, str], files: SchedFiles
) -> dict[str, str]:
    """For each queue in ``drive`` in which no job may be started, the reason.

    ``unread``: the limits that could not be read, and what of their order is not honoured, by queue ("" is the server).
    """
    servers = {queue: find_scheduler(server_status, queue) for queue in modes}
    wanted = [queue for queue, mode in modes.items() if mode == "drive"]
    found: dict[str, str] = {}
    for queue in wanted:
        scheduler = servers[queue]
        obstacle = (
            unread.get("") or unread.get(queue) or next(_find_obstacles(server_status, queue, scheduler, files), "")
        )
        if obstacle:
            found[queue] = obstacle
    own = dict(found)
    for queue in wanted:
        if queue not in own:
            beside = [other for other in modes if servers[other] == servers[queue]]
            kept = sorted(other for other in beside if modes[other] != "drive" or other in own)
            if kept:
                found[queue] = _describe_disagreement(server_status, servers[queue], kept, modes)
    return found


def _describe_disagreement(
    server_status: ServerStatus, scheduler: str | None, kept: list[str], modes: Mapping[str, str]
) -> str:
    def describe(queue: str) -> str:
        mode = server_status.queues[queue].get(MODE_ATTRIBUTE, "")
        if mode and mode not in MODES:
            return f"queue {queue} (its mode {mode[:40]!r} is none of {', '.join(MODES)}, so {modes[queue]})"
        return f"queue {queue} ({'cannot be driven' if modes[queue] == 'drive' else f'in {modes[queue]}'})"

    return f"scheduler {scheduler} also serves {', '.join(map(describe, kept))}: drive all its queues or none"


def _find_obstacles(server_status: ServerStatus, queue: str, scheduler: str | None, files: SchedFiles) -> Iterator[str]:
    texts = server_status.queues[queue]
    partition = texts.get("partition", "") or DEFAULT_PARTITION
    if scheduler is None:
        yield f"no scheduler serves partition {partition} of queue {queue}: create one in qmgr (it need not run)"
        return
    yield from _find_vnode_obstacles(server_status, queue, partition)
    config = files.get(scheduler, {}).get("sched_config")
    has_state = bool(server_status.scheds.get(scheduler, {}).get("state"))
    if config is None and has_state and not is_down(server_status, scheduler):
        yield f"the sched_config of scheduler {scheduler}, by which it runs, cannot be read on this host"
    unread_edit = describe_unread_edit(scheduler, files)
    if unread_edit and not is_down(server_status, scheduler):
        yield unread_edit
    for complaint in _find_config_obstacles(config or "", server_status):
        yield f"{complaint} (sched_config of scheduler {scheduler}), which pbsteer does not honour"
    unreadable = read_dynamic_resources(config or "")[1]
    if unreadable:
        yield f"the sched_config of scheduler {scheduler} has {unreadable}"
    own = files.get(scheduler, {})
    for file_name, unread in (
        ("dedicated_time", read_dedicated_time(own.get("dedicated_time", "")).unread),
        ("holidays", read_prime_time(own.get("holidays", "")).unread),
    ):
        if unread:
            yield f"the {file_name} file of scheduler {scheduler} has a line that cannot be read: {unread!r}"


def _find_vnode_obstacles(server_status: ServerStatus, queue: str, partition: str) -> Iterator[str]:
    for name, texts in server_status.vnodes.items():
        if (texts.get("partition", "") or DEFAULT_PARTITION) != partition or texts.get("queue", queue) != queue:
            continue
        for attribute in ("no_multinode_jobs", "provision_enable"):
            if texts.get(attribute) == "True":
                yield f"vnode {name} has {attribute} = True, which pbsteer does not honour"
        for attribute, text in texts.items():
            if text.startswith("@") and attribute.startswith("resources_available."):
                resource = attribute.partition(".")[2]
                yield f"vnode {name} shares {resource} = {text[:_SHOWN]} with that vnode, which pbsteer does not count"


def _find_config_obstacles(config: str, server_status: ServerStatus) -> Iterator[str]:
    """What a ``sched_config`` has that would decide which jobs may start (Administrator's Guide, "Scheduler
    Parameters")."""
    peers = read_sched_config(config).get("peer_queue")
    if peers:
        yield f"peer_queue is set ({peers[0][:_SHOWN]})"
    for name in list_unset_infinite(config):
        flags = set(server_status.resources.get(name, {}).get("flag", ""))
        if "h" in flags and not flags & set("nf") and name not in _NEVER_CHECKED:
            yield f"resource_unset_infinite names {name[:_SHOWN]}, which vnodes have and jobs do not use up"
