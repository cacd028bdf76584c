"""Blocks jobs whose job-wide request for a non-consumable resource does not match their queue or the server.

``qsub -l site=north`` in a queue with ``resources_available.site = south`` waits. PBS's scheduler checks only the
resources that the ``resources`` line of its ``sched_config`` names, and so does this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles
from hooks.pbs.scheduler_object_of_queue import find_scheduler
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from hooks.translate.uncounted_resources import list_resources
from policy.model.pbs_units import parse_measure
from policy.state.vnode_totals_hosts_and_matching import is_what

_SHOWN = 80


class OwnerValue(NamedTuple):
    """What a queue or the server (``owner``) has of a resource, as text."""

    resource: str
    owner: str
    has: str


def find_known(
    server_status: ServerStatus, consumables: Collection[str], files: SchedFiles
) -> dict[str, tuple[OwnerValue, ...]]:
    """By queue, what its jobs' job-wide requests have to match; queues without anything are left out."""
    known = {queue: tuple(_find_known(queue, server_status, consumables, files)) for queue in server_status.queues}
    return {queue: found for queue, found in known.items() if found}


def _find_known(
    queue: str, server_status: ServerStatus, consumables: Collection[str], files: SchedFiles
) -> Iterator[OwnerValue]:
    config = files.get(find_scheduler(server_status, queue) or "", {}).get("sched_config", "")
    for name in list_resources(config):
        attribute = f"resources_available.{name}"
        for owner, texts in (("the server", server_status.server), (f"queue {queue}", server_status.queues[queue])):
            if attribute in texts and name in server_status.resources and name not in consumables:
                yield OwnerValue(name, owner, texts[attribute])


def find_unmet(texts: Attributes, known: Collection[OwnerValue], measured: Collection[str]) -> str:
    """What the job asks for and its queue or the server does not have, as the reason that blocks it; else empty."""
    for name, owner, has in known:
        requested = texts.get(f"Resource_List.{name}", "")
        if requested and not (_is_enough(has, requested) if name in measured else is_what(has, requested)):
            return f"it asks for {name}={requested[:_SHOWN]}, and {owner} has {name}={has[:_SHOWN]}"
    return ""


def _is_enough(has: str, requested: str) -> bool:
    least, most = parse_measure(requested), parse_measure(has)
    return least is None or most is None or least <= most
