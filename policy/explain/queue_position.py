"""A job's place in line: how many jobs that wait for room come before it, and which reservations close vnodes to all of
them.

A pass has one reason for many jobs, so neither number is in the reason. They are computed on demand from the plan, once
for all of its jobs. Jobs that may not start whatever is free (held, at a limit, too large), and jobs with an earmark,
are not counted.
"""

from __future__ import annotations

from policy.backfill.queues_sharing_vnodes import parts_with_one_head
from policy.eligibility.classes_by_priority_quota import BASE
from policy.eligibility.order_as_pbs_scheduler_would import queue_line
from policy.plan.plan_types import Plan
from policy.reasons.reason_names import MoreNumbers, Number, NumberName
from policy.settings.site_settings import Settings
from policy.state.closure_windows import windows_of
from policy.state.cluster_index import ClusterIndex

IN_LINE = frozenset(
    {
        "reserved", "behind-head", "too-few-idle", "fragmented", "backfill-window", "into-window", "pinned",
        "limit-of-pass", "passed-over", "staggered", "not-good-enough",
    }
)  # fmt: skip
"""The reasons of jobs that start when there is room for them."""


class InLine:
    """The places of all waiting jobs of a plan."""

    def __init__(self, plan: Plan, settings: Settings) -> None:
        self._plan = plan
        self._shortest_first = settings.backfill.kind != "none" and settings.backfill.order == "shortest-first"
        self._rule_b = settings.priority.preempt
        self._numbers: dict[str, dict[NumberName, Number]] | None = None

    def numbers(self, job_id: str) -> MoreNumbers:
        """The numbers for :meth:`policy.reasons.reason.Reason.sentence`; empty if the job is in no line."""
        if self._numbers is None:
            self._numbers = self._count()
        return self._numbers.get(job_id, {})

    def _count(self) -> dict[str, dict[NumberName, Number]]:
        plan = self._plan
        cluster, promises, classes = plan.started.cluster(), plan.ledger.promises, plan.classes or {}
        heads = {estimate.id for estimate in plan.estimates}
        waiting = {job.id for wait in plan.waits if wait.reason.code in IN_LINE for job in wait.jobs}
        line = [entry[5] for entry in queue_line(cluster, plan.time_s).entries if entry[3] in waiting]
        shortest_first, rule_b = self._shortest_first, self._rule_b
        line.sort(
            key=lambda job: (
                # A higher class comes before a promise only if rule B is on.
                -classes.get(job.id, BASE) if rule_b else 0,
                job.id not in promises,
                job.id not in heads,
                -classes.get(job.id, BASE),
                job.left_s if shortest_first else 0,
            )
        )
        parts = parts_with_one_head(cluster, promises)
        part_of = {queue: index for index, (_, queues, _) in enumerate(parts) for queue in queues}
        kept = [_kept_of(cluster, vnodes, plan.time_s) for vnodes, _, _ in parts]
        counts = [0] * len(parts)
        numbers: dict[str, dict[NumberName, Number]] = {}
        for job in line:
            part = part_of[job.queue]
            numbers[job.id] = {"ahead": counts[part], **kept[part]}
            counts[part] += 1
        return numbers


def _kept_of(cluster: ClusterIndex, vnodes: int, now_s: float) -> dict[NumberName, Number]:
    """Of the windows that close some of these vnodes now: the one that ends first, its end, and how many more there
    are."""
    windows = windows_of(cluster, now_s, 0.0)
    begun = windows.begun_on(vnodes, now_s) if windows is not None else []
    if not begun:
        return {}
    return {"kept_by": begun[0].name, "kept_more": len(begun) - 1, "kept_until_s": begun[0].end_s}
