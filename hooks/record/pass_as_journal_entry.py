"""A pass as plain data, for the journal and the console: what was decided, its outcome, and the obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hooks.act.apply_plan import Outcome, Permissions
from hooks.control.decision_time_limit import Slow
from hooks.record.real_and_dry_run_counts import DryRunCounts
from hooks.translate.snapshot import Translation
from policy.explain.longest_backfill_walltime import Longest
from policy.model.jobs_runs_vnodes_queues import Job
from policy.plan.plan_types import Plan
from policy.ranking.find_vnodes_missing_sensors import find_missing_sensors
from policy.reasons.reason import Reason
from policy.reasons.reason_names import ReasonCode
from policy.settings.site_settings import Settings

_MOST_SENTENCES = 50
_MOST_VNODES = 3
_OF_A_WAIT = ("code", "numbers", "sentence")


class Timing(NamedTuple):
    """Seconds that each part of a pass took."""

    read_s: float
    decide_s: float
    act_s: float


def describe_pass(
    plan: Plan,
    translation: Translation,
    settings: Settings,
    permissions: Permissions,
    outcome: Outcome,
    episodes: DryRunCounts,
    timing: Timing,
    notes: Sequence[str],
    passing: Sequence[str] = (),
    slowest: Sequence[Slow] = (),
    paused: str = "",
    stopped: bool = False,
    early: bool = False,
) -> dict[str, Any]:
    """One line of the journal.

    ``acted``: the queues in which the starts were carried out; ``preempted_in``: those for the preemptions. For other
    queues the plan is only what would have been done, which ``would`` counts by episode; ``did`` counts what was done.
    ``preempted``: the victims to which this pass sent the first request to save, or which it requeued. ``notes``:
    sentences for the administrator; ``passing``: those of them that a later pass ends; ``slowest``: the jobs that took
    most of the time to decide; ``paused``: the sentence on a pause; ``stopped``: whether the
    server's ``scheduling`` is one; ``early``: whether the pass ran before its interval
    was over, and so wrote no comments. ``no_sensor``: by quantity, how many vnodes do not report what a mode in use
    ranks by, and the first of them.
    """
    snapshot = translation.snapshot
    return {
        "time_s": plan.time_s,
        "early": early,
        "seconds": {name: round(value, 4) for name, value in timing._asdict().items()},
        "slowest": [{**slow._asdict(), "seconds": round(slow.seconds, 4)} for slow in slowest],
        "modes": dict(translation.modes),
        "acted": sorted(permissions.start),
        "preempted_in": sorted(permissions.preempt),
        "would": episodes.would(),
        "did": episodes.did(),
        "waiting": len(snapshot.jobs),
        "running": len(snapshot.runs),
        "idle_cores": snapshot.idle_cores(),
        **_describe_decisions(plan),
        "waits": _count_waits(plan, Longest(snapshot.cluster(), plan, settings)),
        **_describe_outcome(outcome),
        "notes": [*notes, *translation.problems][:_MOST_SENTENCES],
        "passing": list(passing),
        "paused": paused,
        "stopped": stopped,
        "no_sensor": _count_without_sensor(plan, translation, settings),
        "noted": len(notes) + len(translation.problems),
    }


def _describe_decisions(plan: Plan) -> dict[str, Any]:
    """What the plan starts, preempts, reserves and promises anew."""
    return {
        "starts": [
            {
                "job": start.id,
                "queue": start.job.queue,
                "user": start.job.user,
                "cores": start.job.cores,
                "exec_vnode": start.allocation.exec_vnode(),
                "backfilled": start.backfilled,
                **(_tell(start.why, start.job, plan.time_s) if start.why is not None else {}),
            }
            for start in plan.starts
        ],
        "preempts": [
            {
                "job": preempt.id,
                "queue": preempt.run.job.queue,
                "user": preempt.run.job.user,
                "cores": preempt.run.job.cores,
                "beneficiary": preempt.beneficiary,
                "again": preempt.again,
                **_tell(preempt.reason, preempt.run.job, plan.time_s),
            }
            for preempt in plan.preempts
        ],
        "estimates": [
            {"job": estimate.id, "at_s": _finite(estimate.at_s), "promised_s": _finite(estimate.promised_s)}
            for estimate in plan.estimates
        ],
        "moved": [
            {
                "job": moved.id,
                "was_s": moved.was_s,
                "at_s": moved.at_s,
                "beneficiary": moved.beneficiary,
            }
            for moved in plan.moved
        ],
    }


def _describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """What of the plan was carried out, and what the server refused."""
    return {
        "started": list(outcome.started),
        "preempted": list(outcome.preempted),
        "asked": list(outcome.asked),
        "requeued": list(outcome.requeued),
        "released": list(outcome.released),
        "withdrawn": dict(outcome.withdrawn),
        "comments": outcome.comments,
        "failures": list(outcome.failures[:_MOST_SENTENCES]),
        "put_off": outcome.put_off,
        "unstarted": list(outcome.unstarted[:_MOST_SENTENCES]),
    }


def _count_without_sensor(plan: Plan, translation: Translation, settings: Settings) -> dict[str, Any]:
    """By quantity, how many vnodes do not report what a mode in use ranks by, and the first of them."""
    found = find_missing_sensors(translation.snapshot.cluster(), settings.ranking, plan.time_s)
    return {quantity: {"vnodes": len(names), "first": list(names[:_MOST_VNODES])} for quantity, names in found.items()}


def _tell(reason: Reason, job: Job, now_s: float) -> Mapping[str, object]:
    """The reason's code and numbers, and its sentence as ``why``."""
    data = reason.as_json(job, now_s)
    return {"code": data["code"], "numbers": data["numbers"], "why": data["sentence"]}


def _count_waits(plan: Plan, longest: Longest) -> list[Mapping[str, object]]:
    """The number of jobs that wait for each kind of reason, with one of them as the example."""
    counts: dict[ReasonCode, int] = {}
    examples: dict[ReasonCode, tuple[Job, Reason]] = {}
    for wait in plan.waits:
        code = wait.reason.code
        counts[code] = counts.get(code, 0) + len(wait.jobs)
        if code not in examples and wait.jobs:
            examples[code] = (wait.jobs[0], wait.reason)
    waits: list[Mapping[str, object]] = []
    for code in sorted(examples, key=lambda code: (-counts[code], code)):
        job, reason = examples[code]
        data = reason.as_json(job, plan.time_s, longest.numbers(job, reason))
        waits.append({"jobs": counts[code], "example": job.id, **{key: data[key] for key in _OF_A_WAIT}})
    return waits


def _finite(seconds: float) -> float | None:
    return None if seconds == float("inf") else seconds
