"""The scheduler objects of a server: which one serves a queue, whether it is switched on, and whether it is up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.pbs.custom_resources import DEFAULT_PARTITION

if TYPE_CHECKING:
    from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus


_CYCLING, _DOWN = "scheduling", "down"


def find_scheduler(server_status: ServerStatus, queue: str) -> str | None:
    """The scheduler that serves a queue's partition, or None. A server without scheduler objects has only the default
    one."""
    return find_scheduler_of_partition(server_status, server_status.queues[queue].get("partition", ""))


def find_scheduler_of_partition(server_status: ServerStatus, partition: str) -> str | None:
    """The scheduler that serves a partition of queues and vnodes, or None; "" is the default one."""
    partition = partition or DEFAULT_PARTITION
    for name, texts in server_status.scheds.items():
        if partition in (texts.get("partition", "") or DEFAULT_PARTITION).split(","):
            return name
    return "default" if not server_status.scheds and partition == DEFAULT_PARTITION else None


def is_scheduling(server_status: ServerStatus, name: str) -> bool:
    """Whether a scheduler is switched on."""
    texts: Attributes = server_status.scheds.get(name, server_status.server)
    return texts.get("scheduling", server_status.server.get("scheduling", "True")) == "True"


def is_in_cycle(server_status: ServerStatus, name: str) -> bool:
    """Whether a scheduler is in a cycle, as it may be for a while after it was switched off."""
    return _state(server_status, name) == _CYCLING


def is_down(server_status: ServerStatus, name: str) -> bool:
    """Whether a scheduler is down. One without a state counts as up."""
    return _state(server_status, name) == _DOWN


def _state(server_status: ServerStatus, name: str) -> str:
    return server_status.scheds.get(name, {}).get("state", "")
