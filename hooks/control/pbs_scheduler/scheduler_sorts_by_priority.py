"""Checks that PBS's own scheduler sorts by job priority; if not, names the ``sched_config`` line to change.

If a scheduler does not, it is unknown which job gets the cores of a victim, so no job is preempted there.
"""

from __future__ import annotations

from collections.abc import Collection

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import (
    SchedFiles,
    describe_unread_edit,
    is_on,
    read_sched_config,
)
from hooks.pbs.scheduler_object_of_queue import find_scheduler, is_down, is_scheduling
from hooks.pbs.server_status_type_and_attributes import ServerStatus

_SHOWN = 80


def find_unsorted(server_status: ServerStatus, queues: Collection[str], files: SchedFiles) -> dict[str, str]:
    """Those of ``queues`` whose scheduler does not sort jobs by ``Priority``: by queue, why, and what would change
    it."""
    serving = {queue: find_scheduler(server_status, queue) for queue in server_status.queues}
    found = {}
    for queue in queues:
        scheduler = serving[queue]
        if scheduler is None:
            found[queue] = "no scheduler serves it"
            continue
        alone = list(serving.values()).count(scheduler) == 1
        text = files.get(scheduler, {}).get("sched_config")
        problem = _find_disorder(server_status, scheduler, text, describe_unread_edit(scheduler, files), alone=alone)
        if problem:
            found[queue] = problem
    return found


def _find_disorder(
    server_status: ServerStatus, scheduler: str, text: str | None, unread_edit: str, *, alone: bool
) -> str:
    """Why the scheduler does not sort by priority first, or cannot be seen to; empty where it does. ``unread_edit``:
    the sentence on a ``sched_config`` that the scheduler has not read since it was edited."""
    if not is_scheduling(server_status, scheduler) or is_down(server_status, scheduler):
        return f"scheduler {scheduler} does not run, or is switched off"
    own = server_status.scheds.get(scheduler, {}).get("job_sort_formula", "")
    formula = (own or server_status.server.get("job_sort_formula", "")).strip()
    if formula == "job_priority":
        return ""
    if formula:
        return f"scheduler {scheduler} sorts jobs by job_sort_formula ({formula[:_SHOWN]})"
    if text is None:
        return f"the sched_config of scheduler {scheduler}, which says how it sorts jobs, cannot be read on this host"
    if unread_edit:
        return unread_edit
    config = read_sched_config(text)
    if is_on(config, "fair_share"):
        return f"scheduler {scheduler} sorts jobs by fair_share"
    keys = config.get("job_sort_key", [""])
    if " ".join(keys[0].split()).lower() != "job_priority high":
        return (
            f"scheduler {scheduler} does not sort jobs by priority: its sched_config needs"
            " 'job_sort_key: \"job_priority HIGH\" ALL' before any other job_sort_key; then send it a HUP"
        )
    if not alone and any(is_on(config, option) for option in ("by_queue", "round_robin")):
        return (
            f"scheduler {scheduler} takes its queues one by one, and sorts jobs by priority only within each: its"
            " sched_config needs 'by_queue: False ALL' and 'round_robin: False ALL'; then send it a HUP"
        )
    return ""
