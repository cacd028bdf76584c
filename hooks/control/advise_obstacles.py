"""Whether PBS's own scheduler goes by the priorities that jobs are given, and what would have to be set that it does.

What a scheduler that does not would do with the cores of a preempted job nobody can tell, so nobody is preempted there.
"""

from __future__ import annotations

from collections.abc import Collection

from hooks.pbs.sched_config import SchedFiles, is_on, read_sched_config
from hooks.pbs.schedulers import find_scheduler, is_down, is_scheduling
from hooks.pbs.status import Picture

_SHOWN = 80


def find_unheeded(picture: Picture, queues: Collection[str], files: SchedFiles) -> dict[str, str]:
    """Of these queues, those whose scheduler does not go by the jobs' ``Priority``: why, and what would change it."""
    serving = {queue: find_scheduler(picture, queue) for queue in picture.queues}
    found = {}
    for queue in queues:
        scheduler = serving[queue]
        if scheduler is None:
            found[queue] = "no scheduler serves it"
            continue
        alone = list(serving.values()).count(scheduler) == 1
        problem = _find_deafness(picture, scheduler, files.get(scheduler, {}).get("sched_config"), alone=alone)
        if problem:
            found[queue] = problem
    return found


def _find_deafness(picture: Picture, scheduler: str, text: str | None, *, alone: bool) -> str:
    """What the scheduler goes by instead; empty where the priority is the first thing that it looks at."""
    if not is_scheduling(picture, scheduler) or is_down(picture, scheduler):
        return f"scheduler {scheduler} does not run, or is switched off"
    own = picture.scheds.get(scheduler, {}).get("job_sort_formula", "")
    formula = (own or picture.server.get("job_sort_formula", "")).strip()
    if formula:
        return (
            "" if formula == "job_priority" else f"scheduler {scheduler} goes by job_sort_formula ({formula[:_SHOWN]})"
        )
    if text is None:
        return f"the sched_config of scheduler {scheduler}, which says what it goes by, cannot be read on this host"
    config = read_sched_config(text)
    if is_on(config, "fair_share"):
        return f"scheduler {scheduler} goes by fair_share"
    keys = config.get("job_sort_key", [""])
    if " ".join(keys[0].split()).lower() != "job_priority high":
        return (
            f"scheduler {scheduler} does not go by priorities: its sched_config needs 'job_sort_key: \"job_priority"
            " HIGH\" ALL' before any other job_sort_key, and it a HUP"
        )
    if not alone and any(is_on(config, option) for option in ("by_queue", "round_robin")):
        return (
            f"scheduler {scheduler} takes its queues one by one, and goes by priorities only within each: its"
            " sched_config needs 'by_queue: False ALL' and 'round_robin: False ALL', and it a HUP"
        )
    return ""
