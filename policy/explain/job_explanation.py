"""The explanation of one job: where it stands, what it waits for, what was tried, and what would change that.

All of it is taken from the plan of a pass and its input; nothing is inferred afterwards.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NamedTuple

from policy.explain.explanation_lines_beside_reason import ExplanationLines, LabelledLine
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.model.pbs_units import array_of, show_duration, show_job
from policy.plan.plan_types import Plan
from policy.reasons.reason import Reason
from policy.reasons.reason_names import MoreNumbers
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot

_STARTS = 3
_VNODES = 8

_TRIED = {
    "no-quota": "preempt, quota",
    "over-quota": "preempt, quota",
    "preempt-delay": "preempt",
    "no-victims": "preempt, quota",
    "exempt-victims": "preempt",
    "preempt-delays-head": "preempt",
    "victims-of-pass": "preempt",
    "no-priority": "preempt, class",
    "base-class": "preempt, class",
    "no-lower-class": "preempt, class",
    "too-few-lower": "preempt, class",
    "backfill-window": "backfill",
    "behind-head": "backfill",
    "too-few-idle": "start now",
    "fragmented": "start now",
    "vnode-run-limit": "start now",
    "not-good-enough": "start now",
    "staggered": "start now",
    "reserved": "start now",
    "topjob-ineligible": "start now",
    "into-window": "start now",
    "pinned": "start now",
    "hard-limit": "start now",
    "unpreemptible": "start now",
    "server-resource": "start now",
}


class Explanation(NamedTuple):
    """``state``: waiting, starting, preempting (its victims have not ended yet), running, preempted or unknown."""

    job_id: str
    state: str
    lines: tuple[LabelledLine, ...]
    reason: Reason | None
    job: Job | None
    time_s: float
    more: MoreNumbers = MappingProxyType({})

    def as_json(self) -> dict[str, Any]:
        """The explanation as plain data."""
        reason = None
        if self.reason is not None and self.job is not None:
            reason = self.reason.as_json(self.job, self.time_s, self.more)
        lines = [line._asdict() for line in self.lines]
        return {"job": self.job_id, "state": self.state, "reason": reason, "lines": lines}


def explain(snapshot: Snapshot, plan: Plan, job_id: str, settings: Settings, undone: str = "") -> Explanation:
    """Explain a job by a plan of this snapshot; ``job_id`` may omit the server's name.

    A waiting subjob is explained as its array. ``undone``: why the starts of the plan are not carried out in the job's
    queue, if they are not; a job that the plan starts then waits for that reason."""
    found = _find(snapshot, job_id)
    if found is None:
        text = "no waiting or running job of that id is known to this pass"
        return Explanation(job_id, "unknown", (LabelledLine("unknown", text),), None, None, snapshot.time_s)
    if isinstance(found, Run):
        return _of_run(snapshot, plan, found, settings)
    return _of_job(snapshot, plan, found, settings, undone)


def _find(snapshot: Snapshot, job_id: str) -> Any | None:
    cluster = snapshot.cluster()
    if job_id in cluster.runs or job_id in cluster.jobs:
        return cluster.runs.get(job_id) or cluster.jobs.get(job_id)
    short = job_id.split(".", maxsplit=1)[0]
    names = (short, array_of(short))
    return next(
        (
            table[key]
            for name in names
            for table in (cluster.runs, cluster.jobs)
            for key in table
            if key.split(".")[0] == name
        ),
        None,
    )


def _of_job(snapshot: Snapshot, plan: Plan, job: Job, settings: Settings, undone: str) -> Explanation:
    now_s = snapshot.time_s
    beside = _explanation_lines(snapshot, plan, settings)
    lines = [*beside.about(job), *beside.class_of(job), LabelledLine("waited", show_duration(now_s - job.submit_s))]
    starts = [start for start in plan.starts if job.id in (start.job.id, start.id)]
    for start in starts[:_STARTS]:
        how = " by backfilling" if start.backfilled else ""
        where = f"on {_vnodes(start.allocation)}{how}"
        would_start = LabelledLine("would start", f"{show_job(start.id)} {where}") if undone else None
        lines.append(would_start or LabelledLine("starts", f"{show_job(start.id)} in this pass {where}"))
        lines += beside.why_starts_there(start)
    reason = plan.reason_of(job.id)
    if reason is None and undone:
        reason = Reason("left-undone", (("why", undone),))
    if reason is None:
        return Explanation(job.id, "starting", (*lines, *beside.history(job)), None, job, now_s)
    more = beside.more_of(job, reason)
    lines.append(LabelledLine("waits for", reason.sentence(job, now_s, more)))
    for tried in reason.tried:
        if tried.code in _TRIED:
            lines.append(LabelledLine(f"tried {_TRIED[tried.code]}", tried.sentence(job, now_s, more)))
    if reason.code == "backfill-window":
        lines += beside.tested(job, reason)
    if reason.code == "preempting":
        lines += [
            LabelledLine(
                "victim",
                f"{show_job(preempt.id)} {preempt.run.job.user}: {preempt.reason.sentence(preempt.run.job, now_s)}",
            )
            for preempt in plan.preempts
            if preempt.beneficiary == job.id
        ]
        return Explanation(job.id, "preempting", (*lines, *beside.history(job)), reason, job, now_s, more)
    lines += [*beside.rescue(job), *beside.history(job)]
    return Explanation(job.id, "waiting", tuple(lines), reason, job, now_s, more)


def _of_run(snapshot: Snapshot, plan: Plan, run: Run, settings: Settings) -> Explanation:
    now_s = snapshot.time_s
    beside = _explanation_lines(snapshot, plan, settings)
    lines = [
        *beside.about(run.job),
        *beside.class_of(run.job, run.id),
        LabelledLine("runs", f"for {show_duration(now_s - run.start_s)} on {_vnodes(run.allocation)}"),
        *beside.why_runs_there(run),
    ]
    if run.end_s != UNLIMITED_S:
        lines.append(LabelledLine("ends", f"in {show_duration(run.end_s - now_s)} at the latest, by its walltime"))
    lines += beside.of_run(run)
    preempt = next((preempt for preempt in plan.preempts if preempt.id == run.id), None)
    if preempt is not None:
        again = ", asked for again: it still runs" if preempt.again else ""
        lines.append(LabelledLine("preempted", preempt.reason.sentence(run.job, now_s) + again))
        return Explanation(run.id, "preempted", tuple(lines), preempt.reason, run.job, now_s)
    return Explanation(run.id, "running", tuple(lines), None, run.job, now_s)


def _explanation_lines(snapshot: Snapshot, plan: Plan, settings: Settings) -> ExplanationLines:
    return ExplanationLines(snapshot.cluster(), plan, settings)


def _vnodes(allocation: Allocation) -> str:
    """The first vnodes by name."""
    return ", ".join(allocation.vnodes[:_VNODES]) + (" ..." if len(allocation.vnodes) > _VNODES else "")
