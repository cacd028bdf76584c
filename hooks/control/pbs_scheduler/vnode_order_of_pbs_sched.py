"""Queues in ``drive`` whose scheduler has an order of vnodes: a pass places jobs by its own rules, and says so.

``node_sort_key``, vnodes' ``Priority`` and ``smp_cluster_dist`` decide where PBS's scheduler starts jobs. Which jobs
start, and when, does not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles, read_sched_config
from hooks.pbs.scheduler_object_of_queue import find_scheduler, find_scheduler_of_partition
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.settings.site_settings import Settings

_BY_PRIORITY = ("sort_priority HIGH", "sort_priority high")
_UNSET = ("", "0")


def find_vnode_orders_not_followed(
    server_status: ServerStatus, modes: Mapping[str, str], settings: Settings, files: SchedFiles
) -> dict[str, str]:
    """The queues in ``drive`` whose scheduler takes vnodes in an order of the site's, with a sentence for each. None
    where the site has pbsteer rank the vnodes of all jobs (P4)."""
    if settings.ranking.mode != "none":
        return {}
    found = {}
    for queue, mode in modes.items():
        scheduler = find_scheduler(server_status, queue) if mode == "drive" else None
        if scheduler is None:
            continue
        what = " and ".join(_find_orders(server_status, scheduler, files))
        if what:
            found[queue] = (
                f"scheduler {scheduler} takes vnodes by {what}; in drive a pass does not, and puts each job on the"
                " fewest vnodes. Without that, or with a ranking.mode in the settings, this remark ends"
            )
    return found


def _find_orders(server_status: ServerStatus, scheduler: str, files: SchedFiles) -> Iterator[str]:
    config = read_sched_config(files.get(scheduler, {}).get("sched_config", ""))
    keys = [" ".join(key.split()) for key in config.get("node_sort_key", ())]
    others = [key for key in keys if key not in _BY_PRIORITY]
    if others:
        yield f"node_sort_key ({', '.join(keys)})"
    elif keys and any(
        texts.get("Priority", "") not in _UNSET
        and find_scheduler_of_partition(server_status, texts.get("partition", "")) == scheduler
        for texts in server_status.vnodes.values()
    ):
        yield "their Priority"
    spread = config.get("smp_cluster_dist", [""])[-1]
    if spread not in ("", "pack"):
        yield f"smp_cluster_dist ({spread})"
