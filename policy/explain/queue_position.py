"""A job's place in line: how many jobs that wait for room come before it, which reservations close vnodes to all of
them, which idle cores belong to jobs that hold their vnodes alone, and which resource it lacks.

A pass has one reason for many jobs, so none of this is in the reason; it is computed from the plan on demand, once
for all jobs.
"""

from __future__ import annotations

from typing import NamedTuple

from policy.backfill.queues_sharing_vnodes import parts_with_one_head
from policy.eligibility.order_as_pbs_scheduler_would import queue_line
from policy.explain.missing_resource import Missing
from policy.model.priority_class import BASE
from policy.plan.plan_types import Plan
from policy.reasons.reason_names import MoreNumbers, ReasonCode
from policy.settings.site_settings import Settings
from policy.state.closure_windows import windows_of
from policy.state.cluster_index import ClusterIndex

IN_LINE = frozenset(
    {
        "reserved", "behind-head", "too-few-idle", "fragmented", "backfill-window", "into-window", "pinned",
        "limit-of-pass", "passed-over", "staggered", "not-good-enough", "topjob-ineligible", "vnode-run-limit",
    }
)  # fmt: skip
"""The reasons of jobs that start when there is room for them."""


class _Part(NamedTuple):
    """The line of queues that share a head: how many jobs are ahead of each job, and the numbers that all of its jobs
    have."""

    ahead: dict[str, int]
    kept: MoreNumbers


class InLine:
    """The places of all waiting jobs of a plan."""

    def __init__(self, plan: Plan, settings: Settings) -> None:
        self._plan = plan
        self._shortest_first = settings.backfill.kind != "none" and settings.backfill.order == "shortest-first"
        self._rule_b = settings.priority.preempt
        self._parts: list[_Part] | None = None
        self._missing: Missing | None = None
        self._codes: dict[str, ReasonCode] = {}

    def numbers(self, job_id: str) -> MoreNumbers:
        """The numbers for :meth:`policy.reasons.reason.Reason.sentence`: the job's place, empty if it is in no line,
        and the resource that it lacks."""
        if self._parts is None:
            self._parts = self._count()
        missing = self._find_missing(job_id)
        for part in self._parts:
            if job_id in part.ahead:
                return {"ahead": part.ahead[job_id], **part.kept, **missing}
        return missing

    def _find_missing(self, job_id: str) -> MoreNumbers:
        cluster = self._plan.started.cluster()
        if self._missing is None:
            self._missing = Missing(cluster)
            self._codes = {job.id: wait.reason.code for wait in self._plan.waits for job in wait.jobs}
        job, code = cluster.jobs.get(job_id), self._codes.get(job_id)
        return {} if job is None or code is None else self._missing.numbers(job, code)

    def _count(self) -> list[_Part]:
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
        parts: list[_Part] = []
        part_of: dict[str, _Part] = {}
        for vnodes, queues, _ in parts_with_one_head(cluster, promises):
            alone = cluster.capacity.idle_held_alone(vnodes)
            held: MoreNumbers = {"held_alone": alone} if alone else {}
            parts.append(_Part({}, {**_kept_of(cluster, vnodes, plan.time_s), **held}))
            part_of.update(dict.fromkeys(queues, parts[-1]))
        for job in line:
            ahead = part_of[job.queue].ahead
            ahead[job.id] = len(ahead)
        return parts


def _kept_of(cluster: ClusterIndex, vnodes: int, now_s: float) -> MoreNumbers:
    """Of the windows that close some of these vnodes now: the one that ends first, its end, and how many more there
    are."""
    windows = windows_of(cluster, now_s, 0.0)
    begun = windows.begun_on(vnodes, now_s) if windows is not None else []
    if not begun:
        return {}
    return {"kept_by": begun[0].name, "kept_more": len(begun) - 1, "kept_until_s": begun[0].end_s}
