"""Queues in ``drive`` whose scheduler's order reads ``job_priority``: there ``qsub -p`` orders the jobs of all users.

The order is the site's, and followed as PBS's scheduler would. A site may have written that line for ``advise`` alone,
so a note says what it means in ``drive``, and what ends the note.
"""

from __future__ import annotations

from collections.abc import Mapping

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.site_order import read_site_orders
from policy.order.job_sort_formula import JOB_PRIORITY
from policy.settings.site_settings import Settings


def find_queues_ordered_by_users(
    server_status: ServerStatus, modes: Mapping[str, str], files: SchedFiles, settings: Settings
) -> dict[str, str]:
    """The queues in ``drive`` that are ordered by users' own priorities, with a sentence for each. None where the
    settings say that these order all jobs, or that the scheduler's order is not followed."""
    if settings.order.by != "site" or settings.order.user_priority == "all":
        return {}
    driven = [queue for queue, mode in modes.items() if mode == "drive"]
    found = {}
    for queue, read in read_site_orders(server_status, driven, files).items():
        order = read.order
        if order is None:
            continue
        by_key = any(key.name == JOB_PRIORITY for key in order.keys)
        if by_key or (order.formula is not None and JOB_PRIORITY in order.formula.uses):
            where = "job_sort_formula" if order.formula is not None else "job_sort_key in its sched_config"
            found[queue] = (
                f"the {where} of scheduler {order.scheduler} orders by job_priority, so in drive each user's qsub -p"
                ' orders the jobs of all users. Without it, or with order.by = "age" in the settings, it orders only'
                ' the user\'s own jobs; order.user_priority = "all" ends this remark alone'
            )
    return found
