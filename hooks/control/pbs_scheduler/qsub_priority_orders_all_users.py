"""Queues in ``drive`` whose scheduler's order reads ``job_priority``: there ``qsub -p`` orders the jobs of all users.

The order is the site's, and followed as PBS's scheduler would. A site may have written that line for ``advise`` alone,
so a note says what it means in ``drive``, and what ends the note.
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.model.jobs_runs_vnodes_queues import Queue
from policy.order.job_sort_formula import JOB_PRIORITY
from policy.settings.site_settings import Settings


def find_queues_ordered_by_users(
    queues: Mapping[str, Queue], modes: Mapping[str, str], settings: Settings
) -> dict[str, str]:
    """Those of ``queues`` in ``drive`` that are ordered by users' own priorities, with a sentence for each. None where
    the settings say that these order all jobs; a queue has no order where the scheduler's is not followed."""
    if settings.order.user_priority == "all":
        return {}
    found = {}
    for name, queue in queues.items():
        order = queue.order
        if order is None or modes.get(name) != "drive":
            continue
        by_formula = order.formula is not None and JOB_PRIORITY in order.formula.uses
        if by_formula or any(key.name == JOB_PRIORITY for key in order.keys):
            where = "job_sort_formula" if by_formula else "job_sort_key in its sched_config"
            found[name] = (
                f"the {where} of scheduler {order.scheduler} orders by job_priority, so in drive each user's qsub -p"
                ' orders the jobs of all users. Without it, or with order.by = "age" in the settings, it orders only'
                ' the user\'s own jobs; order.user_priority = "all" ends this remark alone'
            )
    return found
