"""How schedulers order jobs as a pass publishes it: the options that say so, in the words of a ``sched_config``.

Root alone may read that file, so the console takes them from the last pass. Fair share is left out: its tree has what
each user has used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles
from policy.model.jobs_runs_vnodes_queues import Queue
from policy.order.site_order_settings import BY_QUEUE, ROUND_ROBIN, SiteOrder


def orders_to_data(queues: Iterable[Queue]) -> dict[str, str]:
    """The options of each scheduler whose order the pass has followed."""
    return {queue.order.scheduler: _options_of(queue.order) for queue in queues if queue.order is not None}


def orders_from_data(data: object) -> SchedFiles:
    """The files from which these orders are read; none if this is no such data, as of a pass of another version."""
    if not isinstance(data, Mapping):
        return {}
    return {str(scheduler): {"sched_config": text} for scheduler, text in data.items() if isinstance(text, str)}


def _options_of(order: SiteOrder) -> str:
    lines = [
        f"preemptive_sched: {order.express_from is not None}",
        f"round_robin: {order.taken == ROUND_ROBIN}",
        f"by_queue: {order.taken == BY_QUEUE}",
        *(f'job_sort_key: "{key.name} {"HIGH" if key.descending else "LOW"}"' for key in order.keys),
    ]
    return "\n".join(lines)
