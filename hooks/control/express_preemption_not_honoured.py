"""Express queues: PBS's scheduler lets their jobs preempt others by the queue's priority; pbsteer does not.

Such a queue is driven all the same; a note describes the difference, and what ends the note.
"""

from __future__ import annotations

from collections.abc import Mapping

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles, is_on, read_sched_config
from hooks.pbs.scheduler_object_of_queue import find_scheduler
from hooks.pbs.server_status_type_and_attributes import ServerStatus

_PRIORITY_OF_PBS = 150
"""``preempt_queue_prio`` where it is not set (pbs_internal.h)."""
_EXPRESS = "express_queue"


def find_express_queues(server_status: ServerStatus, modes: Mapping[str, str], files: SchedFiles) -> dict[str, str]:
    """The queues in ``drive`` whose jobs PBS's scheduler would let preempt others, with a sentence for each."""
    found = {}
    for queue, mode in modes.items():
        scheduler = find_scheduler(server_status, queue)
        if mode != "drive" or scheduler is None:
            continue
        texts = server_status.scheds.get(scheduler, {})
        config = read_sched_config(files.get(scheduler, {}).get("sched_config", ""))
        levels = texts.get("preempt_prio", "") or _EXPRESS
        if not is_on(config, "preemptive_sched") or _EXPRESS not in levels:
            continue
        least = _whole(texts.get("preempt_queue_prio", ""), _PRIORITY_OF_PBS)
        priority = _whole(server_status.queues[queue].get("Priority", ""), 0)
        if priority >= least:
            found[queue] = (
                f"its Priority {priority} reaches preempt_queue_prio ({least}) of scheduler {scheduler}, but in drive"
                " its jobs preempt no job for that: priorities of users (P2) do. A lower Priority, or preemptive_sched:"
                " false in the scheduler's sched_config, ends this remark"
            )
    return found


def _whole(text: str, missing: int) -> int:
    try:
        return int(text)
    except ValueError:
        return missing
