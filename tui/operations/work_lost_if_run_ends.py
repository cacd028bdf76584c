"""What is lost if a job's run ends now: the core-seconds that it ran since its start.

It is an upper bound: PBS does not know what a job has saved.
"""

from __future__ import annotations

from typing import NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import is_array
from tui.model.typed_attributes import RUNNING_STATES, Attributes, amount, moment
from tui.state.cluster_view import ClusterView


class Cost(NamedTuple):
    """The cores that run now, since when (None: nothing runs, or no start is known), and the core-seconds since."""

    cores: int = 0
    since_s: float | None = None
    core_s: float = 0.0


def cost_of(cluster: ClusterView, job_id: str) -> Cost:
    """The cost of ending what a job runs now; of an array, that of all its running subjobs."""
    if not is_array(job_id):
        return cost_of_run(cluster, cluster.job(job_id) or {})
    costs = [cost_of_run(cluster, cluster.job(each) or {}) for each in cluster.subjob_ids.get(job_id, ())]
    begun = [cost.since_s for cost in costs if cost.since_s is not None]
    return Cost(sum(cost.cores for cost in costs), min(begun, default=None), sum(cost.core_s for cost in costs))


def cost_of_run(cluster: ClusterView, texts: Attributes) -> Cost:
    """The cost of ending the run with these attributes; nothing for a job that does not run."""
    if texts.get("job_state") not in RUNNING_STATES:
        return Cost()
    cores, since_s = amount(texts, f"Resource_List.{cluster.counted}"), moment(texts, "stime")
    return Cost(cores, since_s, 0.0 if since_s is None else max(0.0, cluster.now_s - since_s) * cores)
