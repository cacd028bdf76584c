"""Blocks jobs whose job-wide request for a non-consumable resource does not match their queue or the server.

``qsub -l site=north`` in a queue with ``resources_available.site = south`` waits. PBS's scheduler checks only the
resources that the ``resources`` line of its ``sched_config`` names, and so does this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hooks.pbs.sched_config import SchedFiles
from hooks.pbs.schedulers import find_scheduler
from hooks.pbs.status import Attributes, ServerStatus
from hooks.translate.queues import read_measured
from hooks.translate.uncounted_resources import list_resources
from policy.model.cluster import Job
from policy.model.units import parse_measure
from policy.state.inventory import is_what

_SHOWN = 80


def block_unmet(
    waiting: list[Job], server_status: ServerStatus, consumables: Collection[str], files: SchedFiles
) -> list[Job]:
    """The waiting jobs; those that ask for something their queue or the server does not have are blocked."""
    known = {queue: list(_find_known(queue, server_status, consumables, files)) for queue in server_status.queues}
    if not any(known.values()):
        return waiting
    measured = read_measured(server_status.resources)
    return [
        job
        if job.blocked or not known.get(job.queue)
        else job._replace(blocked=_find_unmet(server_status.jobs[job.id], known[job.queue], measured))
        for job in waiting
    ]


def _find_known(
    queue: str, server_status: ServerStatus, consumables: Collection[str], files: SchedFiles
) -> Iterator[tuple[str, str, str]]:
    """Resource, owner (queue or server), and the owner's value."""
    config = files.get(find_scheduler(server_status, queue) or "", {}).get("sched_config", "")
    for name in list_resources(config):
        attribute = f"resources_available.{name}"
        for owner, texts in (("the server", server_status.server), (f"queue {queue}", server_status.queues[queue])):
            if attribute in texts and name in server_status.resources and name not in consumables:
                yield name, owner, texts[attribute]


def _find_unmet(texts: Attributes, known: Collection[tuple[str, str, str]], measured: Collection[str]) -> str:
    for name, owner, has in known:
        asked = texts.get(f"Resource_List.{name}", "")
        if asked and not (_is_enough(has, asked) if name in measured else is_what(has, asked)):
            return f"it asks for {name}={asked[:_SHOWN]}, and {owner} has {name}={has[:_SHOWN]}"
    return ""


def _is_enough(has: str, asked: str) -> bool:
    least, most = parse_measure(asked), parse_measure(has)
    return least is None or most is None or least <= most
