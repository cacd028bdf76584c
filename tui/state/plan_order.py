"""The order in which the plan considers waiting jobs: promised starts first, then priority classes, then queue order.

It is the policy's own order, so the first waiting job of a list is the next one to be attempted.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from policy.eligibility.priority_classes import BASE


def in_plan_order(
    waiting: Sequence[str], queue_order: Sequence[str], classes: Mapping[str, int], promised: Container[str]
) -> list[str]:
    """Waiting jobs in the plan's order; those that the plan does not know come last, in their given order.

    ``queue_order`` has the policy's jobs in queue order, ``classes`` the jobs above the base class.
    """
    here = set(waiting)
    ordered = [job_id for job_id in queue_order if job_id in here]
    if len(ordered) < len(waiting):
        here.difference_update(ordered)
        ordered += [job_id for job_id in waiting if job_id in here]
    if classes:
        ordered.sort(key=lambda job_id: -classes.get(job_id, BASE))
    return [
        *(job_id for job_id in ordered if job_id in promised),
        *(job_id for job_id in ordered if job_id not in promised),
    ]
