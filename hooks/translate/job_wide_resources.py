"""What a job asks for as a whole that is not used up, against what its queue and the server say of the same.

``qsub -l site=north`` in a queue with ``resources_available.site = south`` waits. PBS's scheduler looks only at those
resources that the ``resources`` line of its ``sched_config`` names, and so does this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hooks.pbs.sched_config import SchedFiles
from hooks.pbs.schedulers import find_scheduler
from hooks.pbs.status import Attributes, Picture
from hooks.translate.queues import read_measured
from hooks.translate.uncounted_resources import list_resources
from policy.model.cluster import Job
from policy.model.units import parse_measure
from policy.state.inventory import is_what

_SHOWN = 80


def block_unmet(waiting: list[Job], picture: Picture, consumables: Collection[str], files: SchedFiles) -> list[Job]:
    """The waiting jobs, those blocked that ask for what their queue or the server does not have."""
    known = {queue: list(_find_known(queue, picture, consumables, files)) for queue in picture.queues}
    if not any(known.values()):
        return waiting
    measured = read_measured(picture.resources)
    return [
        job
        if job.blocked or not known.get(job.queue)
        else job._replace(blocked=_find_unmet(picture.jobs[job.id], known[job.queue], measured))
        for job in waiting
    ]


def _find_known(
    queue: str, picture: Picture, consumables: Collection[str], files: SchedFiles
) -> Iterator[tuple[str, str, str]]:
    """Resource, who says something of it (queue or server), and what."""
    config = files.get(find_scheduler(picture, queue) or "", {}).get("sched_config", "")
    for name in list_resources(config):
        attribute = f"resources_available.{name}"
        for owner, texts in (("the server", picture.server), (f"queue {queue}", picture.queues[queue])):
            if attribute in texts and name in picture.resources and name not in consumables:
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
