"""One job, told whole: where it stands, what it waits for, what was tried, and what would change it.

Everything told is taken from the plan of a pass; nothing is guessed afterwards.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from policy.cluster import UNLIMITED_S, Job, Run
from policy.limits import show_entity
from policy.plan import Plan
from policy.quotas import Quotas
from policy.reasons import Reason
from policy.settings import Settings
from policy.snapshot import Snapshot
from policy.units import show_duration

_TRIED = {
    "no-quota": "preempt, quota",
    "over-quota": "preempt, quota",
    "preempt-delay": "preempt, quota",
    "no-victims": "preempt, quota",
    "exempt-victims": "preempt, quota",
    "preempt-delays-head": "preempt, quota",
    "victims-of-pass": "preempt, quota",
    "backfill-window": "backfill",
    "behind-head": "backfill",
    "too-few-idle": "start now",
    "fragmented": "start now",
    "reserved": "start now",
}


class Line(NamedTuple):
    """A label and what is said under it."""

    label: str
    text: str


class Explanation(NamedTuple):
    """``state`` is waiting, starting, preempting (its victims let go), running, preempted or unknown."""

    job_id: str
    state: str
    lines: tuple[Line, ...]
    reason: Reason | None
    job: Job | None
    time_s: float

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        reason = (
            self.reason.as_json(self.job, self.time_s) if self.reason is not None and self.job is not None else None
        )
        lines = [line._asdict() for line in self.lines]
        return {"job": self.job_id, "state": self.state, "reason": reason, "lines": lines}


def explain(snapshot: Snapshot, plan: Plan, job_id: str, settings: Settings) -> Explanation:
    """Explain a job by a plan of this snapshot; ``job_id`` may leave out the server's name.

    A subjob that waits is explained as its array."""
    found = _find(snapshot, job_id)
    if found is None:
        text = "no waiting or running job of that id is known to this pass"
        return Explanation(job_id, "unknown", (Line("unknown", text),), None, None, snapshot.time_s)
    if isinstance(found, Run):
        return _of_run(snapshot, plan, found)
    return _of_job(snapshot, plan, found, settings)


def _find(snapshot: Snapshot, job_id: str) -> Any | None:
    world = snapshot.world()
    if job_id in world.runs or job_id in world.jobs:
        return world.runs.get(job_id) or world.jobs.get(job_id)
    short = job_id.split(".", maxsplit=1)[0]
    names = (short, re.sub(r"\[[0-9]+\]", "[]", short))
    return next(
        (
            table[key]
            for name in names
            for table in (world.runs, world.jobs)
            for key in table
            if key.split(".")[0] == name
        ),
        None,
    )


def _about(job: Job, snapshot: Snapshot, counted: str) -> Line:
    estimate = "no walltime" if job.estimate_s == UNLIMITED_S else show_duration(job.estimate_s)
    quotas = Quotas(snapshot.world(), counted)
    parts = [
        f"{show_entity(entity)} holds {quotas.used(job.queue, entity)} of a quota of {limit}"
        for entity, limit in quotas.bounds(job)
    ]
    standing = "; ".join(parts) or "no quota"
    return Line("job", f"{job.user} · {job.queue} · {job.cores} cores, {estimate} · {standing}")


def _of_job(snapshot: Snapshot, plan: Plan, job: Job, settings: Settings) -> Explanation:
    now_s = snapshot.time_s
    lines: list[Line] = [_about(job, snapshot, settings.quota.counted)]
    lines.append(Line("waited", show_duration(now_s - job.submit_s)))
    starts = [start for start in plan.starts if job.id in (start.job.id, start.id)]
    for start in starts[:3]:
        where = ", ".join(start.placement.vnodes[:6]) + (" ..." if len(start.placement.vnodes) > 6 else "")
        lines.append(
            Line("starts", f"{start.id} in this pass on {where}{' by backfilling' if start.backfilled else ''}")
        )
    reason = plan.reason_of(job.id)
    if reason is None:
        return Explanation(job.id, "starting", tuple(lines), None, job, now_s)
    lines.append(Line("waits for", reason.sentence(job, now_s)))
    for tried in (reason, *reason.tried):
        if tried.code in _TRIED and (tried is not reason or reason.tried):
            lines.append(Line(f"tried {_TRIED[tried.code]}", tried.sentence(job, now_s)))
    if reason.code == "preempting":
        lines += [
            Line("victim", f"{preempt.id} {preempt.run.job.user}: {preempt.reason.sentence(preempt.run.job, now_s)}")
            for preempt in plan.preempts
            if preempt.beneficiary == job.id
        ]
    count = plan.ledger.preemptions.get(job.id, 0)
    if count:
        lines.append(Line("history", f"preempted {count} {'time' if count == 1 else 'times'}"))
    state = "preempting" if reason.code == "preempting" else "waiting"
    return Explanation(job.id, state, tuple(lines), reason, job, now_s)


def _of_run(snapshot: Snapshot, plan: Plan, run: Run) -> Explanation:
    now_s = snapshot.time_s
    where = ", ".join(run.placement.vnodes[:8]) + (" ..." if len(run.placement.vnodes) > 8 else "")
    lines = [
        Line("job", f"{run.job.user} · {run.job.queue} · {run.job.cores} cores"),
        Line("runs", f"for {show_duration(now_s - run.start_s)} on {where}"),
    ]
    if run.end_s != UNLIMITED_S:
        lines.append(Line("ends", f"in {show_duration(run.end_s - now_s)} at the latest, by its walltime"))
    preempt = next((preempt for preempt in plan.preempts if preempt.id == run.id), None)
    if preempt is not None:
        lines.append(Line("preempted", preempt.reason.sentence(run.job, now_s)))
        return Explanation(run.id, "preempted", tuple(lines), preempt.reason, run.job, now_s)
    return Explanation(run.id, "running", tuple(lines), None, run.job, now_s)
